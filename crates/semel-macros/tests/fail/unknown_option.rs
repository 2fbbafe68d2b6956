use semel::{Once, idempotent};

#[idempotent(scope = "payments@1", key = "{order}", retention = "24h")]
async fn charge(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

fn main() {}
