use semel::{Once, idempotent};

#[idempotent(scope = "payments@1", key = "order")]
async fn without_braces(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = 17)]
async fn of_a_number(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", fingerprint = "off")]
async fn of_nothing(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", skip(order))]
async fn of_no_argument(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

fn main() {}
