//! Whether the ids of what was received lately look made for each delivery, so that no duplicate can be recognised.

use semel_core::inbox::{Inbox, Query};
use semel_inbox::receiver::Ids;

use crate::error::Result;
use crate::text;

/// How many of a consumer's latest messages are looked at.
const LATEST: usize = 50;
/// So many suspicions make a warning: one or two are chance.
const SUSPICIONS: u64 = 3;

/// What is wrong with the ids of each consumer.
pub(super) async fn warnings(inbox: &dyn Inbox) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    for counts in inbox.counts().await? {
        let query = Query {
            consumer: Some(counts.consumer.clone()),
            limit: LATEST,
            ..Query::default()
        };
        let page = inbox.list_messages(query).await?;
        let (mut ids, mut count, mut last) = (Ids::default(), 0, None);
        for entry in page.entries.into_iter().rev() {
            let found = inbox.message(entry.identity.clone()).await?;
            let message = found.and_then(|found| found.message);
            if let Some(suspicion) = message.and_then(|message| ids.suspect(&message)) {
                count += 1;
                last = Some((suspicion, entry.identity));
            }
        }
        if let Some((suspicion, example)) = last.filter(|_| count >= SUSPICIONS) {
            warnings.push(format!(
                "{}: the ids of {} of its latest messages look made for each delivery ({}), such as {}; duplicates are not recognised by them: the id must be the \
                 producer's, and the same each time",
                counts.consumer,
                text::count(count),
                suspicion.why(),
                text::printable(example.key().as_str())
            ));
        }
    }
    Ok(warnings)
}
