//! All alerts, as data. `for` and the windows are the same inside and in the expressions for Prometheus.

use std::time::Duration;

use semel_inbox::alerts as engine;

use super::rule::{About, Bound, Judge, Rule, Severity};
use super::unit::Unit;
use super::values;
use crate::inbox::UNSERVED;

const NOW: Duration = Duration::ZERO;
const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}
const RATE: Duration = minutes(5);
const LATELY: Duration = minutes(60);
const DAY: f64 = 86_400.0;

/// By how much a counter has grown in the last hour, as an expression for Prometheus.
///
/// `increase` does not see the value that a series begins with, and these begin with the first event. So a series that is new counts in full: one that
/// was not there an hour ago although its process was, or that was not there in the day before that either. A series with a gap, because a scrape
/// failed, is neither: an hour after the gap its process was not there, and it was there before.
macro_rules! grown_in_an_hour {
    ($series:literal) => {
        concat!(
            "(((",
            $series,
            " unless ",
            $series,
            " offset 1h) and on (instance) semel_store_up offset 1h) or (",
            $series,
            " unless last_over_time(",
            $series,
            "[1d] offset 1h)) or increase(",
            $series,
            "[1h]))",
        )
    };
}

/// An alert that the engine judges by the policy of each consumer.
const fn of_policies(
    name: &'static str,
    severity: Severity,
    summary: &'static str,
    expression: &'static str,
) -> Rule {
    let measures = "1 while the condition of the consumer's policy holds";
    Rule {
        judge: Judge::Policies,
        ..of_engine(name, severity, summary, measures, expression)
    }
}

/// An alert about something that is so or not, which no policy decides.
const fn of_engine(
    name: &'static str,
    severity: Severity,
    summary: &'static str,
    measures: &'static str,
    expression: &'static str,
) -> Rule {
    Rule {
        name,
        severity,
        about: About::Consumer,
        summary,
        measures,
        bound: Bound::Above(0.0),
        unit: Unit::Count,
        lasts: NOW,
        expression,
        judge: Judge::Engine,
    }
}

