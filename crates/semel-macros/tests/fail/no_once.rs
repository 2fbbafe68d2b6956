use semel::{Once, idempotent};

#[idempotent(scope = "payments@1", key = "{order}")]
async fn charge(semel: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

fn main() {}
