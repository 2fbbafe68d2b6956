//! What each strategy decides where the file says nothing else.

use semel_core::inbox::order::OnTerminal;
use semel_core::inbox::{Baseline, Order};
use semel_inbox::Ack;
use semel_inbox::policy::replay::SideEffects;
use semel_policy::file::consumer::Kind;

use super::with;

/// Order, whether told when stored, replays (allowed, intents, rebuild), sequence required, keys required.
fn shown(kind: Kind) -> String {
    let policy = with(&format!("strategy: {{ type: {} }}", kind.name())).policy;
    let order = match policy.plan.order {
        Order::None => "none",
        Order::Arrival {
            on_terminal: OnTerminal::Advance,
        } => "arrival, advance",
        Order::Arrival {
            on_terminal: OnTerminal::Park,
        } => "arrival, park",
        Order::Sequence {
            baseline: Baseline::FirstSeen,
            ..
        } => "sequence",
        Order::Sequence {
            baseline: Baseline::After(0),
            ..
        } => "sequence from 1",
        Order::Sequence { .. } => "another",
    };
    let told = match policy.ack {
        Ack::AfterReceive => "stored",
        Ack::AfterEffect => "applied",
    };
    let replay = match (
        policy.replay.allowed,
        policy.replay.side_effects,
        policy.replay.rebuild,
    ) {
        (false, SideEffects::Suppress, false) => "forced",
        (true, SideEffects::Suppress, false) => "allowed",
        (true, SideEffects::None, true) => "rebuild",
        (true, SideEffects::Allow, false) => "again",
        _ => "another",
    };
    let sequence = if policy.sequence_required {
        " sequence"
    } else {
        ""
    };
    let keys = if policy.provider_keys_required {
        " keys"
    } else {
        ""
    };
    format!("{order} | {told} | {replay} |{sequence}{keys}")
}

#[test]
fn each_strategy_has_defaults_of_its_own() {
    for (kind, expected) in [
        (Kind::Inbox, "none | stored | forced |"),
        (Kind::ProcessedMessage, "none | applied | forced |"),
        (Kind::UniqueBusinessKey, "none | stored | allowed |"),
        (
            Kind::AggregateVersionUpsert,
            "sequence | stored | rebuild | sequence",
        ),
        (
            Kind::UpsertProjection,
            "arrival, advance | stored | rebuild |",
        ),
        (Kind::CompareAndSet, "arrival, park | stored | forced |"),
        (
            Kind::ExternalIdempotencyKey,
            "none | stored | forced | keys",
        ),
        (Kind::DeterministicOutputId, "none | stored | again |"),
        (
            Kind::InboxPlusNotificationIntent,
            "none | stored | forced |",
        ),
        (
            Kind::SequenceGapDetection,
            "sequence from 1 | stored | forced | sequence",
        ),
    ] {
        assert_eq!(shown(kind), expected, "{}", kind.name());
    }
}

#[test]
fn without_a_strategy_it_is_the_inbox() {
    let (plain, inbox) = (with(""), with("strategy: { type: inbox }"));
    assert_eq!(format!("{plain:?}"), format!("{inbox:?}"));
}

#[test]
fn every_strategy_is_known_by_its_name() {
    for kind in Kind::ALL {
        assert_eq!(
            with(&format!("strategy: {{ type: {} }}", kind.name())).strategy,
            kind
        );
    }
}

#[test]
fn what_the_file_says_wins_over_the_strategy() {
    let policy =
        with("strategy: { type: upsert-projection }, order: none, replay: { allowed: false }")
            .policy;
    assert_eq!(policy.plan.order, Order::None);
    assert!(!policy.replay.allowed && !policy.replay.rebuild);
    let policy = with("strategy: { type: upsert-projection }, order: arrival").policy;
    assert_eq!(policy.plan.order.on_terminal(), OnTerminal::Advance);
    let policy = with(
        "strategy: { type: sequence-gap-detection }, order: { by: sequence, gap_deadline: 1m }",
    )
    .policy;
    assert!(matches!(
        policy.plan.order,
        Order::Sequence { baseline: Baseline::After(0), on_gap, .. } if on_gap.deadline.as_secs() == 60
    ));
}
