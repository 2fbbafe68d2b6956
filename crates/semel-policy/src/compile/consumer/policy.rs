//! What the file says, laid over the defaults of the strategy.

use std::time::Duration;

use semel_core::duration::show;
use semel_core::inbox::order::{self, OnTerminal};
use semel_core::inbox::{OnGap, Order, UnknownPolicy};
use semel_core::{LeaseTerm, Retention, Scope};
use semel_inbox::policy::replay::{self, SideEffects};
use semel_inbox::{Ack, Alerts, Consumer, Replay};

use super::{at, strategy};
use crate::compile::{is_timeout, retry, set};
use crate::file::consumer::{self as written, Allowed, By, GapThen, Kind, Lost, Timing};
use crate::file::{self};
use crate::limits::{GAP_DEADLINE_MAX, MESSAGE_RETENTION};
use crate::tree::Path;
use crate::tree::read::Fault;

/// The engine's policy of a consumer. Faults are relative to it.
pub(super) fn compile(name: Scope, written: &file::Consumer) -> Result<Consumer, Fault> {
    let strategy = &written.strategy;
    let kind = strategy.kind.unwrap_or_default();
    let mut policy = strategy::defaults(kind, name);
    set(&mut policy.id_required, strategy.message_id_required);
    set(&mut policy.sequence_required, strategy.sequence_required);
    set(
        &mut policy.provider_keys_required,
        strategy.external_provider_idempotency,
    );
    set(
        &mut policy.derived_intent_ids,
        strategy.deterministic_notification_id,
    );
    policy.plan.order = order(written, kind)?;
    policy.plan.retention = retention(&written.dedup)?;
    policy.ack = ack(written, policy.ack)?;
    policy.replay = replay(&written.replay, policy.replay)?;
    if let Some(retry) = &written.inbox.retry {
        let compiled = retry::compile(retry);
        policy.retry = compiled.map_err(|fault| fault.under(&at(["inbox", "retry"])))?;
    }
    set(&mut policy.parking, written.inbox.parking_lot);
    alerts(&written.alerts, &mut policy.alerts);
    set(
        &mut policy.workers,
        written.workers.map(|workers| workers.0.0),
    );
    policy.backlog_max = written.backlog_max.and_then(|messages| messages.0.0);
    set(
        &mut policy.on_unknown,
        written.unknown.map(UnknownPolicy::from),
    );
    (policy.deadline, policy.lease) = times(written, policy.deadline, policy.lease)?;
    Ok(policy)
}

fn order(consumer: &file::Consumer, kind: Kind) -> Result<Order, Fault> {
    let otherwise = strategy::order(kind);
    let Some(order) = &consumer.order else {
        return Ok(otherwise);
    };
    if strategy::is_by_version(kind) && order.by != By::Sequence {
        let message = format!(
            "expected sequence, because strategy.type is {}",
            kind.name()
        );
        return Err(Fault::said(at(["order"]), message).beside(at(["strategy", "type"])));
    }
    fits(order)?;
    let on_terminal = order.on_terminal.map(OnTerminal::from);
    Ok(match (order.by, otherwise) {
        (By::None, _) => Order::None,
        (By::Arrival, Order::Arrival { on_terminal: own }) => Order::Arrival {
            on_terminal: on_terminal.unwrap_or(own),
        },
        (By::Arrival, _) => Order::Arrival {
            on_terminal: on_terminal.unwrap_or_default(),
        },
        (By::Sequence, otherwise) => by_sequence(order, otherwise, on_terminal.unwrap_or_default()),
    })
}

fn by_sequence(order: &written::Order, otherwise: Order, on_terminal: OnTerminal) -> Order {
    let own = match otherwise {
        Order::Sequence { baseline, .. } => baseline,
        Order::None | Order::Arrival { .. } => order::Baseline::default(),
    };
    let usual = OnGap::default();
    Order::Sequence {
        baseline: order.baseline.unwrap_or(own),
        on_gap: OnGap {
            deadline: order.gap_deadline.unwrap_or(usual.deadline),
            then: order.gap_then.map_or(usual.then, order::GapThen::from),
        },
        on_terminal,
    }
}

