//! Every alert that the admin side judges fires when it should, not a moment sooner, and ends.

use std::time::Duration;

use semel_core::Timestamp;
use semel_core::store::Verb;
use tokio::time::Instant;

use super::judge::Judge;
use super::rule::Judge as By;
use super::{RULES, Rule, Settings};
use crate::Metrics;
use crate::metrics::{Readings, WatchedConsumer};

/// When a process begins that is judged, in Unix time in seconds. Later than the longest window, so that ages can be taken from it.
const BEGAN: u64 = 1_000_000;
const DAY: f64 = 86_400.0;

type Change = fn(&mut Readings, f64);

/// An alert; what makes it fire at this Unix time, what comes near it, and what ends it. What counters show stays, and ends with their window.
struct Case {
    name: &'static str,
    nearly: Change,
    wrong: Change,
    right: Change,
}

fn case(name: &'static str, nearly: Change, wrong: Change, right: Change) -> Case {
    Case {
        name,
        nearly,
        wrong,
        right,
    }
}

fn nothing(_: &mut Readings, _: f64) {}

fn look_ups(readings: &mut Readings, count: usize, took: Duration) {
    let metrics = Metrics::new();
    for _ in 0..count {
        metrics.verbs.called(Verb::Claim, 1, took);
    }
    readings.look_ups = metrics.readings().look_ups;
}

fn claims(readings: &mut Readings, all: u64, running: u64) {
    (readings.claims, readings.claims_running) = (all, running);
}

fn consumer(readings: &mut Readings, late: u64, terminal: u64, forced: u64) {
    readings.consumers = vec![WatchedConsumer {
        consumer: "mail@1".into(),
        late,
        terminal,
        forced,
    }];
}

fn traffic(readings: &mut Readings, requests: u64, duplicates: u64) {
    readings.traffic = vec![("pay@1".into(), requests, duplicates)];
}

fn of_process() -> Vec<Case> {
    vec![
        case(
            "side-effect-duplicate",
            |r, _| consumer(r, 0, 5, 5),
            |r, _| consumer(r, 1, 0, 0),
            nothing,
        ),
        case(
            "budget-full",
            |r, _| r.budgets = vec![("runs", 0.9)],
            |r, _| r.budgets = vec![("runs", 0.91)],
            |r, _| r.budgets = vec![("runs", 0.5)],
        ),
        case(
            "unguarded-requests",
            nothing,
            |r, _| r.unguarded = 1,
            nothing,
        ),
        case(
            "certificate-expiring",
            |r, now| r.certificates = vec![("admin", now + 15.0 * DAY)],
            |r, now| r.certificates = vec![("admin", now + 13.0 * DAY)],
            |r, now| r.certificates = vec![("admin", now + 90.0 * DAY)],
        ),
        case(
            "token-expiring",
            |r, now| r.tokens = vec![("ci".to_owned(), now + 15.0 * DAY)],
            |r, now| r.tokens = vec![("ci".to_owned(), now - 1.0)],
            |r, _| r.tokens.clear(),
        ),
        case(
            "reload-failed",
            nothing,
            |r, _| r.reload_ok = false,
            |r, _| r.reload_ok = true,
        ),
        case(
            "duplicate-rate",
            |r, _| traffic(r, 100, 10),
            |r, _| traffic(r, 200, 60),
            nothing,
        ),
    ]
}

fn of_store() -> Vec<Case> {
    vec![
        case(
            "store-away",
            nothing,
            |r, _| r.store.up = false,
            |r, _| r.store.up = true,
        ),
        case(
            "clock-jump",
            nothing,
            |r, _| r.clock_jump = 120.0,
            |r, _| r.clock_jump = 0.0,
        ),
        case(
            "unknown-waiting",
            nothing,
            |r, _| r.store.unknown = 1,
            |r, _| r.store.unknown = 0,
        ),
        case(
            "running-long",
            |r, _| r.store.oldest_running = 900.0,
            |r, _| r.store.oldest_running = 901.0,
            |r, _| r.store.oldest_running = 0.0,
        ),
        case(
            "lookup-slow",
            |r, _| look_ups(r, 19, Duration::from_millis(300)),
            |r, _| look_ups(r, 60, Duration::from_millis(300)),
            nothing,
        ),
        case(
            "lock-conflicts",
            |r, _| claims(r, 99, 99),
            |r, _| claims(r, 300, 110),
            nothing,
        ),
        case(
            "store-large",
            |r, _| r.store.bytes = 1_000_000_000,
            |r, _| r.store.bytes = 1_000_000_001,
            |r, _| r.store.bytes = 1_000,
        ),
        case(
            "sweep-failing",
            nothing,
            |r, _| r.sweep_failures = 1,
            nothing,
        ),
        case(
            "sweep-behind",
            |r, now| r.last_swept = Some(now - 3_600.0),
            |r, now| r.last_swept = Some(now - 3_601.0),
            |r, now| r.last_swept = Some(now),
        ),
        // It takes steps, and each leaves something.
        case(
            "sweep-behind",
            |r, now| (r.last_swept, r.sweep_behind) = (Some(now), Some(now - 3_600.0)),
            |r, now| (r.last_swept, r.sweep_behind) = (Some(now), Some(now - 3_601.0)),
            |r, _| r.sweep_behind = None,
        ),
    ]
}

