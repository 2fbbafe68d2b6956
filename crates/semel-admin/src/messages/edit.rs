//! What an operator wants to make of a message, put together with what it is.

use bytes::Bytes;
use semel_core::inbox::{Action, Detail, Edit, Operation, Plan, Selection};
use semel_core::store::Actor;
use semel_core::{Error, Headers, Result};
use semel_inbox::source::edited_headers;

/// Another payload, other headers, or both. No `Debug`: it is all payload.
#[derive(Clone, Default)]
pub struct Wanted {
    /// The new payload; the present one stays if there is none.
    pub payload: Option<Bytes>,
    /// Headers that take the place of those with the same names.
    pub headers: Vec<(String, Bytes)>,
    /// Whether its provider is given a new key.
    pub new_key: bool,
}

/// The payload and the headers with which a message runs now: the newest edit, or what arrived. `None` if they are no longer kept.
pub fn current(detail: &Detail) -> Option<(&Bytes, &Headers)> {
    let edited = detail
        .edits
        .last()
        .map(|edited| (edited.edit.payload(), edited.edit.headers()));
    let message = detail.message.as_ref()?;
    Some(edited.unwrap_or((message.payload(), message.headers())))
}

impl Wanted {
    /// What becomes of a message by it. Refused if nothing would change, or if there is nothing left to edit.
    pub fn of(&self, detail: &Detail) -> Result<Edit> {
        let identity = &detail.entry.identity;
        let (payload, headers) = current(detail).ok_or_else(|| {
            Error::invalid(format!(
                "{identity} is no longer kept: only its record is left"
            ))
        })?;
        let edited = edited_headers(headers, &self.headers, self.payload.is_some())?;
        let wanted = self.payload.as_ref().unwrap_or(payload);
        if wanted == payload && edited == *headers {
            return Err(Error::invalid(format!(
                "an edit changes the payload or a header of {identity}, found neither changed"
            )));
        }
        Edit::new(wanted.clone(), edited)
    }

    /// The operation that edits a message and runs it again, if nothing has changed it since it was looked at.
    pub fn operation(
        &self,
        detail: &Detail,
        plan: Plan,
        (by, reason): (Actor, String),
        verb: &'static str,
    ) -> Result<Operation> {
        let identity = &detail.entry.identity;
        Ok(Operation {
            plan,
            select: Selection {
                ids: vec![identity.key().clone()],
                tenant: Some(identity.tenant().to_string()),
                unchanged_since: Some(detail.entry.changed_at),
                ..Selection::default()
            },
            action: Action::Edit {
                new_key: self.new_key,
            },
            by,
            reason: Some(reason),
            verb,
            dry_run: false,
            edit: Some(self.of(detail)?),
        })
    }
}
