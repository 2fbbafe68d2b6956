//! Whatever is reported changes its own number, and no other.

use std::time::Duration;

use semel_core::clock::Doubt;
use semel_core::inbox::{Cause, Counts, Message, State};
use semel_core::store::{Stats, StoreObserver as _, Swept, Verb};
use semel_core::{Budget, Error, Identity, Kind, Timestamp};
use semel_http::RequestObserver as _;
use semel_http::event::{Event, What};
use semel_inbox::source::SourceView;
use semel_inbox::{AttemptEnd, Observer as _};

use super::*;
use crate::tokens::{Grant, Name, Token, Tokens};

/// Every number, by the name of what it is.
fn numbers(readings: Readings) -> Vec<(&'static str, String)> {
    // By its fields, so that a new one is not forgotten here.
    let Readings {
        store,
        claims,
        claims_running,
        late,
        look_ups,
        sweep_failures,
        last_swept,
        sweep_behind,
        clock_jump,
        unguarded,
        traffic,
        budgets,
        certificates,
        tokens,
        reload_ok,
        consumers,
        stale,
        sources_not_read,
        said,
    } = readings;
    vec![
        ("up", store.up.to_string()),
        ("bytes", store.bytes.to_string()),
        ("unknown", store.unknown.to_string()),
        ("oldest running", store.oldest_running.to_string()),
        ("claims", claims.to_string()),
        ("claims running", claims_running.to_string()),
        ("late", late.to_string()),
        ("look-ups", look_ups.total().to_string()),
        ("sweep failures", sweep_failures.to_string()),
        ("last swept", last_swept.is_some().to_string()),
        ("sweep behind", sweep_behind.is_some().to_string()),
        ("clock jump", clock_jump.to_string()),
        ("unguarded", unguarded.to_string()),
        ("traffic", format!("{traffic:?}")),
        ("budgets", format!("{budgets:?}")),
        ("certificates", format!("{certificates:?}")),
        ("tokens", format!("{tokens:?}")),
        ("reload ok", reload_ok.to_string()),
        ("consumers", format!("{consumers:?}")),
        ("stale", format!("{stale:?}")),
        ("sources not read", format!("{sources_not_read:?}")),
        (
            "said",
            format!("{:?}", said.iter().map(by_name).collect::<Vec<_>>()),
        ),
    ]
}

