use semel::{Once, idempotent};

#[idempotent(scope = "payments@1", key = "{order}", ttl = "1 day")]
async fn of_odd_unit(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}", ttl = "0s")]
async fn of_no_time(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}", lease = "2d")]
async fn of_long_lease(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}", wait = 5)]
async fn of_a_number(once: &Once, order: u64) -> Result<u64, String> {
    Ok(order)
}

fn main() {}
