//! Facts about one state of the whole, each readable from that state alone.

use semel_core::{Fence, Timestamp, Verdict};

use super::ledger::Reply;
use super::machine::Whole;
use super::mirror::{Brought, Mirror, Mirrored};
use super::worker::{Last, Stage, Worker};

pub(super) fn one_live_lease(state: &Whole) -> bool {
    let mut believers = leases(state).filter(|(_, until)| *until > state.store.now);
    let first = believers.next();
    believers.next().is_none()
        && first.is_none_or(|(fence, until)| is_on_record(state, fence, until))
}

/// The leases that workers hold by their own knowledge, ended ones included.
fn leases(state: &Whole) -> impl Iterator<Item = (Fence, Timestamp)> {
    state.workers.iter().filter_map(|worker| match *worker {
        Worker::Owner { fence, until, .. } => Some((fence, until)),
        Worker::Idle
        | Worker::Closing { .. }
        | Worker::GivingBack { .. }
        | Worker::GaveUp { .. }
        | Worker::Wondering { .. }
        | Worker::Told { .. } => None,
    })
}

fn is_on_record(state: &Whole, held: Fence, until: Timestamp) -> bool {
    state.store.row.is_some_and(|row| match row.state {
        Mirrored::Running { lease_until } => row.fence == held && lease_until >= until,
        Mirrored::Unknown { .. } | Mirrored::Settled { .. } => false,
    })
}

pub(super) fn unchanged_by_strangers(state: &Whole) -> bool {
    !state.store.changed_by_stranger
}

pub(super) fn no_outcome_dropped(state: &Whole) -> bool {
    !state.store.dropped_outcome
}

/// The record and the outcome that it holds, if it is settled.
pub(super) fn settled(state: &Whole) -> Option<(Mirror, Brought)> {
    state.store.row.and_then(|row| match row.state {
        Mirrored::Settled { brought, .. } => Some((row, brought)),
        Mirrored::Running { .. } | Mirrored::Unknown { .. } => None,
    })
}

pub(super) fn settled_as_at_first(state: &Whole) -> bool {
    let first = state.store.first_settled;
    first.is_none() || first == state.store.row
}

pub(super) fn settled_by_its_claim(state: &Whole) -> bool {
    settled(state).is_none_or(|(row, brought)| brought.by == row.fence)
}

pub(super) fn settled_truly(state: &Whole) -> bool {
    settled(state).is_none_or(|(_, brought)| match brought.verdict {
        Verdict::Succeeded => effects(state) > 0,
        Verdict::Failed => effects(state) == 0,
    })
}

pub(super) fn accepted_settle_kept(state: &Whole) -> bool {
    let on_record = settled(state).map(|(_, brought)| brought);
    let mut accepted = settles(state).filter(|(_, accepted)| *accepted);
    accepted.all(|(brought, _)| on_record == Some(brought))
}

pub(super) fn late_settle_answered(state: &Whole) -> bool {
    settles(state).any(|(_, accepted)| !accepted)
}

/// What workers brought, and whether they were told that it is on record.
fn settles(state: &Whole) -> impl Iterator<Item = (Brought, bool)> {
    state.workers.iter().filter_map(|worker| match *worker {
        Worker::Closing {
            last: Last::Settle(brought),
            accepted,
            ..
        } => Some((brought, accepted)),
        Worker::Closing { .. }
        | Worker::Idle
        | Worker::Owner { .. }
        | Worker::GivingBack { .. }
        | Worker::GaveUp { .. }
        | Worker::Wondering { .. }
        | Worker::Told { .. } => None,
    })
}

pub(super) fn every_begin_under_a_lease(state: &Whole) -> bool {
    !state.ledger.begun_late
}

pub(super) fn grant_too_late(state: &Whole) -> bool {
    let now = state.store.now;
    let mut workers = state.workers.iter();
    workers
        .any(|worker| matches!(worker, Worker::Owner { stage: Stage::Waiting, until, .. } if *until <= now))
}

pub(super) fn outcome_offered(state: &Whole) -> bool {
    !state.workers.iter().any(|worker| match *worker {
        Worker::GaveUp { fence } => state.store.is_live(fence),
        Worker::Idle
        | Worker::Owner { .. }
        | Worker::Closing { .. }
        | Worker::GivingBack { .. }
        | Worker::Wondering { .. }
        | Worker::Told { .. } => false,
    })
}

pub(super) fn every_fence_higher(state: &Whole) -> bool {
    state
        .store
        .grants
        .is_sorted_by(|earlier, later| earlier < later)
}

pub(super) fn unknown(state: &Whole) -> bool {
    let row = state.store.row;
    row.is_some_and(|row| matches!(row.state, Mirrored::Unknown { .. }))
}

pub(super) fn attempt(state: &Whole) -> u32 {
    state.store.row.map_or(0, |row| row.attempt)
}

pub(super) fn effects(state: &Whole) -> usize {
    state.ledger.effects().count()
}

pub(super) fn one_effect_per_fence(state: &Whole) -> bool {
    let mut fences: Vec<Fence> = state.ledger.effects().collect();
    fences.sort_unstable();
    fences.is_sorted_by(|one, other| one != other)
}

pub(super) fn in_order(state: &Whole) -> bool {
    state.ledger.effects().is_sorted()
}

pub(super) fn late_effect_under_way(state: &Whole) -> bool {
    let mut in_flight = state.ledger.in_flight.iter();
    in_flight.any(|fence| !state.store.is_live(*fence))
}

pub(super) fn refused(state: &Whole) -> bool {
    refusals(state).next().is_some()
}

pub(super) fn no_live_owner_refused(state: &Whole) -> bool {
    !refusals(state).any(|fence| state.store.is_live(fence))
}

fn refusals(state: &Whole) -> impl Iterator<Item = Fence> {
    let calls = state.ledger.calls.iter();
    let refused = calls.filter(|call| call.reply == Reply::Refused);
    refused.map(|call| call.fence)
}
