//! Opens a message for people who look at it: what stays closed is left out, and is no reason to show nothing else.

use bytes::Bytes;
use semel_core::inbox::{Attempt, Detail, Edited, Step};
use semel_core::outcome::Settled;
use semel_core::{Kind, Result};

use crate::cipher::Purpose;
use crate::contents::{Closed, closed_outcome, open_bytes, open_edit, open_message, open_outcome};
use crate::found::Found;
use crate::inbox::SealedInbox;

impl SealedInbox {
    pub(crate) async fn shown(&self, detail: Detail) -> Result<Detail> {
        // From the store: what this process knows may be older than what it shows.
        let tenant = detail.entry.identity.tenant();
        let found = self.keys.load(&[tenant]).await.pop();
        let found = found.expect("one tenant has one answer");
        // A key whose record is damaged opens nothing: what is plain is shown all the same.
        let (found, is_damaged) = match found {
            Ok(found) => (found, false),
            Err(error) if error.kind() == Kind::Damaged => (Found::default(), true),
            Err(error) => return Err(error),
        };
        Ok(opened(&found, is_damaged, detail))
    }
}

fn opened(found: &Found, is_damaged: bool, detail: Detail) -> Detail {
    let mut entry = detail.entry;
    let identity = &entry.identity;
    let message = detail.message.as_ref();
    let message = message.and_then(|message| open_message(found, message).ok());
    let settled = detail.settled.map(|settled| {
        let outcome = open_outcome(found, identity, &settled.outcome);
        let outcome = outcome.unwrap_or_else(|closed| match is_damaged {
            true => closed_outcome(&settled.outcome, &Closed::Damaged),
            false => closed_outcome(&settled.outcome, &closed),
        });
        Settled { outcome, ..settled }
    });
    let bytes = |purpose, bytes: &Bytes| open_bytes(found, purpose, identity, bytes).ok();
    let attempts = detail.attempts.into_iter().map(|attempt| {
        let answer = attempt.answer.as_ref();
        let answer = answer.and_then(|answer| bytes(Purpose::Answer, answer));
        Attempt { answer, ..attempt }
    });
    let steps = detail.steps.into_iter().map(|Step { name, result }| {
        let result = bytes(Purpose::Step, &result).unwrap_or_default();
        Step { name, result }
    });
    let edits = detail.edits.into_iter().filter_map(|edited| {
        let edit = open_edit(found, identity, &edited.edit).ok()?;
        Some(Edited { edit, ..edited })
    });
    let (attempts, steps, edits) = (attempts.collect(), steps.collect(), edits.collect());
    if let Some(message) = &message {
        entry.payload_bytes = Some(message.payload().len() as u64);
    }
    Detail {
        entry,
        edits,
        message,
        settled,
        attempts,
        steps,
        ..detail
    }
}
