//! What people do to an inbox: changes by hand, which leave a line in the audit.

use super::edit::Edit;
use super::plan::Plan;
use super::state::{Cause, State};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::identity::{Identity, Key};
use crate::store::Actor;

/// The most ids that a selection names.
pub const SELECT_IDS_MAX: usize = 1_000;
/// The most messages that one operation changes; the report says if there are more.
pub const OPERATE_MAX: usize = 10_000;

/// Which messages of a consumer an operation is about. Everything that is set must hold.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only these ids, at most [`SELECT_IDS_MAX`]; all if empty.
    pub ids: Vec<Key>,
    /// Only of this tenant.
    pub tenant: Option<String>,
    /// Only in these states; if empty, the states that the action is for.
    pub states: Vec<State>,
    /// Only with this cause.
    pub cause: Option<Cause>,
    /// Only of this lane.
    pub lane: Option<Key>,
    /// Only received at or after.
    pub from: Option<Timestamp>,
    /// Only received before.
    pub until: Option<Timestamp>,
    /// Only what has stood as it does since this moment or longer: what arrived or changed its state after it is left alone, so that what is confirmed
    /// is what was looked at.
    pub unchanged_since: Option<Timestamp>,
    /// Of which group of failures the ids are, in words: for the audit, it leaves nothing out.
    pub group: Option<String>,
}

/// What to do with messages by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Run it again, with attempts counted anew: FAILED_RETRYABLE, FAILED_TERMINAL and PARKED become RECEIVED, in a new
    /// generation. Steps that are done stay done. In its lane it takes its place again.
    Retry {
        /// Also give it a new key for its provider, which may then do once more what it did before.
        new_key: bool,
    },
    /// Run it again as [`Self::Retry`] does, with the contents of [`Operation::edit`]. The original stays beside them. A message that waits for
    /// others of its lane stays as it is, and is not edited.
    Edit {
        /// Also give it a new key for its provider, which may refuse other contents under the key that it knows.
        new_key: bool,
    },
    /// Set it aside: RECEIVED, FAILED_RETRYABLE and FAILED_TERMINAL become PARKED. In a lane with [`super::OnTerminal::Park`] those behind it are parked too.
    Park,
    /// PARKED becomes RECEIVED, in the same generation with the attempts it had; those parked for a gap or behind another stay unless this
    /// operation names their ids, and then run at once.
    Unpark,
    /// Never run it: RECEIVED, FAILED_RETRYABLE, FAILED_TERMINAL and PARKED become SKIPPED_DUPLICATE, and the record is settled. In a lane the
    /// next one goes on.
    Skip,
    /// Run messages that were dealt with once more: COMPLETED and SKIPPED_DUPLICATE become RECEIVED with the replay flag, in a new generation, as
    /// long as the message is kept. Steps are forgotten. The settled record stays and goes on suppressing duplicates.
    Replay {
        /// Also set back the lanes of a consumer by sequence, to just before the lowest version that is replayed; otherwise versions
        /// that were applied are skipped again as older.
        rebuild: bool,
    },
    /// Erase what it holds: payload, headers, edits, results of steps, errors and what handlers answered. COMPLETED and SKIPPED_DUPLICATE stay what they
    /// are; FAILED_TERMINAL and PARKED become SKIPPED_DUPLICATE, because nothing is left that could run. What still runs by itself is left alone: it is
    /// parked first. Identity, fingerprint, state and record stay, so that a redelivery is still a duplicate.
    EraseContents,
}

impl Action {
    /// The name in the audit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retry { new_key: false } => "retry",
            Self::Retry { new_key: true } => "retry-with-new-key",
            Self::Edit { new_key: false } => "edit",
            Self::Edit { new_key: true } => "edit-with-new-key",
            Self::Park => "park",
            Self::Unpark => "unpark",
            Self::Skip => "skip",
            Self::Replay { rebuild: false } => "replay",
            Self::Replay { rebuild: true } => "rebuild",
            Self::EraseContents => "erase-contents",
        }
    }

    /// The states that it changes.
    pub const fn states(self) -> &'static [State] {
        use State::{
            Completed, FailedRetryable, FailedTerminal, Parked, Received, SkippedDuplicate,
        };
        match self {
            Self::Retry { .. } | Self::Edit { .. } => &[FailedRetryable, FailedTerminal, Parked],
            Self::Park => &[Received, FailedRetryable, FailedTerminal],
            Self::Unpark => &[Parked],
            Self::Skip => &[Received, FailedRetryable, FailedTerminal, Parked],
            Self::Replay { .. } => &[Completed, SkippedDuplicate],
            Self::EraseContents => &[Completed, FailedTerminal, Parked, SkippedDuplicate],
        }
    }
}

