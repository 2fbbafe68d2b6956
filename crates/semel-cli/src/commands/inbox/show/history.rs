//! What happened to a message.

use semel_core::duration;
use semel_core::inbox::{Attempt, Transition};

use super::contents::indented;
use crate::commands::messages::{flat, why};
use crate::text;

/// Changes of state one below the other, oldest first.
pub(super) fn timeline(transitions: &[Transition]) -> String {
    let width = transitions.iter().map(|change| change.to.name().len());
    let width = width.max().unwrap_or(0);
    let line = |change: &Transition| {
        let cause = change.cause.map(|cause| cause.name().to_owned());
        let detail = change.detail.as_deref().map(flat);
        let words: Vec<_> = [cause, detail].into_iter().flatten().collect();
        let line = format!(
            "  {}  {:width$}  {}",
            change.at,
            change.to.name(),
            words.join(": ")
        );
        format!("{}\n", line.trim_end())
    };
    transitions.iter().map(line).collect()
}

/// Attempts with what went wrong, and with what their handlers answered if that is wanted.
pub(super) fn attempts(attempts: &[Attempt], answers: bool) -> String {
    let line = |attempt: &Attempt| {
        let took = duration::show(attempt.ended_at.since(attempt.began_at));
        let generation = match attempt.generation {
            0 => String::new(),
            generation => format!(" of generation {generation}"),
        };
        let worker = attempt.worker.as_deref().map(text::printable);
        let by = worker.map_or(String::new(), |worker| format!(" by {worker}"));
        let late = match attempt.late {
            true => ", too late: it changed nothing",
            false => "",
        };
        let state = attempt.state.name();
        let head = format!(
            "  {}{generation}  fence {}{by}, took {took}: {state}{late}\n",
            attempt.number, attempt.fence
        );
        let cause = attempt.cause.map(|cause| why(cause).to_owned());
        let error = attempt.error.as_deref().map(text::printable);
        let said = [cause, error].into_iter().flatten();
        let said = said.flat_map(|said| {
            said.lines()
                .map(|line| format!("     {line}\n"))
                .collect::<Vec<_>>()
        });
        head + &said.collect::<String>() + &answer(attempt, answers)
    };
    attempts.iter().map(line).collect()
}

fn answer(attempt: &Attempt, is_wanted: bool) -> String {
    match (&attempt.answer, is_wanted) {
        (None, _) => String::new(),
        (Some(answer), false) => {
            let size = text::plural(answer.len() as u64, "byte", "bytes");
            format!("     answer kept ({size}), --answers shows it\n")
        }
        (Some(answer), true) => format!("     answer:\n{}", indented(answer, 7)),
    }
}
