use semel::{Once, idempotent};

#[idempotent(scope = "payments@1", key = "{order}")]
struct Charge {
    once: Once,
    order: u64,
}

fn main() {}
