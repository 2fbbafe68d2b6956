//! Why messages that were named did not change.

use semel_core::inbox::{Action, Report, State};
use semel_core::{Identity, Key};

use super::stays;
use crate::commands::messages::{Change, OpenInbox, Select, command, not_found};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::text;

/// Of how many ids it is said why they did not change.
const EXPLAINED_MAX: usize = 10;

/// Why none of the messages that were named changed; the report counts why those in the right state stay.
pub(super) async fn unchanged(
    open: &OpenInbox,
    change: &Change<'_>,
    report: &Report,
) -> Result<Error> {
    let (select, action, verb) = (change.select, change.action, change.verb);
    let mut found = Vec::new();
    for id in select.ids.iter().take(EXPLAINED_MAX) {
        let identity = identity(select, id);
        let detail = open.inbox.message(identity.clone()).await?;
        found.push((identity, detail.map(|detail| detail.entry.state)));
    }
    let states = match change.states.as_slice() {
        [] => action.states(),
        said => said,
    };
    let names: Vec<_> = states.iter().map(|state| state.name()).collect();
    let (names, reasons) = (names.join(", "), stays::reasons(report));
    if let [(identity, state)] = found.as_slice() {
        return Ok(match state {
            None => not_found(identity, open),
            Some(state) => {
                let why = match states.contains(state) {
                    true => format!(": {}", or_unknown(&reasons).join("; ")),
                    false => format!(", and {verb} is for {names}"),
                };
                let message = format!("{identity} is {}{why}; nothing was changed", state.name());
                advised(Error::refused(message), open, identity, *state, action)
            }
        });
    }
    let line = |(identity, state): &(Identity, Option<State>)| {
        let standing = state.map_or("not there", State::name);
        format!(
            "\n{} is {standing}",
            text::printable(identity.key().as_str())
        )
    };
    let lines: String = found.iter().map(line).collect();
    let exit = match found.iter().all(|(_, state)| state.is_none()) {
        true => Exit::NotFound,
        false => Exit::Refused,
    };
    let reasons: String = reasons.iter().map(|why| format!("\n{why}")).collect();
    let message = match found
        .iter()
        .any(|(_, state)| state.is_some_and(|state| states.contains(&state)))
    {
        true => format!("none of them changed:{lines}{reasons}"),
        false => format!("none of them is in a state that {verb} is for ({names}):{lines}"),
    };
    Ok(Error::new(exit, message))
}

/// A store that names no reason still answers that the message stays.
fn or_unknown(reasons: &[String]) -> Vec<String> {
    match reasons.is_empty() {
        true => vec!["it stays as it is".to_owned()],
        false => reasons.to_vec(),
    }
}

fn identity(select: &Select, id: &Key) -> Identity {
    Identity::new(select.tenant(), select.consumer.clone(), id.clone())
}

fn advised(
    error: Error,
    open: &OpenInbox,
    identity: &Identity,
    state: State,
    action: Action,
) -> Error {
    match (state, action) {
        (State::Completed | State::SkippedDuplicate, Action::Retry { .. }) => error.hint(format!(
            "to run once more what was dealt with: {}",
            command("replay", identity, "", open)
        )),
        (State::FailedTerminal | State::Parked, Action::Replay { .. }) => error.hint(format!(
            "to run again what failed: {}",
            command("dlq replay", identity, "", open)
        )),
        (State::InProgress, _) => error.hint("wait until the attempt has ended"),
        _ => error,
    }
}
