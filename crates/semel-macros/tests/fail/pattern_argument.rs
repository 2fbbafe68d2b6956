use semel::{Once, idempotent};

#[idempotent(scope = "payments@1", key = "{order}")]
async fn charge(once: &Once, order: u64, (cents, _): (u64, u8)) -> Result<u64, String> {
    Ok(order + cents)
}

fn main() {}
