//! Keeps alive what this process works on: its claims in the store, and the deliveries that its sources keep open.
//!
//! An engine that cannot reach the store goes on with what it has begun. Whether a claim still holds is the store's word alone: as long as
//! nobody else has claimed a message, its owner may finish it, and cancelling it would leave an effect that nobody knows of.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, join_all};
use semel_core::LeaseTerm;
use semel_core::inbox::{BATCH_MAX, Claim, Renewal};
use tokio::time::{Instant, sleep, timeout};

use super::active::Shared;
use super::moment::Moment;
use crate::source::Open;

/// How often the lease of a source is looked at, at the least and at the most.
const LOOK: Duration = Duration::from_secs(1);
const LOOK_MIN: Duration = Duration::from_millis(1);

/// Beats for ever: once in a third of each lease.
pub(super) async fn run(shared: Arc<Shared>, leases: Vec<LeaseTerm>, sources: Vec<Arc<Open>>) {
    let claims = leases.into_iter().map(|lease| renew(&shared, lease));
    let sources = sources.iter().map(|open| extend(open));
    join(join_all(claims), join_all(sources)).await;
}

async fn renew(shared: &Shared, lease: LeaseTerm) {
    let term = lease.get();
    let mut pause = term / 3;
    loop {
        sleep(pause).await;
        // What was claimed or renewed a moment ago can wait for the next beat.
        let claims = shared.flights.older(lease, term / 6);
        let mut all_answered = true;
        for batch in claims.chunks(BATCH_MAX) {
            all_answered &= renew_batch(shared, lease, batch).await;
        }
        pause = match all_answered {
            true => term / 3,
            // A store that hangs or is away gets more chances before the leases end.
            false => (term / 12).min(Duration::from_secs(1)),
        };
    }
}

async fn renew_batch(shared: &Shared, lease: LeaseTerm, claims: &[Claim]) -> bool {
    let asked = Moment::now(&*shared.clock);
    let answer = shared.inbox.renew(claims.to_vec(), lease);
    let answers = match timeout(lease.get() / 6, answer).await {
        Ok(Ok(answers)) => answers,
        Ok(Err(error)) => {
            tracing::warn!(claims = claims.len(), %error, "claims cannot be renewed, trying again");
            return false;
        }
        Err(_) => return false,
    };
    for (claim, answer) in claims.iter().zip(answers) {
        match answer {
            Renewal::Held => shared.flights.renewed(claim, asked),
            // The next beat asks again; until then the lease is what it was.
            Renewal::Busy => {}
            Renewal::Lost => shared.flights.lost(claim),
        }
    }
    true
}

/// Extends what is open in time for the lease that the source has now: brokers say theirs when they are connected to, and may change it.
async fn extend(open: &Open) {
    let mut extended_at = Instant::now();
    loop {
        let lease = open.lease().filter(|lease| lease.extendable);
        let pause = lease.map_or(LOOK, |lease| lease.term / 3);
        if lease.is_some() && extended_at.elapsed() >= pause {
            extended_at = Instant::now();
            open.extend().await;
        }
        let rest = pause.saturating_sub(extended_at.elapsed());
        sleep(rest.clamp(LOOK_MIN, LOOK)).await;
    }
}