fn of_consumers() -> Vec<Case> {
    vec![
        case(
            "stale-in-progress",
            |r, _| r.stale = vec![("mail@1".into(), 0)],
            |r, _| r.stale = vec![("mail@1".into(), 1)],
            |r, _| r.stale = vec![("mail@1".into(), 0)],
        ),
        case(
            "source-not-read",
            |r, _| r.sources_not_read = vec![("mail@1".to_owned(), 0)],
            |r, _| r.sources_not_read = vec![("mail@1".to_owned(), 1)],
            |r, _| r.sources_not_read = vec![("mail@1".to_owned(), 0)],
        ),
        case(
            "replay-forced",
            |r, _| consumer(r, 0, 0, 0),
            |r, _| consumer(r, 0, 0, 3),
            nothing,
        ),
        case(
            "terminal-failures",
            |r, _| consumer(r, 0, 0, 0),
            |r, _| consumer(r, 0, 1, 0),
            nothing,
        ),
    ]
}

/// One process, judged for one alert.
struct Rig {
    name: &'static str,
    judge: Judge,
    readings: Readings,
    began: Instant,
    at: u64,
}

impl Rig {
    fn new(name: &'static str) -> Self {
        let mut readings = Metrics::new().readings();
        readings.store.up = true;
        let began = Instant::now();
        Self {
            name,
            judge: Judge::new(readings.clone(), began),
            readings,
            began,
            at: 0,
        }
    }

    /// Changes the readings and judges them, with this alert as the only one; says what began or ended.
    fn judge(&mut self, after: Duration, change: Change) -> Vec<bool> {
        self.at += after.as_secs();
        let time = BEGAN + self.at;
        change(&mut self.readings, time as f64);
        let now = self.began + Duration::from_secs(self.at);
        let at = Timestamp::from_millis(i64::try_from(time * 1_000).unwrap());
        let settings = Settings::default();
        let changes = self
            .judge
            .judge(self.readings.clone(), &settings, (now, at));
        let own = changes
            .into_iter()
            .filter(|change| change.alert.rule == self.name);
        own.map(|change| change.alert.firing).collect()
    }
}

fn judged_by_the_admin_side() -> impl Iterator<Item = (&'static Rule, Duration)> {
    let window = |rule: &'static Rule| match rule.judge {
        By::Admin(window, _) => Some((rule, window)),
        By::Policies | By::Engine => None,
    };
    RULES.iter().filter_map(window)
}

#[test]
fn each_fires_once_its_condition_has_held_for_long_enough_and_ends_with_it() {
    let cases = [of_process(), of_store(), of_consumers()];
    let cases: Vec<Case> = cases.into_iter().flatten().collect();
    for (rule, window) in judged_by_the_admin_side() {
        let mut own = cases
            .iter()
            .filter(|case| case.name == rule.name)
            .peekable();
        assert!(own.peek().is_some(), "{} has no case", rule.name);
        for case in own {
            fires_and_ends(rule, window, case);
        }
    }
}

fn fires_and_ends(rule: &'static Rule, window: Duration, case: &Case) {
    let second = Duration::from_secs(1);
    let (name, mut rig) = (rule.name, Rig::new(rule.name));
    assert!(rig.judge(Duration::ZERO, nothing).is_empty(), "{name}");
    for after in [second, rule.lasts + second] {
        let seen = rig.judge(after, case.nearly);
        assert!(seen.is_empty(), "{name} fires too easily");
    }
    let mut seen = rig.judge(second, case.wrong);
    if !rule.lasts.is_zero() {
        assert!(seen.is_empty(), "{name} fires too soon");
        seen = rig.judge(rule.lasts, nothing);
    }
    assert_eq!(seen, [true], "{name} does not fire");
    let minute = Duration::from_secs(60);
    assert!(
        rig.judge(minute, nothing).is_empty(),
        "{name} ends too soon"
    );
    let ended = rig.judge(window + minute, case.right);
    assert_eq!(ended, [false], "{name} does not end");
}
