//! Long polls: a caller may wait until an operation no longer runs.
//!
//! Waiting takes no lock and holds no body in memory. The places are limited, in all and for one key; a caller that finds none free is answered
//! without waiting.

use std::sync::Arc;
use std::time::Duration;

use semel_core::once::Places;
use semel_core::store::{ClaimAnswer, ClaimRequest};
use semel_core::{Budget, Identity, Once, Record, State};
use semel_http::quota::Ticket;
use tokio::time::Instant;

use super::claim_for_caller;
use crate::metered::Metered;
use crate::refused::{Refused, ask_after};
use crate::router::App;

/// The longest wait.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(30);
/// The most callers that wait at once: others must still get a connection.
const WAITING_MAX: usize = 128;
/// The most that wait for one operation.
const WAITING_PER_KEY_MAX: usize = 32;

/// What waiting callers share.
pub(crate) fn waiters(store: &Metered) -> Once {
    let waiting = Budget::new(WAITING_MAX);
    store.metrics().watch_budget("claims_waiting", &waiting);
    let places = Places::new(Budget::unlimited(), waiting, WAITING_PER_KEY_MAX);
    Once::on(Arc::new(store.clone())).within(places)
}

/// What is on record, once the operation no longer runs or the wait is over.
pub(super) async fn look(
    app: &App,
    identity: &Identity,
    wait: Duration,
) -> Result<Option<Arc<Record>>, Refused> {
    ask_after(wait, app.waiters.look(identity, wait)).await
}

/// Claims; while another claim runs the operation, waits for its end and claims again. One that waits holds no right to a new key.
pub(super) async fn claim(
    app: &App,
    request: ClaimRequest,
    wait: Duration,
    ticket: &Ticket,
) -> Result<ClaimAnswer, Refused> {
    let ends = Instant::now() + wait;
    loop {
        let store = app.parts.store.clone();
        let answer = claim_for_caller(store, request.clone()).await?;
        let left = ends.saturating_duration_since(Instant::now());
        if left.is_zero() || !matches!(answer, ClaimAnswer::Running { .. }) {
            return Ok(answer);
        }
        ticket.give_back();
        let found = look(app, &request.identity, left).await?;
        let still_runs = found.is_some_and(|record| matches!(record.state, State::Running { .. }));
        if still_runs {
            return Ok(answer);
        }
    }
}
