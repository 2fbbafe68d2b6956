//! Where a message goes that stands in no lane, what an operator's action does to one, and who may still end an attempt: decided once for
//! all stores.

use super::lanes::{Placed, Rerun};
use super::message::Message;
use super::operate::Action;
use super::state::{Cause, State};
use crate::record::Fence;

/// Where a new message goes that stands in no lane: it is due, or parked if it could not be read.
pub fn place_outside_lanes(message: &Message) -> Placed {
    match message.unreadable() {
        Some(_) => Placed::parked(Cause::Unreadable),
        None => Placed::DUE,
    }
}

/// What is known of a message when an action meets it.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Its state.
    pub state: State,
    /// Why it is in it.
    pub cause: Option<Cause>,
    /// Whether it was dealt with before and runs once more.
    pub rerun: Rerun,
    /// Attempts of this generation.
    pub attempts: u32,
    /// How often it was replayed or retried by hand.
    pub generation: u32,
    /// Whether its record is settled.
    pub is_settled: bool,
    /// Whether its lane has gone past its version.
    pub is_older: bool,
    /// Whether the operation names its id.
    pub is_named: bool,
    /// Whether its contents were erased.
    pub is_erased: bool,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It stays as it is.
    Stay(Stay),
    /// It waits for others of its lane, which the same operation may set free: it is looked at again after them, with [`decide_waiting`].
    Later,
    /// It takes its place again.
    Run(Run),
    /// It runs at once, whatever its lane waits for.
    RunAtOnce(Run),
    /// It is set aside.
    Park,
    /// It is never run.
    Skip,
    /// It runs once more, in a new generation and with no step done.
    Replay(Rerun),
    /// Its contents are erased.
    Erase,
    /// It is never run, and its contents are erased.
    SkipAndErase,
}

/// Why a message stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// The action is not for its state.
    State,
    /// Its record is settled.
    Settled,
    /// Its lane has gone past its version.
    Older,
    /// It waits for others of its lane.
    Waiting,
    /// Its contents are gone.
    Gone,
}

/// How a message begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The attempts that count.
    pub attempts: u32,
    /// Its generation.
    pub generation: u32,
    /// Whether it gets a new key for its provider.
    pub new_key: bool,
}

/// What an action does to a message.
pub fn decide(action: Action, facts: &Facts) -> Decision {
    if !action.states().contains(&facts.state) {
        return Decision::Stay(Stay::State);
    }
    match action {
        Action::EraseContents | Action::Replay { .. } if facts.is_erased => {
            Decision::Stay(Stay::Gone)
        }
        Action::EraseContents if facts.state.is_final() => Decision::Erase,
        Action::EraseContents => Decision::SkipAndErase,
        Action::Park => Decision::Park,
        Action::Skip => Decision::Skip,
        Action::Replay { rebuild: true } => Decision::Replay(Rerun::Rebuild),
        Action::Replay { rebuild: false } if facts.is_older => Decision::Stay(Stay::Older),
        Action::Replay { rebuild: false } => Decision::Replay(Rerun::Replay),
        Action::Retry { .. } | Action::Unpark | Action::Edit { .. }
            if facts.rerun == Rerun::No && facts.is_settled =>
        {
            Decision::Stay(Stay::Settled)
        }
        // What is kept is what runs: an edit that would wait for others could be out of date when they are done.
        Action::Edit { .. } if waits_for_others(facts) => Decision::Stay(Stay::Waiting),
        Action::Retry { .. } | Action::Unpark if waits_for_others(facts) => Decision::Later,
        Action::Retry { .. } | Action::Unpark | Action::Edit { .. } if facts.is_older => {
            Decision::Stay(Stay::Older)
        }
        Action::Retry { .. } | Action::Unpark | Action::Edit { .. } => {
            Decision::Run(run(action, facts))
        }
    }
}

/// What an action does to a message that waited for others of its lane when the operation began.
pub fn decide_waiting(action: Action, facts: &Facts) -> Decision {
    let is_unpark = action == Action::Unpark;
    match waits_for_others(facts) {
        // What it waited for was among the others.
        false if facts.state == State::Received => Decision::Run(run(action, facts)),
        // What it waited for has made it an older version.
        false => Decision::Stay(Stay::Older),
        true if is_unpark && facts.is_named => Decision::RunAtOnce(run(action, facts)),
        true => Decision::Stay(Stay::Waiting),
    }
}

/// Whether it is parked only because of others of its lane.
pub fn waits_for_others(facts: &Facts) -> bool {
    facts.state == State::Parked && super::lanes::is_parked_for_others(facts.cause)
}

fn run(action: Action, facts: &Facts) -> Run {
    let Facts {
        attempts,
        generation,
        ..
    } = *facts;
    match action {
        Action::Retry { new_key } | Action::Edit { new_key } => Run {
            attempts: 0,
            generation: generation.saturating_add(1),
            new_key,
        },
        // It goes on with the attempts it had; but one whose last attempt parked it gets that attempt back, or it would be parked again
        // without having run.
        _ => Run {
            attempts: match facts.cause {
                None | Some(Cause::Operator | Cause::Conflict | Cause::Unreadable) => attempts,
                Some(cause) if super::lanes::is_parked_for_others(Some(cause)) => attempts,
                Some(_) => attempts.saturating_sub(1),
            },
            generation,
            new_key: false,
        },
    }
}