/// Settings that say nothing about the order they stand in are mistakes.
fn fits(order: &written::Order) -> Result<(), Fault> {
    let is_by_sequence = order.by == By::Sequence;
    for (name, is_written, fits, expected) in [
        (
            "on_terminal",
            order.on_terminal.is_some(),
            order.by != By::None,
            "arrival or sequence",
        ),
        (
            "baseline",
            order.baseline.is_some(),
            is_by_sequence,
            "sequence",
        ),
        (
            "gap_deadline",
            order.gap_deadline.is_some(),
            is_by_sequence,
            "sequence",
        ),
        (
            "gap_then",
            order.gap_then.is_some(),
            is_by_sequence,
            "sequence",
        ),
    ] {
        if is_written && !fits {
            let message = format!("expected it only with by: {expected}");
            return Err(Fault::said(at(["order", name]), message).beside(at(["order", "by"])));
        }
    }
    match order.gap_deadline {
        Some(deadline) if deadline.is_zero() || deadline > GAP_DEADLINE_MAX => {
            let (max, found) = (show(GAP_DEADLINE_MAX), show(deadline));
            let message = format!("expected a duration from 1ms to {max}, found {found}");
            Err(Fault::said(at(["order", "gap_deadline"]), message))
        }
        _ => Ok(()),
    }
}

fn retention(dedup: &written::Dedup) -> Result<Retention, Fault> {
    let (path, keep) = match (dedup.retention_days, dedup.retention) {
        (Some(_), Some(_)) => {
            let fault = Fault::said(
                at(["dedup", "retention"]),
                "expected retention or retentionDays, found both",
            );
            return Err(fault.beside(at(["dedup", "retentionDays"])));
        }
        (Some(days), None) => (
            "retentionDays",
            Duration::from_secs(days.0.0 * 24 * 60 * 60),
        ),
        (None, Some(keep)) => ("retention", keep.0),
        (None, None) => ("retention", MESSAGE_RETENTION),
    };
    Retention::delete_after(keep).map_err(|_| {
        let message = format!(
            "expected a duration from 1ms to ten years, found {}",
            show(keep)
        );
        Fault::said(at(["dedup", path]), message)
    })
}

fn ack(consumer: &file::Consumer, otherwise: Ack) -> Result<Ack, Fault> {
    let has_inbox = consumer.inbox.enabled != Some(false) && consumer.processed_log.is_none();
    let timing = consumer.ack.timing;
    let insert = consumer
        .inbox
        .ack_after_inbox_insert
        .map(|after| match after {
            true => Ack::AfterReceive,
            false => Ack::AfterEffect,
        });
    if let (Some(timing), Some(insert)) = (timing, insert)
        && Ack::from(timing) != insert
    {
        let expected = Ack::from(timing) == Ack::AfterReceive;
        let message = format!(
            "expected {expected}, because ack.timing is {}",
            timing.name()
        );
        let fault = Fault::said(at(["inbox", "ackAfterInboxInsert"]), message);
        return Err(fault.beside(at(["ack", "timing"])));
    }
    let said = timing.map(Ack::from).or(insert);
    match (said, has_inbox) {
        (Some(Ack::AfterReceive), false) => {
            let beside = match timing {
                Some(_) => at(["ack", "timing"]),
                None => at(["inbox", "ackAfterInboxInsert"]),
            };
            let message = "expected true, because the source is told when a message is stored";
            Err(Fault::said(at(["inbox", "enabled"]), message).beside(beside))
        }
        (Some(said), _) => Ok(said),
        (None, true) => Ok(otherwise),
        (None, false) => Ok(Ack::AfterEffect),
    }
}

