//! What is found after a death: it happened at its window and nowhere else.

use semel_core::inbox::State;

use super::{Effects, Plot};
use crate::outside::Outside;
use crate::process::Window;
use crate::stage::Stage;
use crate::workshop::{ID, charge, order};

/// Looks at what the dead process left.
pub(super) async fn check(stage: &Stage, outside: &Outside, plot: Plot) {
    let found = stage.detail(&order(ID)).await;
    let state = found.map(|detail| detail.entry.state);
    assert_eq!(state, state_at(plot), "the message after the death");
    if let Some(unacked) = unacked_at(plot) {
        assert_eq!(outside.unacked(), unacked, "what the source was not told");
    }
    let effects = Effects::count(stage, outside).await;
    match plot.window {
        Window::BeforeStored
        | Window::BeforeClaim
        | Window::AfterClaim
        | Window::BeforeCommit
        | Window::BeforeAck => assert_eq!(effects.total(), 0, "{effects:?}"),
        Window::AfterCall => assert_eq!((effects.calls, effects.rows), (1, 0)),
        Window::BetweenSteps => assert_eq!((effects.reserved, effects.shipped), (1, 0)),
        Window::DuringReplay => assert_eq!(effects, Effects::once(plot.doing)),
        // An intent may be under way, or not.
        Window::AfterCommit => {
            let intents = effects.intents;
            let once = Effects::once(plot.doing);
            assert_eq!(effects, Effects { intents, ..once });
        }
        Window::AfterAck if plot.after_effect => {
            assert_eq!(effects.rows, usize::from(plot.doing.row));
        }
        Window::AfterAck => assert_eq!(effects.total(), 0, "{effects:?}"),
        Window::DuringRetry => assert_eq!((effects.rows, effects.intents), (0, 0)),
        Window::AfterSend => {
            assert_eq!(effects.intents, 1);
            let intent = stage.detail(&charge(ID)).await.unwrap();
            assert_eq!(intent.entry.state, State::InProgress);
        }
    }
}

/// Where the message stands.
const fn state_at(plot: Plot) -> Option<State> {
    match plot.window {
        Window::BeforeStored => None,
        Window::AfterAck if plot.after_effect => Some(State::Completed),
        Window::BeforeClaim | Window::BeforeAck | Window::AfterAck => Some(State::Received),
        Window::AfterClaim
        | Window::AfterCall
        | Window::BeforeCommit
        | Window::DuringRetry
        | Window::DuringReplay
        | Window::BetweenSteps => Some(State::InProgress),
        Window::AfterCommit | Window::AfterSend => Some(State::Completed),
    }
}

/// How many deliveries the source was not told about, where that is certain.
const fn unacked_at(plot: Plot) -> Option<usize> {
    match plot.window {
        _ if plot.webhook => None,
        Window::BeforeStored | Window::BeforeAck | Window::AfterCommit => Some(1),
        Window::AfterAck | Window::DuringReplay => Some(0),
        _ if plot.after_effect => Some(1),
        _ => None,
    }
}