/// Whether the claim with this fence may still say how its attempt ended. A message that was parked because its worker seemed lost is still
/// that worker's as long as nothing else has claimed it or decided about it: its effect has happened, and running it again
/// would be the duplicate that all this is to avoid.
pub fn may_finish(state: State, cause: Option<Cause>, held: Fence, claim: Fence) -> bool {
    let is_held = match state {
        State::InProgress => true,
        State::Parked => cause == Some(Cause::Unknown),
        State::Received
        | State::Completed
        | State::FailedRetryable
        | State::FailedTerminal
        | State::SkippedDuplicate => false,
    };
    is_held && held == claim
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARKED: Facts = Facts {
        state: State::Parked,
        cause: Some(Cause::AttemptsExhausted),
        rerun: Rerun::No,
        attempts: 3,
        generation: 1,
        is_settled: false,
        is_older: false,
        is_named: true,
        is_erased: false,
    };
    const RETRY: Action = Action::Retry { new_key: false };

    #[test]
    fn an_unparked_message_has_an_attempt_left() {
        for (cause, attempts) in [
            (Cause::AttemptsExhausted, 2),
            (Cause::Unknown, 2),
            (Cause::Operator, 3),
        ] {
            let facts = Facts {
                cause: Some(cause),
                ..PARKED
            };
            let Decision::Run(run) = decide(Action::Unpark, &facts) else {
                panic!("{cause:?} runs")
            };
            assert_eq!((run.attempts, run.generation), (attempts, 1), "{cause:?}");
        }
    }

    #[test]
    fn what_is_settled_or_older_stays_and_says_why() {
        let settled = Facts {
            is_settled: true,
            ..PARKED
        };
        let older = Facts {
            is_older: true,
            ..PARKED
        };
        for action in [RETRY, Action::Unpark] {
            assert_eq!(decide(action, &settled), Decision::Stay(Stay::Settled));
            assert_eq!(decide(action, &older), Decision::Stay(Stay::Older));
        }
        // What was dealt with before and is replayed has a settled record by definition.
        let replayed = Facts {
            rerun: Rerun::Replay,
            ..settled
        };
        assert!(matches!(decide(RETRY, &replayed), Decision::Run(_)));
    }

    #[test]
    fn what_waits_for_others_is_looked_at_after_them() {
        let waiting = Facts {
            cause: Some(Cause::BehindFailed),
            ..PARKED
        };
        assert_eq!(decide(RETRY, &waiting), Decision::Later);
        assert_eq!(
            decide_waiting(RETRY, &waiting),
            Decision::Stay(Stay::Waiting)
        );
        assert!(matches!(
            decide_waiting(Action::Unpark, &waiting),
            Decision::RunAtOnce(_)
        ));
        let unnamed = Facts {
            is_named: false,
            ..waiting
        };
        assert_eq!(
            decide_waiting(Action::Unpark, &unnamed),
            Decision::Stay(Stay::Waiting)
        );
        let freed = Facts {
            state: State::Received,
            cause: None,
            ..PARKED
        };
        assert!(matches!(decide_waiting(RETRY, &freed), Decision::Run(_)));
    }

    #[test]
    fn an_edit_runs_like_a_retry_and_never_waits() {
        let edit = Action::Edit { new_key: true };
        let Decision::Run(run) = decide(edit, &PARKED) else {
            panic!("a parked message is edited")
        };
        assert_eq!((run.attempts, run.generation, run.new_key), (0, 2, true));
        let waiting = Facts {
            cause: Some(Cause::Gap),
            ..PARKED
        };
        assert_eq!(decide(edit, &waiting), Decision::Stay(Stay::Waiting));
        for state in [State::Received, State::InProgress, State::Completed] {
            let facts = Facts { state, ..PARKED };
            assert_eq!(decide(edit, &facts), Decision::Stay(Stay::State));
        }
    }

    #[test]
    fn contents_are_erased_only_where_nothing_runs_any_more() {
        let decide = |state, is_erased| {
            let facts = Facts {
                state,
                is_erased,
                ..PARKED
            };
            super::decide(Action::EraseContents, &facts)
        };
        for state in [State::Received, State::InProgress, State::FailedRetryable] {
            assert_eq!(
                decide(state, false),
                Decision::Stay(Stay::State),
                "{state:?}"
            );
        }
        for state in [State::Parked, State::FailedTerminal] {
            assert_eq!(decide(state, false), Decision::SkipAndErase, "{state:?}");
        }
        assert_eq!(decide(State::Completed, false), Decision::Erase);
        assert_eq!(decide(State::Completed, true), Decision::Stay(Stay::Gone));
        let erased = Facts {
            state: State::Completed,
            is_erased: true,
            ..PARKED
        };
        let replay = Action::Replay { rebuild: true };
        assert_eq!(super::decide(replay, &erased), Decision::Stay(Stay::Gone));
    }

    #[test]
    fn only_the_newest_claim_may_end_an_attempt() {
        let (old, new) = (Fence::new(1), Fence::new(2));
        assert!(may_finish(State::InProgress, None, new, new));
        assert!(may_finish(State::Parked, Some(Cause::Unknown), new, new));
        assert!(!may_finish(State::InProgress, None, new, old));
        assert!(!may_finish(State::Parked, Some(Cause::Operator), new, new));
        assert!(!may_finish(State::Received, None, new, new));
    }
}