/// A change by hand.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The consumer's plan.
    pub plan: Plan,
    /// Which messages.
    pub select: Selection,
    /// What to do.
    pub action: Action,
    /// Who decides.
    pub by: Actor,
    /// Why.
    pub reason: Option<String>,
    /// Which verb of which tool this is, for the audit: `inbox retry`, `dlq replay`.
    pub verb: &'static str,
    /// Only say what would happen.
    pub dry_run: bool,
    /// For [`Action::Edit`], and only for it: what is made of the one message that is selected.
    pub edit: Option<Edit>,
}

impl Operation {
    /// Refuses contents without an edit, an edit without contents, and an edit of anything but one message of one tenant. Stores call it before
    /// anything is written.
    pub fn check_edit(&self) -> Result<()> {
        let is_edit = matches!(self.action, Action::Edit { .. });
        let is_one = self.select.ids.len() == 1 && self.select.tenant.is_some();
        match (is_edit, &self.edit) {
            (false, None) => Ok(()),
            (true, Some(_)) if is_one => Ok(()),
            (true, Some(_)) => Err(Error::invalid(format!(
                "an edit names one id and its tenant, found {} ids",
                self.select.ids.len()
            ))),
            (true, None) => Err(Error::invalid("an edit brings a payload, found none")),
            (false, Some(_)) => Err(Error::invalid(format!(
                "only an edit brings a payload, found one with {}",
                self.action.name()
            ))),
        }
    }
}

/// What an operation did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Messages that the selection names.
    pub matched: u64,
    /// Messages that change: that will run again, or are set aside or skipped as the action says.
    pub changed: u64,
    /// Messages that stay as they are, because their state is not one the action changes, they were dealt with
    /// already, or an older version would be skipped.
    pub skipped: u64,
    /// Of those that stay, how many another door or an earlier attempt settled.
    pub settled: u64,
    /// Of those that stay, how many are versions that their lanes have gone past.
    pub older: u64,
    /// Of those that stay, how many wait for others of their lane, which the operation does not move.
    pub waiting: u64,
    /// Of those that change, how many are conflicts: another payload under a known id.
    pub conflicts: u64,
    /// Messages that cannot run again, because their payload is no longer kept.
    pub gone: u64,
    /// Whether there are more than one call changes.
    pub more: bool,
    /// Some of those that change, for people to look at: at most 10.
    pub sample: Vec<Identity>,
}

impl Selection {
    /// The selection in words, for the audit. It names at most ten ids. [`Self::unchanged_since`] is not among them: the line has a time of its own.
    pub fn describe(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.group.iter().map(|group| format!("group {group}")));
        let ids: Vec<&str> = self.ids.iter().take(10).map(Key::as_str).collect();
        match self.ids.len() {
            0 => {}
            count if count > ids.len() => {
                parts.push(format!("{count} ids, among them {}", ids.join(", ")));
            }
            _ => parts.push(format!("id {}", ids.join(", "))),
        }
        if !self.states.is_empty() {
            let states: Vec<&str> = self.states.iter().map(|state| state.name()).collect();
            parts.push(format!("state {}", states.join(", ")));
        }
        parts.extend(self.tenant.iter().map(|tenant| format!("tenant {tenant}")));
        parts.extend(
            self.cause
                .iter()
                .map(|cause| format!("cause {}", cause.name())),
        );
        parts.extend(self.lane.iter().map(|lane| format!("key {lane}")));
        parts.extend(self.from.iter().map(|from| format!("received from {from}")));
        parts.extend(
            self.until
                .iter()
                .map(|until| format!("received before {until}")),
        );
        match parts.is_empty() {
            true => "all".to_owned(),
            false => parts.join("; "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_in_words_names_the_group_that_its_ids_are_of() {
        let select = Selection {
            ids: vec![Key::new("a").expect("a key"), Key::new("b").expect("a key")],
            states: vec![State::Parked],
            unchanged_since: Some(Timestamp::from_millis(0)),
            group: Some("9a3c (no customer #)".to_owned()),
            ..Selection::default()
        };
        let expected = "group 9a3c (no customer #); id a, b; state PARKED";
        assert_eq!(select.describe(), expected);
        assert_eq!(Selection::default().describe(), "all");
    }
}
