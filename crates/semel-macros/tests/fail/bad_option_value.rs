use semel::{Once, idempotent};

#[idempotent(scope = "payments@1", key = "{order}", unknown = "retry")]
async fn of_odd_unknown(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}", store_result = "no")]
async fn of_text_for_bool(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}", fingerprint = "none")]
async fn of_odd_fingerprint(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}", tenant = "")]
async fn of_empty_tenant(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}", skip(cents))]
async fn of_skipped_stranger(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}", run = order)]
async fn of_run_named_like_an_argument(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}", ttl)]
async fn of_missing_value(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

fn main() {}
