use std::collections::{HashMap, HashSet};

use semel::{Once, idempotent};

#[idempotent(scope = "mail@1")]
async fn of_set(once: &Once, recipients: HashSet<String>) -> Result<u64, String> {
    Ok(recipients.len() as u64)
}

#[idempotent(scope = "mail@1", key = "{order}")]
async fn of_inner_set(
    once: &Once,
    order: u64,
    tags: Vec<HashMap<String, HashSet<u8>>>,
) -> Result<u64, String> {
    Ok(order + tags.len() as u64)
}

#[idempotent(scope = "mail@1", key = "{order}", skip(tags))]
async fn of_skipped_set(once: &Once, order: u64, tags: HashSet<u8>) -> Result<u64, String> {
    Ok(order + tags.len() as u64)
}

fn main() {}
