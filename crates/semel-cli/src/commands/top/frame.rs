//! What is shown of a process: rates between two samples, and how it stands at the second.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::Value;

use super::sample::Sample;
use super::series::{Id, Series};
use crate::commands::ask::Address;

/// So many scopes and consumers are shown at most.
const ROWS_MAX: usize = 1_000;

/// All that is shown.
#[derive(Debug, Default, Serialize)]
pub(super) struct Frame {
    pub(super) address: String,
    pub(super) ready: bool,
    /// What readiness says that is worth knowing.
    pub(super) troubles: Vec<String>,
    pub(super) requests: Requests,
    pub(super) messages: Messages,
    pub(super) records: Records,
    /// The busiest first.
    pub(super) scopes: Vec<Scope>,
    /// Those with dead letters and backlog first.
    pub(super) consumers: Vec<Consumer>,
    pub(super) sources: Vec<Source>,
}

/// Guarded and observed requests, per second.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub(super) struct Requests {
    pub(super) per_second: f64,
    pub(super) replayed_per_second: f64,
    /// Their outcome became unknown, or was.
    pub(super) unknown_per_second: f64,
    /// Answered with another problem.
    pub(super) refused_per_second: f64,
}

/// Messages, per second.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub(super) struct Messages {
    pub(super) received_per_second: f64,
    pub(super) duplicates_per_second: f64,
}

/// Records in the store.
#[derive(Debug, Default, Serialize)]
pub(super) struct Records {
    pub(super) running: u64,
    pub(super) unknown: u64,
    pub(super) settled: u64,
    pub(super) late_outcomes: u64,
    pub(super) bytes: Option<u64>,
}

/// One scope.
#[derive(Debug, Serialize)]
pub(super) struct Scope {
    pub(super) scope: String,
    #[serde(flatten)]
    pub(super) requests: Requests,
}

/// One consumer or sender of intents.
#[derive(Debug, Serialize)]
pub(super) struct Consumer {
    pub(super) consumer: String,
    #[serde(flatten)]
    pub(super) messages: Messages,
    pub(super) pending: u64,
    pub(super) oldest_pending_ms: Option<u64>,
    /// Parked or failed for good.
    pub(super) dead: u64,
    /// Whether there may be more than these two numbers say.
    pub(super) at_least: bool,
    pub(super) circuit: String,
    pub(super) paused: bool,
}

/// One source at a broker.
#[derive(Debug, Serialize)]
pub(super) struct Source {
    pub(super) source: String,
    pub(super) reading: bool,
    pub(super) lag: Option<f64>,
}

