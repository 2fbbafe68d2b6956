//! What happened to a message.

use maud::{Markup, html};
use semel_core::inbox::{Attempt, Cause, Detail, Step, Transition};

use crate::dashboard::{Ask, ui};

/// Every change of state, oldest first.
pub(super) fn timeline(detail: &Detail, ask: &Ask) -> Markup {
    let now = ask.app.now();
    let row = |(at, change): (usize, &Transition)| {
        ui::Row::new(&format!("change {at}"))
            .cell(ui::time(change.at, now))
            .cell(ui::state(change.to.name()))
            .text(change.cause.map_or("", Cause::name))
            .text(change.detail.as_deref().unwrap_or_default())
    };
    let table = ui::Table::new("Changes of state, oldest first")
        .column("When")
        .column("State")
        .column("Why")
        .column("What it refers to");
    let changes = detail.timeline();
    table.rows(changes.iter().enumerate().map(row)).show()
}

/// Attempts with what went wrong, and with what their handlers answered if that is asked for.
pub(super) fn attempts(detail: &Detail, ask: &Ask, answers: bool) -> Markup {
    let now = ask.app.now();
    let row = |(at, attempt): (usize, &Attempt)| {
        let generation = match attempt.generation {
            0 => String::new(),
            generation => format!(" of generation {generation}"),
        };
        ui::Row::new(&format!("attempt {at}"))
            .text(format!("{}{generation}", attempt.number))
            .cell(ui::time(attempt.began_at, now))
            .text(ui::duration(attempt.ended_at.since(attempt.began_at)))
            .cell(html! { (ui::state(attempt.state.name())) @if attempt.late { " too late: it changed nothing" } })
            .name(attempt.worker.as_deref().unwrap_or_default())
            .text(attempt.fence.to_string())
            .cell(html! { (attempt.error.as_deref().or(attempt.cause.map(Cause::name)).unwrap_or_default()) (answer(attempt, answers)) })
    };
    let table = ui::Table::new("Attempts that did not complete, oldest first")
        .number("Attempt")
        .column("Began")
        .number("Took")
        .column("Led to");
    let table = table
        .column("Worker")
        .number("Fence")
        .column("What went wrong");
    let has_answers = detail
        .attempts
        .iter()
        .any(|attempt| attempt.answer.is_some());
    html! {
        (table.rows(detail.attempts.iter().enumerate().map(row)).show())
        @if has_answers && !answers {
            p { a href=(ask.link(&[("answers", Some("true"))])) { "Show what the handler answered" } " " span.hint { "It may hold personal data." } }
        }
    }
}

fn answer(attempt: &Attempt, is_wanted: bool) -> Markup {
    let answer = attempt.answer.as_ref().filter(|_| is_wanted);
    answer.map_or_else(Markup::default, |answer| {
        ui::code(&super::contents::text(answer))
    })
}

/// The names of the steps that are done, with the sizes of their results.
pub(super) fn steps(detail: &Detail) -> Markup {
    let row = |step: &Step| {
        ui::Row::new(&step.name)
            .text(&step.name)
            .text(ui::bytes(step.result.len() as u64))
    };
    let table = ui::Table::new("Steps that are done")
        .column("Step")
        .number("Result");
    table.rows(detail.steps.iter().map(row)).show()
}
