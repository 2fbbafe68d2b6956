use semel::{Once, idempotent};

#[idempotent(scope = "payments", key = "{order}")]
async fn without_version(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@01", key = "{order}")]
async fn with_odd_version(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "@1", key = "{order}")]
async fn without_name(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "pay\tments@1", key = "{order}")]
async fn with_control_character(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = payments, key = "{order}")]
async fn not_a_literal(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

fn main() {}
