use semel::{Once, idempotent};

#[idempotent(key = "{order}")]
async fn charge(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent]
async fn refund(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

fn main() {}
