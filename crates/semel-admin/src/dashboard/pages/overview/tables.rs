//! What stands below the charts.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use semel_core::inbox::Counts;
use semel_inbox::source::{SourceState, SourceView};

use super::super::inbox::consumers::standing;
use super::Now;
use crate::dashboard::scopes::{Counted, Scopes};
use crate::dashboard::ui::{self, Row, Table, Tone};
use crate::health::PartReadiness;
use crate::metrics::flow::{Message, Messages, Request};

/// The most scopes that are listed.
const SCOPES_SHOWN_MAX: usize = 300;

/// What cannot do its work, before everything else.
pub(super) fn broken(now: &Now<'_>) -> Markup {
    let parts = now.readiness.parts.iter().filter(|part| !part.ready);
    html! {
        @for part in parts {
            (ui::notice(Tone::Bad, html! {
                strong { (part.name) " is not ready" }
                @if let Some(why) = &part.why { ": " (why) }
            }))
        }
    }
}

pub(super) fn scopes(now: &Now<'_>) -> Markup {
    let standing = now.standing.scopes.as_ref();
    let known = now.through.scopes.keys();
    let known = known.chain(standing.into_iter().flat_map(Scopes::names));
    let names: BTreeSet<&String> = known.collect();
    let row = |name: &&String| {
        let name = name.as_str();
        let counts = now.through.scopes.get(name).copied().unwrap_or_default();
        let all = counts.of(Request::All);
        let before = |before: &crate::metrics::flow::Through| {
            before
                .scopes
                .get(name)
                .map_or(0, |counts| counts.of(Request::All))
        };
        let of = |of: fn(&Scopes) -> &Counted| count_now(standing.map(of), name);
        Row::new(name)
            .cell(html! { strong class=[ui::whole(name)] { (name) } })
            .text(format!("{}/s", ui::rate(now.rate(all, before))))
            .text(of(|scopes| &scopes.running))
            .text(of(|scopes| &scopes.unknown))
            .text(ui::count(all))
            .text(ui::percent(counts.duplicates() as f64, all as f64))
            .text(ui::count(counts.of(Request::Conflict)))
            .text(ui::count(counts.of(Request::InProgress)))
            .text(ui::count(counts.of(Request::Unknown)))
            .text(ui::count(counts.of(Request::Refused)))
    };
    let table =
        Table::new("Scopes: how they stand now, and their requests since the start of the process");
    let table = table
        .column("Scope")
        .number("Requests")
        .number("Running now")
        .number("Unknown now")
        .number("Total");
    let table = table
        .number("Duplicates")
        .number("Conflicts")
        .number("While running")
        .number("Unknown")
        .number("Refused");
    let rows = names.iter().take(SCOPES_SHOWN_MAX).map(row);
    table.rows(rows).or(ui::empty(
        "No request has come through this process yet.",
        html! { "Put " code { "semel gateway --upstream URL" } " in front of a service and send it a POST with an " code { "Idempotency-Key" } "." },
    ))
}

/// How many records of a scope stand in a state now; a dash where that is not known.
fn count_now(counted: Option<&Counted>, scope: &str) -> String {
    match counted.map(|counted| counted.of_scope(scope)) {
        Some((0, true)) | None => "–".to_owned(),
        Some((count, is_cut)) => ui::at_least(count, is_cut),
    }
}

/// What is known of a consumer or target.
#[derive(Default)]
struct Known<'a> {
    counts: Option<&'a Counts>,
    through: Messages,
    sources: Vec<&'a SourceView>,
}

pub(super) fn consumers(now: &Now<'_>) -> Markup {
    let views = now.app.parts.store.metrics().source_views();
    let mut all: BTreeMap<String, Known<'_>> = BTreeMap::new();
    for counts in now.standing.counts.iter().flatten() {
        all.entry(counts.consumer.to_string()).or_default().counts = Some(counts);
    }
    for (name, through) in &now.through.consumers {
        all.entry(name.clone()).or_default().through = *through;
    }
    for view in &views {
        let known = all.entry(view.consumer.to_string()).or_default();
        known.sources.push(view);
    }
    let table = Table::new("Consumers and targets of intents, since the start of the process");
    let table = table
        .column("Consumer")
        .column("State")
        .number("Received")
        .number("Duplicates");
    let table = table
        .number("Completed")
        .number("Backlog")
        .number("At the broker")
        .column("Oldest")
        .number("Retrying")
        .number("Failed")
        .number("Parked");
    let rows = all.iter().map(|(name, known)| consumer(now, name, known));
    table.rows(rows).or(ui::empty(
        "No messages yet.",
        html! { "Name a consumer under " code { "consumers" } " in " code { "semel.yaml" } ", or post one: " code { "semel inbox send CONSUMER ID" } "." },
    ))
}

