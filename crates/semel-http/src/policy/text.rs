//! The policy in words, for people.

use std::fmt;
use std::time::Duration;

use semel_core::duration::show;

use super::{Messages, Place, Policy, RoutePolicy, Terms};

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "idempotency policy")?;
        let header = &self.replay_header;
        writeln!(f, "answers from the record carry {header}: true")?;
        for route in &self.routes {
            writeln!(f, "\n{}", name(route))?;
            for (what, how) in lines(&route.terms) {
                writeln!(f, "  {what:<12}{how}")?;
            }
        }
        writeln!(f, "\nall other requests pass unguarded")
    }
}

fn name(route: &RoutePolicy) -> String {
    let (methods, hosts) = (route.methods.join("|"), route.hosts.join("|"));
    format!("{methods} {hosts}{}", route.path)
}

fn lines(terms: &Terms) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if terms.mode == "observe" {
        lines.push((
            "mode",
            "observe: duplicates are reported, not stopped".to_owned(),
        ));
    }
    lines.extend(terms.mcp.as_ref().map(|mcp| ("guarded", guarded(mcp))));
    let expiry = show(Duration::from_secs(terms.expiry.seconds));
    lines.extend([
        ("profile", terms.profile.to_owned()),
        ("key", key(terms)),
        ("no key", terms.key.missing.to_owned()),
        ("caller", caller(terms)),
        ("compared", compared(terms)),
        (
            "expiry",
            format!("{expiry} after the first request has ended"),
        ),
        ("replayed", or_none(&terms.responses.replayed)),
        ("released", released(terms)),
        ("running", running(terms)),
        ("unknown", unknown(terms)),
        ("refusals", refusals(terms)),
    ]);
    lines
}

fn guarded(mcp: &Messages) -> String {
    match (mcp.tools.is_empty(), mcp.except.is_empty()) {
        (true, true) => format!("{} of every tool", mcp.method),
        (false, _) => format!("{} of {}", mcp.method, mcp.tools.join(", ")),
        (true, false) => format!("{} but of {}", mcp.method, mcp.except.join(", ")),
    }
}

fn key(terms: &Terms) -> String {
    let place = |place: &Place| match &place.name {
        Some(name) => format!("{} {name}", place.at),
        None => place.at.to_owned(),
    };
    let places: Vec<_> = terms.key.places.iter().map(place).collect();
    let (min, max) = (terms.key.bytes_min, terms.key.bytes_max);
    format!("{}; {min} to {max} bytes", places.join(", else "))
}

fn caller(terms: &Terms) -> String {
    match &terms.caller.header {
        Some(header) => format!("{} ({header})", terms.caller.by),
        None => terms.caller.by.to_owned(),
    }
}

fn compared(terms: &Terms) -> String {
    let compared = &terms.compared;
    let body = match compared.fields.is_empty() {
        true => compared.body.to_owned(),
        false => format!("{} {}", compared.body, compared.fields.join(", ")),
    };
    match compared.head.is_empty() {
        true => body,
        false => format!("{}, and the body: {body}", compared.head.join(", ")),
    }
}

fn or_none(statuses: &[String]) -> String {
    match statuses.is_empty() {
        true => "no answer".to_owned(),
        false => statuses.join(" "),
    }
}

fn released(terms: &Terms) -> String {
    let responses = &terms.responses;
    match responses.released_with_retry_after.is_empty() {
        true => or_none(&responses.released),
        false => format!(
            "{}, and with Retry-After {}",
            or_none(&responses.released),
            or_none(&responses.released_with_retry_after)
        ),
    }
}

fn running(terms: &Terms) -> String {
    let status = terms.in_progress.status;
    match terms.in_progress.wait_ms {
        0 => format!("a duplicate gets {status} at once"),
        wait => {
            let wait = show(Duration::from_millis(wait));
            format!("a duplicate waits up to {wait}, then gets {status}")
        }
    }
}

fn unknown(terms: &Terms) -> String {
    match terms.unknown.status {
        Some(status) => format!(
            "{}; a duplicate gets {status} until then",
            terms.unknown.then
        ),
        None => terms.unknown.then.to_owned(),
    }
}

fn refusals(terms: &Terms) -> String {
    let refusal = |status: u16, kind: &str| {
        let name = kind.rsplit(':').next().unwrap_or_default();
        format!("{status} {name}")
    };
    let refusals = terms.problems.iter();
    let refusals = refusals.map(|problem| refusal(problem.status, &problem.kind));
    refusals.collect::<Vec<_>>().join(", ")
}
