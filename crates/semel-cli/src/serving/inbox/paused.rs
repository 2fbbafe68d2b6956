//! `paused` of the file: the file's word holds when it is said, and an operator's word holds after it.

use std::collections::HashSet;

use semel_core::Scope;
use semel_core::inbox::{Counts, Inbox};
use semel_core::store::Actor;
use semel_policy::CompiledConsumer;

use crate::error::Result;

/// Who pauses in the file's name, for the audit.
const BY: &str = "configuration";

/// Pauses the consumers that the file pauses now and did not before, and lets those go on that only the file had paused. An operator's
/// pause is never lifted, and what an operator resumed stays so until the file says `paused` anew or the process starts again.
/// Gives the consumers that the file pauses.
pub(super) async fn apply(
    inbox: &dyn Inbox,
    consumers: &[CompiledConsumer],
    before: &HashSet<Scope>,
) -> Result<HashSet<Scope>> {
    let (by, counts) = (Actor::new(BY)?, inbox.counts().await?);
    for consumer in consumers {
        let name = consumer.name();
        let is_new = consumer.paused && !before.contains(name);
        let is_over = !consumer.paused && is_paused_by_file(&counts, name);
        if !is_new && !is_over {
            continue;
        }
        let reason = Some(format!("paused: {} in the file", consumer.paused));
        let changed = inbox.set_paused(name.clone(), consumer.paused, by.clone(), reason);
        if changed.await? {
            tracing::info!(consumer = %name, paused = consumer.paused, "the file pauses or resumes a consumer");
        }
    }
    let paused = consumers.iter().filter(|consumer| consumer.paused);
    Ok(paused.map(|consumer| consumer.name().clone()).collect())
}

fn is_paused_by_file(counts: &[Counts], name: &Scope) -> bool {
    let counts = counts.iter().find(|counts| counts.consumer == *name);
    let pause = counts.and_then(|counts| counts.paused.as_ref());
    pause.is_some_and(|pause| pause.by == BY)
}
