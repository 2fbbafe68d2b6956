//! What a strategy decides where the file says nothing else. [`Kind`] has the table in words.

use semel_core::Scope;
use semel_core::inbox::order::OnTerminal;
use semel_core::inbox::{Baseline, OnGap, Order};
use semel_inbox::policy::replay::SideEffects;
use semel_inbox::{Ack, Consumer, Replay};

use crate::file::consumer::Kind;

/// The policy of a consumer with this strategy.
pub(super) fn defaults(kind: Kind, name: Scope) -> Consumer {
    let mut policy = Consumer::new(name);
    policy.plan.order = order(kind);
    policy.replay = replay(kind);
    policy.ack = match kind {
        Kind::ProcessedMessage => Ack::AfterEffect,
        _ => Ack::AfterReceive,
    };
    policy.sequence_required = is_by_version(kind);
    policy.provider_keys_required = kind == Kind::ExternalIdempotencyKey;
    policy
}

/// Whether the strategy is about the versions of an aggregate.
pub(super) const fn is_by_version(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::AggregateVersionUpsert | Kind::SequenceGapDetection
    )
}

/// Whether the strategy makes no sense without stored messages.
pub(super) const fn needs_inbox(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Inbox | Kind::InboxPlusNotificationIntent | Kind::SequenceGapDetection
    )
}

/// The order of a strategy.
pub(super) fn order(kind: Kind) -> Order {
    let by_sequence = |baseline| Order::Sequence {
        baseline,
        on_gap: OnGap::default(),
        on_terminal: OnTerminal::Park,
    };
    match kind {
        Kind::AggregateVersionUpsert => by_sequence(Baseline::FirstSeen),
        // Strict: that the beginning is missing must be noticed too.
        Kind::SequenceGapDetection => by_sequence(Baseline::After(0)),
        // What comes later replaces what failed.
        Kind::UpsertProjection => Order::Arrival {
            on_terminal: OnTerminal::Advance,
        },
        Kind::CompareAndSet => Order::Arrival {
            on_terminal: OnTerminal::Park,
        },
        Kind::Inbox
        | Kind::ProcessedMessage
        | Kind::UniqueBusinessKey
        | Kind::ExternalIdempotencyKey
        | Kind::DeterministicOutputId
        | Kind::InboxPlusNotificationIntent => Order::None,
    }
}

fn replay(kind: Kind) -> Replay {
    let (allowed, side_effects, rebuild) = match kind {
        Kind::AggregateVersionUpsert | Kind::UpsertProjection => (true, SideEffects::None, true),
        Kind::UniqueBusinessKey => (true, SideEffects::Suppress, false),
        Kind::DeterministicOutputId => (true, SideEffects::Allow, false),
        Kind::Inbox
        | Kind::ProcessedMessage
        | Kind::CompareAndSet
        | Kind::ExternalIdempotencyKey
        | Kind::InboxPlusNotificationIntent
        | Kind::SequenceGapDetection => (false, SideEffects::Suppress, false),
    };
    Replay {
        allowed,
        side_effects,
        rebuild,
    }
}
