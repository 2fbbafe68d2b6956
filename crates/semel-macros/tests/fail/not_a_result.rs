use semel::{Once, idempotent};

type Outcome<T> = Result<T, String>;

#[idempotent(scope = "payments@1", key = "{order}")]
async fn of_nothing(once: &Once, order: u64) {}

#[idempotent(scope = "payments@1", key = "{order}")]
async fn of_a_number(once: &Once, order: u64) -> u64 {
    order
}

#[idempotent(scope = "payments@1", key = "{order}")]
async fn of_an_alias(once: &Once, order: u64) -> Outcome<u64> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}")]
async fn of_a_hidden_error(once: &Once, order: u64) -> semel::Result<u64> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}")]
async fn of_a_type_without_a_name(once: &Once, order: u64) -> Result<impl Sized, String> {
    Ok(order)
}

fn main() {}