fn replay(replay: &written::Replay, otherwise: Replay) -> Result<Replay, Fault> {
    let allowed = replay.allowed.map(|allowed| allowed.0);
    let side_effects = replay.side_effects.map(SideEffects::from);
    let is_real = allowed == Some(Allowed::FalseForRealSend);
    if is_real && side_effects == Some(SideEffects::Allow) {
        let message = "expected none or suppress, because replay.allowed is false-for-real-send";
        let fault = Fault::said(at(["replay", "sideEffects"]), message);
        return Err(fault.beside(at(["replay", "allowed"])));
    }
    let is_allowed = allowed.map_or(otherwise.allowed, |allowed| allowed == Allowed::True);
    if replay.rebuild == Some(true) && !is_allowed {
        let message = "expected replay.allowed: true, because a rebuild replays";
        let fault = Fault::said(at(["replay", "rebuild"]), message);
        return Err(fault.beside(at(["replay", "allowed"])));
    }
    Ok(Replay {
        allowed: is_allowed,
        side_effects: match is_real {
            true => side_effects.unwrap_or(SideEffects::Suppress),
            false => side_effects.unwrap_or(otherwise.side_effects),
        },
        rebuild: replay.rebuild.unwrap_or(otherwise.rebuild && is_allowed),
    })
}

fn alerts(written: &written::Alerts, alerts: &mut Alerts) {
    set(&mut alerts.duplicate_spike, written.duplicate_spike);
    set(&mut alerts.sequence_gap, written.sequence_gap);
    let age = written
        .pending_age_seconds
        .map(|seconds| seconds.0.0.map(Duration::from_secs));
    set(&mut alerts.pending_age, age);
    set(
        &mut alerts.parked,
        written.parked_messages.map(|messages| messages.0.0),
    );
}

/// An attempt is over at its deadline, so a longer lease would only make the messages of a lost worker wait.
fn times(
    consumer: &file::Consumer,
    deadline: Duration,
    lease: LeaseTerm,
) -> Result<(Duration, LeaseTerm), Fault> {
    let deadline = consumer.deadline.map_or(deadline, |deadline| deadline.0);
    is_timeout(deadline, || at(["deadline"]))?;
    match consumer.lease {
        Some(lease) if lease.get() > deadline => {
            let (found, deadline) = (show(lease.get()), show(deadline));
            let message = format!("expected at most the deadline of {deadline}, found {found}");
            let fault = Fault::said(at(["lease"]), message);
            Err(match consumer.deadline {
                Some(_) => fault.beside(at(["deadline"])),
                None => fault,
            })
        }
        Some(lease) => Ok((deadline, lease.0)),
        None if lease.get() > deadline => LeaseTerm::new(deadline)
            .map(|lease| (deadline, lease))
            .map_err(|error| Fault::said(Path::default().to("deadline"), error.to_string())),
        None => Ok((deadline, lease)),
    }
}

impl From<Timing> for Ack {
    fn from(timing: Timing) -> Self {
        match timing {
            Timing::AfterDbTransaction | Timing::AfterEffect => Self::AfterEffect,
            Timing::AfterReceive => Self::AfterReceive,
        }
    }
}

impl From<written::SideEffects> for replay::SideEffects {
    fn from(written: written::SideEffects) -> Self {
        match written {
            written::SideEffects::None => Self::None,
            written::SideEffects::Suppress => Self::Suppress,
            written::SideEffects::Allow => Self::Allow,
        }
    }
}

impl From<written::OnTerminal> for OnTerminal {
    fn from(written: written::OnTerminal) -> Self {
        match written {
            written::OnTerminal::Park => Self::Park,
            written::OnTerminal::Advance => Self::Advance,
        }
    }
}

impl From<GapThen> for order::GapThen {
    fn from(written: GapThen) -> Self {
        match written {
            GapThen::Hold => Self::Hold,
            GapThen::Advance => Self::Advance,
        }
    }
}

impl From<Lost> for UnknownPolicy {
    fn from(written: Lost) -> Self {
        match written {
            Lost::Rerun => Self::Rerun,
            Lost::Hold => Self::Hold,
        }
    }
}
