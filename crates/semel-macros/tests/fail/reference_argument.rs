use semel::{Once, idempotent};

#[idempotent(scope = "payments@1", key = "{order}")]
async fn of_reference(once: &Once, order: &str) -> Result<u64, String> {
    Ok(order.len() as u64)
}

#[idempotent(scope = "payments@1", key = "{order}")]
async fn of_inner_reference(once: &Once, order: u64, notes: Vec<(u8, &str)>) -> Result<u64, String> {
    Ok(order)
}

#[idempotent(scope = "payments@1", key = "{order}")]
async fn of_lifetime<'a>(
    once: &Once,
    order: u64,
    note: std::borrow::Cow<'a, str>,
) -> Result<u64, String> {
    Ok(order)
}

struct Shop {
    once: Once,
}

impl Shop {
    #[idempotent(scope = "payments@1", key = "{order}")]
    async fn of_mutable_self(&mut self, order: u64) -> Result<u64, String> {
        Ok(order)
    }
}

fn main() {}