fn by_name(said: &(Scope, &'static str, bool)) -> (String, &'static str, bool) {
    (said.0.to_string(), said.1, said.2)
}

/// What is reported, and the numbers that are others then.
type Case = (fn(&Metrics), &'static [(&'static str, &'static str)]);

fn message() -> Message {
    let identity = Identity::parse("public", "mail", "id").unwrap();
    Message::new(identity, "").unwrap()
}

fn ended(state: State, cause: Option<Cause>, late: bool) -> AttemptEnd {
    AttemptEnd {
        state,
        cause,
        took: Duration::ZERO,
        late,
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn scope(name: &str) -> Scope {
    name.parse().unwrap()
}

const OF_STORE: &[Case] = &[
    (|metrics| metrics.store_is_up(false), &[("up", "false")]),
    (
        |metrics| {
            let stats = Stats {
                bytes: Some(7),
                ..Stats::default()
            };
            metrics.gauges.set(&stats, at(0));
        },
        &[("bytes", "7")],
    ),
    (
        |metrics| {
            let stats = Stats {
                unknown: 3,
                settled: 5,
                oldest_unknown: Some(at(9)),
                ..Stats::default()
            };
            metrics.gauges.set(&stats, at(10));
        },
        &[("unknown", "3")],
    ),
    (
        |metrics| {
            let stats = Stats {
                running: 2,
                oldest_running: Some(at(6)),
                ..Stats::default()
            };
            metrics.gauges.set(&stats, at(10));
        },
        &[("oldest running", "4")],
    ),
    (
        |metrics| metrics.verbs.met(Met::Granted),
        &[("claims", "1")],
    ),
    (
        |metrics| metrics.verbs.met(Met::Running),
        &[("claims", "1"), ("claims running", "1")],
    ),
    (|metrics| metrics.verbs.met(Met::Late), &[("late", "1")]),
    (|metrics| metrics.verbs.met(Met::Succeeded), &[]),
    (
        |metrics| metrics.verbs.called(Verb::Claim, 1, Duration::ZERO),
        &[("look-ups", "1")],
    ),
    (
        |metrics| metrics.verbs.called(Verb::Settle, 1, Duration::ZERO),
        &[],
    ),
    (
        |metrics| metrics.swept(Err(&Error::new(Kind::Unavailable, "away"))),
        &[("sweep failures", "1"), ("last swept", "true")],
    ),
    (
        |metrics| {
            metrics.swept(Ok(&Swept {
                more: true,
                ..Swept::default()
            }));
        },
        &[("last swept", "true"), ("sweep behind", "true")],
    ),
    (
        |metrics| metrics.swept_elsewhere(),
        &[("last swept", "true")],
    ),
    (
        |metrics| metrics.expect_sweep("outcomes"),
        &[("last swept", "true")],
    ),
    (
        |metrics| {
            metrics.clock_doubted(Some(Doubt {
                by: Duration::from_secs(120),
                since: at(0),
            }));
        },
        &[("clock jump", "120")],
    ),
];

const OF_PROCESS: &[Case] = &[
    (
        |metrics| metrics.saw_unguarded(&axum::http::Method::POST),
        &[("unguarded", "1")],
    ),
    (
        |metrics| {
            let scope = scope("pay");
            for what in [What::Replayed, What::Passed] {
                metrics.saw(&Event {
                    scope: &scope,
                    identity: None,
                    what,
                    status: 200,
                    took: Duration::ZERO,
                });
            }
        },
        &[("traffic", r#"[("pay@1", 2, 1)]"#)],
    ),
    (
        |metrics| metrics.watch_budget("runs", &Budget::new(4)),
        &[("budgets", r#"[("runs", 0.0)]"#)],
    ),
    (
        |metrics| metrics.watch_certificate("gateway", || Some(5)),
        &[("certificates", r#"[("gateway", 5.0)]"#)],
    ),
    (
        |metrics| {
            let secret = crate::Secret::new("a-token-that-is-long-enough").unwrap();
            let name: Name = "ci".parse().unwrap();
            let token = Token::new(name, secret, Grant::Read).unwrap();
            metrics.set_tokens(&Tokens::new([token.until(at(6))]).unwrap());
        },
        &[("tokens", r#"[("ci", 6.0)]"#)],
    ),
    (
        |metrics| metrics.reloaded(Err(())),
        &[("reload ok", "false")],
    ),
];

const OF_CONSUMERS: &[Case] = &[
    (
        |metrics| metrics.finished(&message(), ended(State::Completed, None, true)),
        &[(
            "consumers",
            r#"[WatchedConsumer { consumer: "mail@1", late: 1, terminal: 0, forced: 0 }]"#,
        )],
    ),
    (
        |metrics| {
            let end = ended(State::FailedTerminal, Some(Cause::Terminal), false);
            metrics.finished(&message(), end);
        },
        &[(
            "consumers",
            r#"[WatchedConsumer { consumer: "mail@1", late: 0, terminal: 1, forced: 0 }]"#,
        )],
    ),
    (
        |metrics| metrics.replayed(&message(), false),
        &[(
            "consumers",
            r#"[WatchedConsumer { consumer: "mail@1", late: 0, terminal: 0, forced: 1 }]"#,
        )],
    ),
    (
        |metrics| {
            let counts = Counts {
                in_progress: 3,
                stale: 2,
                ..Counts::none(scope("mail"))
            };
            metrics.inbox.set(&[counts], at(0));
        },
        &[("stale", r#"[("mail@1", 2)]"#)],
    ),
    (
        |metrics| {
            let view = SourceView::new("orders", scope("mail"));
            metrics.watch_sources(Some(Box::new(move || vec![view.clone()])));
        },
        &[("sources not read", r#"[("mail@1", 1)]"#)],
    ),
    (
        |metrics| metrics.alert(&scope("mail"), "parked", true),
        &[("said", r#"[("mail@1", "parked", true)]"#)],
    ),
];

#[test]
fn each_report_changes_its_own_number_and_no_other() {
    let nothing = numbers(Metrics::new().readings());
    for (at, (report, changed)) in [OF_STORE, OF_PROCESS, OF_CONSUMERS]
        .concat()
        .into_iter()
        .enumerate()
    {
        let metrics = Metrics::new();
        report(&metrics);
        let found = numbers(metrics.readings());
        for ((name, before), (_, now)) in nothing.iter().zip(&found) {
            let expected = changed.iter().find(|(changed, _)| changed == name);
            let expected = expected.map_or(before.as_str(), |(_, expected)| expected);
            assert_eq!(now, expected, "{name} after the report {at} of {changed:?}");
        }
    }
    let all = [OF_STORE, OF_PROCESS, OF_CONSUMERS].concat();
    for (name, _) in &nothing {
        let mut reported = all.iter().flat_map(|(_, changed)| *changed);
        assert!(reported.any(|(changed, _)| changed == name), "{name}");
    }
}

#[test]
fn consumers_beyond_the_limit_are_judged_as_one() {
    let metrics = Metrics::new();
    for n in 0..super::super::CONSUMERS_MAX + 2 {
        let identity = Identity::parse("public", &format!("mail-{n}"), "id").unwrap();
        let message = Message::new(identity, "").unwrap();
        metrics.finished(&message, ended(State::Completed, None, true));
    }
    let consumers = metrics.readings().consumers;
    let other = consumers.iter().find(|one| &*one.consumer == "other");
    assert_eq!(other.map(|one| one.late), Some(2));
}

#[test]
fn what_is_measured_is_shown_with_its_value() {
    let metrics = Metrics::new();
    let stats = Stats {
        oldest_running: Some(at(6)),
        oldest_unknown: Some(at(3)),
        ..Stats::default()
    };
    metrics.gauges.set(&stats, at(10));
    for _ in 0..2 {
        metrics.swept(Ok(&Swept {
            deleted: 1,
            archived: 2,
            events_deleted: 3,
            ..Swept::default()
        }));
    }
    metrics.process.show_jwks((4, 5));
    let text = metrics.text();
    for line in [
        "semel_oldest_seconds{state=\"running\"} 4.0",
        "semel_oldest_seconds{state=\"unknown\"} 7.0",
        "semel_swept_total{kind=\"deleted\"} 2",
        "semel_swept_total{kind=\"archived\"} 4",
        "semel_swept_total{kind=\"events-deleted\"} 6",
        "semel_jwks_loads_total{result=\"ok\"} 4",
        "semel_jwks_loads_total{result=\"failed\"} 5",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
    }
}
