//! Why messages that were named did not change.

use semel_core::inbox::{Action, State};
use semel_core::{Identity, Key};

use crate::commands::messages::{Change, OpenInbox, Select, command, not_found};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::text;

/// Of how many ids it is said why they did not change.
const EXPLAINED_MAX: usize = 10;

/// Why none of the messages that were named changed.
pub(super) async fn unchanged(open: &OpenInbox, change: &Change<'_>) -> Result<Error> {
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
    let states: Vec<_> = states.iter().map(|state| state.name()).collect();
    let states = states.join(", ");
    if let [(identity, state)] = found.as_slice() {
        return Ok(match state {
            None => not_found(identity, open),
            Some(state) => {
                let message = format!(
                    "{identity} is {}, and {verb} is for {states}; nothing was changed",
                    state.name()
                );
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
    let message = format!("none of them is in a state that {verb} is for ({states}):{lines}");
    Ok(Error::new(exit, message))
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
        (State::Completed | State::SkippedDuplicate, Action::Retry { new_key: false }) => error
            .hint(format!(
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