fn consumer(now: &Now<'_>, name: &str, known: &Known<'_>) -> Row {
    let through = known.through;
    let received = through.of(Message::Received);
    let before = |before: &crate::metrics::flow::Through| {
        before
            .consumers
            .get(name)
            .map_or(0, |counts| counts.of(Message::Received))
    };
    let counted = |of: fn(&Counts) -> u64| {
        known.counts.map_or_else(
            || "–".to_owned(),
            |counts| ui::at_least(of(counts), counts.at_least),
        )
    };
    let oldest = known.counts.and_then(|counts| counts.oldest_pending);
    Row::new(name)
        .cell(html! {
            @match ui::page_at("/inbox") {
                Some(page) => a href=(ui::link_to(page, &[("consumer", name)])) { strong class=[ui::whole(name)] { (name) } },
                None => strong class=[ui::whole(name)] { (name) },
            }
        })
        .cell(states(now, name, known))
        .text(format!("{}/s", ui::rate(now.rate(received, before))))
        .text(ui::percent(through.of(Message::Duplicate) as f64, received as f64))
        .text(ui::count(through.of(Message::Completed)))
        .text(counted(Counts::pending))
        .cell(at_the_broker(&known.sources))
        .cell(html! { @if let Some(since) = oldest { (ui::ago(since, now.at)) } })
        .text(counted(|counts| counts.failed_retryable))
        .text(counted(|counts| counts.failed_terminal))
        .text(counted(|counts| counts.parked))
}

/// What waits at the brokers of a consumer's sources. Where some of them do not say it, the sum is the least there is.
fn at_the_broker(sources: &[&SourceView]) -> Markup {
    let lags: Vec<u64> = sources.iter().filter_map(|view| view.facts.lag).collect();
    let is_known = !lags.is_empty();
    let is_partial = is_known && lags.len() < sources.len();
    html! {
        @if is_known { (ui::at_least(lags.iter().sum(), is_partial)) } @else { "–" }
        @if is_partial { " " span.hint { "of " (lags.len()) " of " (sources.len()) " sources" } }
    }
}

/// The badges of a consumer: whether it is paused, its circuit, what its sources say if they are not read.
fn states(now: &Now<'_>, name: &str, known: &Known<'_>) -> Markup {
    let paused = known.counts.and_then(|counts| counts.paused.as_ref());
    html! {
        span.badges {
            @if let Ok(consumer) = name.parse() { (standing(now.app, &consumer, paused)) }
            @for view in &known.sources {
                @if !matches!(view.state, SourceState::Reading) {
                    (ui::badge(Tone::Warn, &format!("{}: {}", view.name, view.state.name())))
                }
            }
        }
    }
}

pub(super) fn parts(now: &Now<'_>) -> Markup {
    let part = |part: &PartReadiness| {
        let state = if part.ready { "ready" } else { "not ready" };
        Row::new(&part.name)
            .text(&*part.name)
            .cell(ui::state(state))
            .text(part.why.as_deref().unwrap_or_default())
    };
    let budget = |(name, used, limit): (&'static str, usize, usize)| {
        let tone = if used * 10 >= limit * 9 {
            Tone::Bad
        } else {
            Tone::Good
        };
        let share = ui::percent(used as f64, limit as f64);
        Row::new(&format!("budget {name}"))
            .text(name.replace('_', " "))
            .cell(ui::badge(tone, &share))
            .text(format!(
                "{} of {}",
                budgeted(name, used),
                budgeted(name, limit)
            ))
    };
    let table = Table::new("Parts of the process and its budgets");
    let table = table.column("Part").column("State").column("Detail");
    let parts = now.readiness.parts.iter().map(part);
    let budgets = now.app.parts.store.metrics().budgets();
    table
        .rows(parts.chain(budgets.into_iter().map(budget)))
        .show()
}

fn budgeted(name: &str, number: usize) -> String {
    match name.ends_with("bytes") {
        true => ui::bytes(number as u64),
        false => ui::count(number as u64),
    }
}

pub(super) fn store(now: &Now<'_>) -> Markup {
    let Some(stats) = &now.standing.stats else {
        return ui::empty(
            "The store does not say how it stands.",
            html! { "What it says about itself is in the log; " a href="/readyz" { "readiness" } " names the failing part." },
        );
    };
    let rows = [
        ("running", stats.running, stats.oldest_running),
        ("unknown", stats.unknown, stats.oldest_unknown),
        ("settled", stats.settled, None),
        ("archived", stats.archived, None),
        ("late outcomes", stats.late_outcomes, None),
    ];
    let rows = rows.map(|(name, number, oldest)| {
        Row::new(name)
            .cell(if number == 0 {
                ui::badge(Tone::Plain, name)
            } else {
                ui::state(name)
            })
            .text(ui::count(number))
            .cell(html! { @if let Some(since) = oldest { (ui::ago(since, now.at)) } })
    });
    html! {
        (Table::new("Records by state").column("State").number("Records").column("Oldest").rows(rows).show())
        @if let Some(bytes) = stats.bytes { p.hint { (ui::bytes(bytes)) " on disk" } }
    }
}