/// All alerts, the worst first.
pub const RULES: &[Rule] = &[
    Rule {
        name: "store-away",
        severity: Severity::Critical,
        about: About::Store,
        summary: "The store does not answer: nothing runs, callers get 503 and messages are not acknowledged",
        measures: "1 while the store does not both read and write for readiness",
        bound: Bound::Above(0.0),
        unit: Unit::Count,
        lasts: Duration::from_secs(30),
        expression: "(1 - semel_store_up) > {threshold}",
        judge: Judge::Admin(NOW, values::store_away),
    },
    Rule {
        name: "side-effect-duplicate",
        severity: Severity::Critical,
        about: About::Process,
        summary: "An outcome came after its lease was lost: the effect may have happened twice",
        measures: "late outcomes of operations and messages in the last hour",
        bound: Bound::Above(0.0),
        unit: Unit::Count,
        lasts: NOW,
        expression: concat!(
            "(sum by (instance) ",
            grown_in_an_hour!("semel_store_answers_total{verb=\"settle\",answer=\"late\"}"),
            " > {threshold}) or (sum by (instance) ",
            grown_in_an_hour!("semel_inbox_claims_total{status=\"late\"}"),
            " > {threshold})",
        ),
        judge: Judge::Admin(LATELY, values::late),
    },
    Rule {
        name: "clock-jump",
        severity: Severity::Critical,
        about: About::Store,
        summary: "The clock jumped ahead of the store's time: retention is prolonged until the jump is explained",
        measures: "how far it jumped",
        bound: Bound::Above(0.0),
        unit: Unit::Seconds,
        lasts: NOW,
        expression: "semel_store_clock_jump_seconds > {threshold}",
        judge: Judge::Admin(NOW, values::clock_jump),
    },
    Rule {
        name: "unknown-waiting",
        severity: Severity::Warning,
        about: About::Store,
        summary: "Operations whose outcome is unknown wait for a decision",
        measures: "unknown records",
        bound: Bound::Above(0.0),
        unit: Unit::Count,
        lasts: minutes(5),
        expression: "semel_records{state=\"unknown\"} > {threshold}",
        judge: Judge::Admin(NOW, values::unknown),
    },
    Rule {
        name: "running-long",
        severity: Severity::Warning,
        about: About::Store,
        summary: "An operation has been running for long: its duplicates wait or are refused meanwhile",
        measures: "how long the oldest operation has been running",
        bound: Bound::Above(900.0),
        unit: Unit::Seconds,
        lasts: NOW,
        expression: "semel_oldest_seconds{state=\"running\"} > {threshold}",
        judge: Judge::Admin(NOW, values::oldest_running),
    },
    Rule {
        name: "duplicate-rate",
        severity: Severity::Warning,
        about: About::Route,
        summary: "Many requests of a route are duplicates",
        measures: "the share of duplicates among at least 20 requests in 5 minutes",
        bound: Bound::Above(0.1),
        unit: Unit::Share,
        lasts: minutes(5),
        expression: "(sum by (instance, scope) (rate(semel_requests_total{outcome=~\"replayed|in-progress\"}[5m])) \
                     / sum by (instance, scope) (rate(semel_requests_total[5m])) > {threshold}) \
                     and (sum by (instance, scope) (increase(semel_requests_total[5m])) >= 20)",
        judge: Judge::Admin(RATE, values::duplicates),
    },
    Rule {
        name: "lookup-slow",
        severity: Severity::Warning,
        about: About::Store,
        summary: "Looking operations up in the store is slow",
        measures: "what 95 % of at least 20 claims and look-ups in 5 minutes did not exceed",
        bound: Bound::Above(0.1),
        unit: Unit::Seconds,
        lasts: minutes(5),
        expression: "(histogram_quantile(0.95, sum by (instance, le) (rate(semel_store_seconds_bucket{verb=~\"claim|look-up\"}[5m]))) > {threshold}) \
                     and (sum by (instance) (increase(semel_store_seconds_count{verb=~\"claim|look-up\"}[5m])) >= 20)",
        judge: Judge::Admin(RATE, values::look_up),
    },
    Rule {
        name: "lock-conflicts",
        severity: Severity::Warning,
        about: About::Store,
        summary: "Many claims find their operation running: duplicates come at the same time as their originals",
        measures: "the share of at least 100 claims in 5 minutes that found the operation running",
        bound: Bound::Above(0.01),
        unit: Unit::Share,
        lasts: minutes(5),
        expression: "(sum by (instance) (rate(semel_store_answers_total{verb=\"claim\",answer=\"running\"}[5m])) \
                     / sum by (instance) (rate(semel_store_answers_total{verb=\"claim\"}[5m])) > {threshold}) \
                     and (sum by (instance) (increase(semel_store_answers_total{verb=\"claim\"}[5m])) >= 100)",
        judge: Judge::Admin(RATE, values::conflicts),
    },
    Rule {
        name: "store-large",
        severity: Severity::Warning,
        about: About::Store,
        summary: "The store has grown large",
        measures: "its size on disk, where the store can tell",
        bound: Bound::Above(1e9),
        unit: Unit::Bytes,
        lasts: minutes(5),
        expression: "semel_store_bytes > {threshold}",
        judge: Judge::Admin(NOW, values::bytes),
    },
    Rule {
        name: "sweep-failing",
        severity: Severity::Warning,
        about: About::Store,
        summary: "The sweep cannot remove what retention no longer protects: the store grows",
        measures: "steps of the sweep that failed in the last hour",
        bound: Bound::Above(0.0),
        unit: Unit::Count,
        lasts: NOW,
        expression: "increase(semel_sweeps_failed_total[1h]) > {threshold}",
        judge: Judge::Admin(LATELY, values::sweep_failures),
    },
    Rule {
        name: "sweep-behind",
        severity: Severity::Warning,
        about: About::Store,
        summary: "The sweep has not taken a step for long, or each of its steps has left something: the store grows",
        measures: "how long ago the store's own sweep took a step, or for how long each step has left something",
        bound: Bound::Above(3_600.0),
        unit: Unit::Seconds,
        lasts: NOW,
        expression: "((time() - semel_sweep_last_timestamp_seconds) > {threshold}) \
                     or ((time() - semel_sweep_behind_timestamp_seconds) > {threshold})",
        judge: Judge::Admin(NOW, values::sweep_lag),
    },
    Rule {
        name: "budget-full",
        severity: Severity::Warning,
        about: About::Process,
        summary: "A budget is nearly used up: what does not fit gets 503",
        measures: "the share of the budget that is used",
        bound: Bound::Above(0.9),
        unit: Unit::Share,
        lasts: minutes(2),
        expression: "(semel_budget_used / semel_budget_limit) > {threshold}",
        judge: Judge::Admin(NOW, values::budgets),
    },
    Rule {
        name: "unguarded-requests",
        severity: Severity::Warning,
        about: About::Process,
        summary: "Requests with a key match no route: a retry of theirs takes effect again",
        measures: "such requests in the last hour",
        bound: Bound::Above(0.0),
        unit: Unit::Count,
        lasts: NOW,
        expression: concat!(
            "sum by (instance) ",
            grown_in_an_hour!("semel_unguarded_keyed_requests_total"),
            " > {threshold}",
        ),
        judge: Judge::Admin(LATELY, values::unguarded),
    },
    Rule {
        name: "certificate-expiring",
        severity: Severity::Warning,
        about: About::Process,
        summary: "The certificate of a port ends soon",
        measures: "how long it is still valid",
        bound: Bound::Below(14.0 * DAY),
        unit: Unit::Seconds,
        lasts: NOW,
        expression: "(semel_certificate_expiry_timestamp_seconds - time()) < {threshold}",
        judge: Judge::Admin(NOW, values::certificates),
    },
    Rule {
        name: "token-expiring",
        severity: Severity::Warning,
        about: About::Process,
        summary: "A token of the admin side ends soon, or has ended and is still configured",
        measures: "how long it is still taken",
        bound: Bound::Below(14.0 * DAY),
        unit: Unit::Seconds,
        lasts: NOW,
        expression: "(semel_token_expiry_timestamp_seconds - time()) < {threshold}",
        judge: Judge::Admin(NOW, values::tokens),
    },
    Rule {
        name: "reload-failed",
        severity: Severity::Warning,
        about: About::Process,
        summary: "The configuration file on disk could not be taken over: the process runs with an older one",
        measures: "1 until a reload succeeds",
        bound: Bound::Above(0.0),
        unit: Unit::Count,
        lasts: NOW,
        expression: "(1 - semel_reload_ok) > {threshold}",
        judge: Judge::Admin(NOW, values::reload_failed),
    },
    Rule {
        name: "stale-in-progress",
        severity: Severity::Warning,
        about: About::Consumer,
        summary: "Messages are in progress whose lease has ended: workers were lost, and no other takes the messages over",
        measures: "messages in progress without a lease",
        bound: Bound::Above(0.0),
        unit: Unit::Count,
        lasts: minutes(2),
        expression: "semel_inbox_stale > {threshold}",
        judge: Judge::Admin(NOW, values::stale),
    },
    Rule {
        name: "source-not-read",
        severity: Severity::Warning,
        about: About::Consumer,
        summary: "A source of a consumer is not read: it, its broker or the store is away, or its broker refuses it",
        measures: "sources of the consumer that are not read",
        bound: Bound::Above(0.0),
        unit: Unit::Count,
        lasts: minutes(2),
        expression: "sum by (instance, consumer) (1 - semel_source_reading) > {threshold}",
        judge: Judge::Admin(NOW, values::sources),
    },
    Rule {
        name: "replay-forced",
        severity: Severity::Warning,
        about: About::Consumer,
        summary: "Messages were replayed to a consumer whose policy does not allow it, because its effects reach others",
        measures: "messages that were claimed for a forced replay in the last hour",
        bound: Bound::Above(0.0),
        unit: Unit::Count,
        lasts: NOW,
        expression: concat!(
            "sum by (instance, consumer) ",
            grown_in_an_hour!("semel_inbox_replays_total{policy=\"forced\"}"),
            " > {threshold}",
        ),
        judge: Judge::Admin(LATELY, values::replays_forced),
    },
    Rule {
        name: "terminal-failures",
        severity: Severity::Warning,
        about: About::Consumer,
        summary: "A handler refuses messages for good: a kind of event or a schema that it does not know",
        measures: "messages that a handler refused for good in the last hour",
        bound: Bound::Above(0.0),
        unit: Unit::Count,
        lasts: NOW,
        expression: concat!(
            "sum by (instance, consumer) ",
            grown_in_an_hour!("semel_inbox_failures_total{reason=\"terminal\"}"),
            " > {threshold}",
        ),
        judge: Judge::Admin(LATELY, values::terminal),
    },
    of_engine(
        UNSERVED,
        Severity::Warning,
        "Messages wait for a consumer that the configuration does not name: nothing runs them",
        "1 while messages wait for it",
        "semel_alert{alert=\"unserved\"} > {threshold}",
    ),
    of_policies(
        engine::PENDING_AGE,
        Severity::Warning,
        "A message has been waiting for longer than its consumer's policy allows",
        "semel_alert{alert=\"pending-age\"} > {threshold}",
    ),
    of_policies(
        engine::PARKED,
        Severity::Warning,
        "Messages are parked or have failed for good and wait for a person",
        "semel_alert{alert=\"parked\"} > {threshold}",
    ),
    of_policies(
        engine::SEQUENCE_GAP,
        Severity::Warning,
        "A version is missing: later ones of its lane wait for it",
        "semel_alert{alert=\"sequence-gap\"} > {threshold}",
    ),
    of_engine(
        engine::CIRCUIT_OPEN,
        Severity::Warning,
        "The handler or provider of a consumer is away: its messages wait until it is back",
        "1 while its circuit is not closed",
        "semel_alert{alert=\"circuit-open\"} > {threshold}",
    ),
    of_policies(
        engine::DUPLICATE_SPIKE,
        Severity::Warning,
        "More than a tenth of the messages that arrive in a minute are duplicates",
        "semel_alert{alert=\"duplicate-spike\"} > {threshold}",
    ),
    of_engine(
        engine::PAUSED,
        Severity::Info,
        "A person has paused a consumer: it receives messages and runs none",
        "1 while it is paused",
        "semel_alert{alert=\"paused\"} > {threshold}",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_slugs_and_every_expression_has_its_threshold() {
        let mut names = BTreeSet::new();
        for rule in RULES {
            let is_slug = rule
                .name
                .bytes()
                .all(|byte| byte == b'-' || byte.is_ascii_lowercase());
            assert!(is_slug && names.insert(rule.name), "{}", rule.name);
            assert!(rule.expression.contains("{threshold}"), "{}", rule.name);
            assert!(!rule.summary.ends_with('.'), "{}", rule.name);
        }
    }

    #[test]
    fn the_worst_stand_first() {
        assert!(RULES.is_sorted_by_key(|rule| rule.severity));
    }
}