impl Frame {
    pub(super) fn of(address: &Address, before: Option<&Sample>, now: &Sample) -> Self {
        let rates = Rates::new(before, now);
        let scopes = rates.scopes();
        let all = |one: fn(&Requests) -> f64| -> f64 {
            scopes.iter().map(|row| one(&row.requests)).sum()
        };
        let consumers = consumers(&rates);
        let every = |one: fn(&Messages) -> f64| -> f64 {
            consumers.iter().map(|row| one(&row.messages)).sum()
        };
        Self {
            address: address.to_string(),
            ready: now.readiness["ready"] == true,
            troubles: troubles(&now.readiness),
            requests: Requests {
                per_second: all(|row| row.per_second),
                replayed_per_second: all(|row| row.replayed_per_second),
                unknown_per_second: all(|row| row.unknown_per_second),
                refused_per_second: all(|row| row.refused_per_second),
            },
            messages: Messages {
                received_per_second: every(|row| row.received_per_second),
                duplicates_per_second: every(|row| row.duplicates_per_second),
            },
            records: Records {
                running: number(&now.stats["running"]),
                unknown: number(&now.stats["unknown"]),
                settled: number(&now.stats["settled"]),
                late_outcomes: number(&now.stats["late_outcomes"]),
                bytes: now.stats["bytes"].as_u64(),
            },
            scopes,
            sources: sources(&now.series),
            consumers,
        }
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Every part that is not ready, or has something to say.
fn troubles(readiness: &Value) -> Vec<String> {
    let parts = rows(&readiness["parts"]).iter();
    let parts = parts.chain(rows(&readiness["upstreams"]));
    let said = parts.filter_map(|part| {
        let why = part["why"].as_str()?;
        Some(format!("{}: {why}", part["name"].as_str()?))
    });
    said.collect()
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Became {
    /// The service answered it.
    Answered,
    Replayed,
    Unknown,
    Refused,
}

impl Became {
    /// By the name in metrics. The dashboard counts one that timed out or broke off among the unknown ones, too: it may have taken effect.
    fn of(outcome: &str) -> Self {
        match outcome {
            "replayed" => Self::Replayed,
            "unknown" | "outcome-unknown" | "upstream-failed" | "upstream-timeout" => Self::Unknown,
            "passed" | "ran" | "released" | "late" | "not-recorded" => Self::Answered,
            observed if observed.starts_with("observed") => Self::Answered,
            _ => Self::Refused,
        }
    }
}

/// Counters at two moments.
struct Rates<'a> {
    /// The values before, and for how many seconds they have grown; nothing without a moment before.
    before: Option<(HashMap<Id<'a>, f64>, f64)>,
    now: &'a Sample,
}

impl<'a> Rates<'a> {
    fn new(before: Option<&'a Sample>, now: &'a Sample) -> Self {
        let before = before.map(|before| {
            let values = before.series.iter().map(|one| (one.id(), one.value));
            (values.collect(), (now.at - before.at).as_secs_f64())
        });
        Self { before, now }
    }

    /// Per second; nothing without a moment before, and all of it if the process began anew.
    fn of(&self, series: &Series) -> f64 {
        let Some((before, seconds)) = &self.before else {
            return 0.0;
        };
        let known = before.get(&series.id()).copied().unwrap_or(0.0);
        let more = match series.value >= known {
            true => series.value - known,
            false => series.value,
        };
        if *seconds > 0.0 { more / seconds } else { 0.0 }
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &'a Series> {
        self.now.series.iter().filter(move |one| one.name == name)
    }

    fn scopes(&self) -> Vec<Scope> {
        let mut scopes = BTreeMap::<&str, Requests>::new();
        for series in self.named("semel_requests_total") {
            let (row, rate) = (
                scopes.entry(series.label("scope")).or_default(),
                self.of(series),
            );
            row.per_second += rate;
            match Became::of(series.label("outcome")) {
                Became::Answered => {}
                Became::Replayed => row.replayed_per_second += rate,
                Became::Unknown => row.unknown_per_second += rate,
                Became::Refused => row.refused_per_second += rate,
            }
        }
        let scopes = scopes.into_iter();
        let mut scopes: Vec<_> = scopes
            .map(|(scope, requests)| Scope {
                scope: scope.to_owned(),
                requests,
            })
            .collect();
        scopes.sort_by(|one, other| {
            other
                .requests
                .per_second
                .total_cmp(&one.requests.per_second)
        });
        scopes.truncate(ROWS_MAX);
        scopes
    }

    /// By consumer.
    fn messages(&self) -> HashMap<&'a str, Messages> {
        let mut all = HashMap::<&str, Messages>::new();
        for series in self.named("semel_inbox_received_total") {
            let row = all.entry(series.label("consumer")).or_default();
            row.received_per_second += self.of(series);
        }
        for series in self.named("semel_inbox_duplicates_total") {
            let row = all.entry(series.label("consumer")).or_default();
            row.duplicates_per_second += self.of(series);
        }
        all
    }
}

fn consumers(rates: &Rates<'_>) -> Vec<Consumer> {
    let messages = rates.messages();
    let one = |counts: &Value| {
        let name = counts["consumer"].as_str().unwrap_or_default();
        Consumer {
            consumer: name.to_owned(),
            messages: messages.get(name).copied().unwrap_or_default(),
            pending: number(&counts["pending"]),
            oldest_pending_ms: counts["oldest_pending"]["age_ms"].as_u64(),
            dead: number(&counts["parked"]) + number(&counts["failed_terminal"]),
            at_least: counts["at_least"] == true,
            circuit: counts["circuit"].as_str().unwrap_or("-").to_owned(),
            paused: !counts["paused"].is_null(),
        }
    };
    let mut all: Vec<_> = rows(&rates.now.counts["consumers"])
        .iter()
        .map(one)
        .collect();
    all.sort_by_key(|row| std::cmp::Reverse((row.dead, row.pending)));
    all.truncate(ROWS_MAX);
    all
}

fn sources(series: &[Series]) -> Vec<Source> {
    let named = |name| series.iter().filter(move |one: &&Series| one.name == name);
    let lags = named("semel_source_lag").map(|lag| (lag.label("source"), lag.value));
    let lags: HashMap<&str, f64> = lags.collect();
    let rows = named("semel_source_reading").map(|one| {
        let name = one.label("source");
        Source {
            source: name.to_owned(),
            reading: one.value > 0.0,
            lag: lags.get(name).copied(),
        }
    });
    rows.take(ROWS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use semel_core::once::Recorded;
    use semel_http::event::What;
    use semel_http::observe::Finding;
    use semel_http::problem::Type;
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::commands::ask::Trust;

    fn sample(at: Instant, ran: u64, replayed: u64) -> Sample {
        let text = format!(
            "semel_requests_total{{scope=\"a@1\",outcome=\"ran\",status=\"2xx\"}} {ran}\n\
             semel_requests_total{{scope=\"a@1\",outcome=\"replayed\",status=\"2xx\"}} {replayed}\n\
             semel_inbox_received_total{{consumer=\"b@1\",event_type=\"none\"}} {ran}\n"
        );
        Sample {
            at,
            readiness: json!({ "ready": true, "parts": [{ "name": "clock", "ready": true, "why": "jumped" }] }),
            stats: json!({ "unknown": 3, "bytes": 7 }),
            counts: json!({ "consumers": [{ "consumer": "b@1", "pending": 2, "parked": 1, "failed_terminal": 4,
                "circuit": "open", "paused": null, "oldest_pending": { "age_ms": 5 } }] }),
            series: Series::all(&text),
        }
    }

    #[test]
    fn only_what_was_refused_counts_as_refused() {
        for (what, became) in [
            (What::Passed, Became::Answered),
            (What::Ran(Recorded::Settled), Became::Answered),
            (What::Ran(Recorded::Released), Became::Answered),
            (What::Ran(Recorded::Late), Became::Answered),
            (What::Ran(Recorded::NotYet), Became::Answered),
            (What::Ran(Recorded::NotRecorded), Became::Answered),
            (What::Ran(Recorded::Unknown), Became::Unknown),
            (What::Refused(Type::OutcomeUnknown), Became::Unknown),
            (What::Refused(Type::UpstreamFailed), Became::Unknown),
            (What::Refused(Type::UpstreamTimeout), Became::Unknown),
            (What::Refused(Type::UpstreamUnreachable), Became::Refused),
            (What::Refused(Type::KeyReused), Became::Refused),
            (What::Replayed, Became::Replayed),
            (What::Observed(Finding::Duplicate), Became::Answered),
        ] {
            assert_eq!(Became::of(what.name()), became, "{what:?}");
        }
    }

    #[test]
    fn rates_are_differences_and_a_process_that_began_anew_starts_from_zero() {
        let then = Instant::now();
        let now = then + Duration::from_secs(2);
        let address = Address::Url("http://a".to_owned(), Trust::Machine);
        let frame = Frame::of(&address, Some(&sample(then, 10, 9)), &sample(now, 14, 6));
        assert_eq!(frame.requests.per_second, 5.0);
        assert_eq!(frame.requests.replayed_per_second, 3.0);
        assert_eq!(frame.consumers[0].messages.received_per_second, 2.0);
        assert_eq!((frame.consumers[0].dead, frame.records.unknown), (5, 3));
        assert_eq!(frame.troubles, ["clock: jumped"]);
        let first = Frame::of(&address, None, &sample(now, 14, 6));
        assert_eq!(first.requests.per_second, 0.0);
    }
}
