//! Which deaths there are: every window, with every kind of effect that it makes sense for.

use super::Plot;
use crate::process::{Doing, Window};

/// A kind of effect, by its name.
type Kind = (&'static str, Doing);

const NOTHING: Doing = Doing {
    row: false,
    call: false,
    intent: false,
    steps: false,
    fails_first: false,
};
const ROW: Kind = (
    "own_transaction",
    Doing {
        row: true,
        ..NOTHING
    },
);
const CALL: Kind = (
    "provider_with_keys",
    Doing {
        call: true,
        ..NOTHING
    },
);
const INTENT: Kind = (
    "intent",
    Doing {
        intent: true,
        ..NOTHING
    },
);
const ROW_AND_INTENT: Kind = (
    "own_transaction_with_an_intent",
    Doing {
        row: true,
        intent: true,
        ..NOTHING
    },
);
const CALL_AND_ROW: Kind = (
    "provider_with_keys_then_own_transaction",
    Doing {
        call: true,
        row: true,
        ..NOTHING
    },
);
const STEPS: Kind = (
    "provider_without_keys",
    Doing {
        steps: true,
        ..NOTHING
    },
);
const EACH: &[Kind] = &[ROW, CALL, INTENT];

/// A window by its name, and the kinds of effects that it is tried with.
const WINDOWS: [(&str, Window, &[Kind]); 12] = [
    ("killed_before_it_was_stored", Window::BeforeStored, &[ROW]),
    ("killed_before_the_claim", Window::BeforeClaim, EACH),
    ("killed_after_the_claim", Window::AfterClaim, EACH),
    (
        "killed_after_the_database_write_before_commit",
        Window::BeforeCommit,
        &[ROW, ROW_AND_INTENT],
    ),
    (
        "killed_after_the_commit_before_the_ack",
        Window::AfterCommit,
        &[ROW, CALL, INTENT, ROW_AND_INTENT],
    ),
    (
        "killed_after_the_external_call",
        Window::AfterCall,
        &[CALL, CALL_AND_ROW],
    ),
    ("killed_before_the_ack", Window::BeforeAck, EACH),
    ("killed_after_the_ack", Window::AfterAck, EACH),
    ("killed_during_a_retry", Window::DuringRetry, EACH),
    ("killed_during_a_replay", Window::DuringReplay, EACH),
    (
        "killed_after_the_intent_was_sent_before_its_result_was_stored",
        Window::AfterSend,
        &[INTENT, ROW_AND_INTENT],
    ),
    ("killed_between_two_steps", Window::BetweenSteps, &[STEPS]),
];

/// All deaths.
pub(crate) fn plots() -> Vec<Plot> {
    let windows = WINDOWS.into_iter();
    let plots = windows.flat_map(|(_, window, kinds)| {
        let plots = kinds.iter();
        plots.map(move |(variant, doing)| plot(window, variant, *doing))
    });
    let by_webhook = [Window::BeforeAck, Window::AfterAck].map(|window| Plot {
        webhook: true,
        ..plot(window, "webhook", ROW.1)
    });
    let late = [Window::AfterClaim, Window::BeforeCommit, Window::AfterAck];
    let told_late = late.map(|window| Plot {
        after_effect: true,
        ..plot(window, "told_after_the_effect", ROW.1)
    });
    plots.chain(by_webhook).chain(told_late).collect()
}

/// A handler of this kind that dies at this window.
fn plot(window: Window, variant: &'static str, doing: Doing) -> Plot {
    let mut windows = WINDOWS.into_iter();
    let named = windows.find(|(_, known, _)| *known == window);
    let (name, ..) = named.expect("every window has a name");
    Plot {
        name,
        variant,
        window,
        doing: Doing {
            fails_first: window == Window::DuringRetry,
            ..doing
        },
        // What is dealt with before the source is told can only be so.
        after_effect: window == Window::AfterCommit,
        webhook: false,
    }
}

/// The death of a handler with its own transaction at this window, for scenarios that are about it.
pub(crate) fn own_transaction(window: Window) -> Plot {
    Plot {
        after_effect: true,
        ..plot(window, ROW.0, ROW.1)
    }
}
