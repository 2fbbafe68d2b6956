//! Where a record stands, in words.

use semel_admin::view::status;
use semel_core::outcome::Settled;
use semel_core::record::UnknownCause;
use semel_core::{Evidence, Outcome, Record, State, Timestamp, Verdict, duration};

use crate::text;

/// A clause that goes on from the identity: `… is running, and its lease ends in 12s`.
pub(crate) fn clause(record: &Record, now: Timestamp) -> String {
    match &record.state {
        State::Running { lease_until } => {
            let left = lease_until.since(now);
            format!("is running, and its lease ends in {}", duration::show(left))
        }
        State::Unknown {
            since,
            cause,
            evidence,
        } => {
            let passed = duration::show(now.since(*since));
            format!(
                "has been unknown for {passed}: {}",
                why(*cause, evidence.as_ref())
            )
        }
        State::Settled(settled) => {
            let when = text::ago(settled.at, now);
            format!(
                "{} {when}{}",
                settled.outcome.verdict.name(),
                with_status(settled)
            )
        }
    }
}

/// A few words about a record: `unknown, POST /payments, claimed 5h ago`.
pub(crate) fn brief(record: &Record, now: Timestamp) -> String {
    let about = record.about.as_ref();
    let about = about.map(|_| text::request(record));
    let claimed = format!("claimed {}", text::ago(record.claimed_at, now));
    let words = [Some(record.state.name().to_owned()), about, Some(claimed)];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What duplicates over HTTP get of an outcome: `200 with an empty body`.
pub(crate) fn replayed(outcome: &Outcome) -> String {
    let status = semel_http::replay::status(outcome).as_u16();
    match outcome.body.len() {
        0 => format!("{status} with an empty body"),
        bytes => format!("{status} with a body of {}", text::bytes(bytes)),
    }
}

fn with_status(settled: &Settled) -> String {
    status(&settled.outcome).map_or(String::new(), |status| format!(" with status {status}"))
}

/// Why the outcome is unknown: what its owner could still say, or how it ended.
pub(crate) fn why(cause: UnknownCause, evidence: Option<&Evidence>) -> String {
    if let Some(evidence) = evidence {
        return text::printable(&evidence.to_string());
    }
    match cause {
        UnknownCause::LeaseEnded => "the lease ended without an outcome",
        UnknownCause::RunUndecided => "the run could not tell whether it took effect",
        UnknownCause::RunPanicked => "the run panicked",
    }
    .to_owned()
}

/// An outcome in a few words: `succeeded, status 201, 27 B`.
pub(crate) fn summary(outcome: &Outcome) -> String {
    let verdict = match outcome.verdict {
        Verdict::Succeeded => "succeeded",
        Verdict::Failed => "failed",
    };
    let status = status(outcome).map_or(String::new(), |status| format!(", status {status}"));
    let body = match outcome.body.len() {
        0 => "no body".to_owned(),
        bytes => text::bytes(bytes),
    };
    format!("{verdict}{status}, {body}")
}
