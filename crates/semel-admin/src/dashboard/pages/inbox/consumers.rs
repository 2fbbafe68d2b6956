//! How consumers and targets stand.

use maud::{Markup, html};
use semel_core::Scope;
use semel_core::inbox::{Counts, Pause};
use semel_inbox::CircuitState;

use crate::api::inbox as api;
use crate::dashboard::ui::Tone;
use crate::dashboard::{Ask, ui};
use crate::router::App;

/// The beginning of the name of a consumer that is a target of intents.
const TARGET: &str = "intent:";

/// Whether a consumer is a target of intents.
pub(in crate::dashboard::pages) fn is_target(consumer: &Scope) -> bool {
    consumer.name().starts_with(TARGET)
}

/// The name of a target without what all targets have.
fn name_of(consumer: &Scope) -> String {
    match consumer.name().strip_prefix(TARGET) {
        Some(name) => name.to_owned(),
        None => consumer.to_string(),
    }
}

/// Consumers one to a row; each leads to its messages at `path`.
pub(in crate::dashboard::pages) fn table(
    ask: &Ask,
    path: &str,
    all: &[&Counts],
    empty: Markup,
) -> Markup {
    let now = ask.app.now();
    let row = |counts: &&Counts| {
        let consumer = counts.consumer.to_string();
        let link = |state: Option<&str>| {
            let mut pairs = vec![("consumer", consumer.as_str())];
            pairs.extend(state.map(|state| ("state", state)));
            ui::link_to(super::PATH, &pairs)
        };
        let number = |number: u64, state: &str| {
            html! {
                @if number == 0 { "0" } @else { a href=(link(Some(state))) { (ui::at_least(number, counts.at_least)) } }
            }
        };
        let name = name_of(&counts.consumer);
        ui::Row::new(&consumer)
            .cell(html! { a class=[ui::whole(&name)] href=(ui::link_to(path, &[("consumer", &consumer)])) { (name) } })
            .cell(standing(&ask.app, &counts.consumer, counts.paused.as_ref()))
            .cell(number(counts.received, "RECEIVED"))
            .cell(html! {
                (number(counts.in_progress, "IN_PROGRESS"))
                @if counts.stale > 0 { " " (ui::badge(Tone::Warn, &format!("{} stale", ui::count(counts.stale)))) }
            })
            .cell(number(counts.failed_retryable, "FAILED_RETRYABLE"))
            .cell(number(counts.failed_terminal, "FAILED_TERMINAL"))
            .cell(number(counts.parked, "PARKED"))
            .cell(counts.oldest_pending.map_or_else(Markup::default, |at| ui::ago(at, now)))
    };
    let table = ui::Table::new("Consumers by state of their messages")
        .column("Name")
        .column("Stands");
    let table = table
        .number("Received")
        .number("In progress")
        .number("Retrying")
        .number("Failed")
        .number("Parked");
    table
        .column("Oldest waits since")
        .rows(all.iter().map(row))
        .or(empty)
}

/// What keeps a consumer from running, or that nothing does. Only what an engine of this process serves is known to run.
pub(in crate::dashboard::pages) fn standing(
    app: &App,
    consumer: &Scope,
    paused: Option<&Pause>,
) -> Markup {
    let circuit = app.parts.store.metrics().circuit_of(consumer);
    let policies = api::part(app).ok().map(|part| part.policies.get());
    let is_served =
        policies.is_none_or(|policies| !policies.is_complete() || policies.knows(consumer));
    let runs = is_served && paused.is_none();
    html! {
        @if let Some(pause) = paused {
            span title={ "by " (pause.by) @if let Some(reason) = &pause.reason { ": " (reason) } } { (ui::state("paused")) } " "
        }
        @if !is_served { (ui::badge(Tone::Bad, "not served")) " " }
        @match circuit {
            Some(CircuitState::Open) => (ui::badge(Tone::Bad, "circuit open")),
            Some(CircuitState::HalfOpen) => (ui::badge(Tone::Warn, "circuit half-open")),
            Some(CircuitState::Closed) if runs => (ui::badge(Tone::Good, "runs")),
            Some(CircuitState::Closed) | None => {}
        }
    }
}

/// How one consumer stands.
pub(in crate::dashboard::pages) fn one(ask: &Ask, consumer: &Scope, all: &[Counts]) -> Markup {
    let Some(counts) = all.iter().find(|counts| counts.consumer == *consumer) else {
        return ui::notice(
            Tone::Warn,
            html! { "The inbox has had no message of " strong { (consumer) } "." },
        );
    };
    let policies = api::part(&ask.app).ok().map(|part| part.policies.get());
    let is_stranded = policies.is_some_and(|policies| policies.strands(counts));
    html! {
        @if is_stranded {
            (ui::notice(Tone::Bad, html! {
                "The configuration does not name " strong { (consumer) } ", so nothing runs its messages. Name it in the file, at its version, or skip them."
            }))
        }
        @if let Some(pause) = &counts.paused {
            (ui::notice(Tone::Warn, html! {
                "Paused by " strong { (pause.by) } " " (ui::ago(pause.at, ask.app.now()))
                @if let Some(reason) = &pause.reason { ": " (reason) }
                ". Messages are received and do not run."
            }))
        }
        (ui::section("Consumer", table(ask, super::PATH, &[counts], Markup::default())))
    }
}
