use semel::{Once, idempotent};

#[idempotent(scope = "payments@1", ttl = "1h", key = "{order}", ttl = "2h")]
async fn charge(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}", skip(note, note))]
async fn refund(once: &Once, order: u64, note: String) -> Result<u64, String> {
    Ok(order)
}

fn main() {}
