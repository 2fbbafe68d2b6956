use semel::{Once, idempotent};

#[idempotent(scope = "payments@1", key = "{order}")]
fn charge(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

fn main() {}
