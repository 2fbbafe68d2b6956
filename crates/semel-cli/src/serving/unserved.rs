//! Messages that nothing runs, because the file does not name their consumer.

use semel_admin::Policies;
use semel_core::inbox::{Counts, Inbox};

use crate::text;

/// What waits for a consumer that the file does not name, and what to do about it.
pub(crate) fn unserved(counts: &Counts) -> String {
    let consumer = &counts.consumer;
    let waiting = text::plural(
        counts.pending() + counts.parked,
        "message waits",
        "messages wait",
    );
    let name = text::word(&consumer.to_string());
    let keep = match consumer.name().strip_prefix("intent:") {
        Some(target) => format!("keep the target {target} in intents until they are sent"),
        None => format!(
            "keep a consumer {consumer} in the file, beside a newer version of it, until they have run"
        ),
    };
    format!(
        "{waiting} for {consumer}, which the file does not name: {keep}; or end them with semel inbox skip {name} --all"
    )
}

/// Names every consumer with such messages in the log.
pub(super) async fn tell(inbox: &dyn Inbox, policies: &Policies) {
    let counts = match inbox.counts().await {
        Ok(counts) => counts,
        Err(error) => {
            return tracing::warn!(%error, "messages of consumers that the file does not name cannot be counted");
        }
    };
    for counts in counts.iter().filter(|counts| policies.strands(counts)) {
        tracing::warn!(
            consumer = %counts.consumer,
            pending = counts.pending(),
            parked = counts.parked,
            "{}", unserved(counts)
        );
    }
}
