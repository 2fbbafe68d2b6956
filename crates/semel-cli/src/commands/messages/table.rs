//! Messages in a table.

use clap::builder::styling::{AnsiColor, Style};
use semel_core::inbox::{Cause, Entry, State};
use semel_core::{Tenant, Timestamp};

use super::one_line;
use crate::output::Table;
use crate::text;

/// The colour of a state's name, the same everywhere.
const fn state_style(state: State) -> Style {
    match state {
        State::Received => Style::new(),
        State::InProgress => AnsiColor::Cyan.on_default(),
        State::Completed => AnsiColor::Green.on_default(),
        State::FailedRetryable => AnsiColor::Yellow.on_default(),
        State::FailedTerminal => AnsiColor::Red.on_default(),
        State::Parked => AnsiColor::Yellow.on_default().bold(),
        State::SkippedDuplicate => Style::new().dimmed(),
    }
}

/// Messages as they stand at `now`. Columns that nobody has anything in are left out.
pub(crate) fn list(entries: &[Entry], now: Timestamp) -> Table {
    let mut table = Table::new([
        "STATE",
        "TENANT",
        "CONSUMER",
        "ID",
        "TYPE",
        "KEY",
        ">SEQ",
        ">ATTEMPTS",
        ">AGAIN",
        "RECEIVED",
        "DETAIL",
    ]);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let counted = |number: u64| Some(number).filter(|n| *n > 0).map(text::count);
    for entry in entries {
        let identity = &entry.identity;
        table.row(
            state_style(entry.state),
            [
                entry.state.name().to_owned(),
                identity.tenant().to_string(),
                identity.scope().to_string(),
                identity.key().to_string(),
                or_dash(entry.kind.clone()),
                or_dash(entry.lane.as_ref().map(ToString::to_string)),
                or_dash(entry.sequence.map(|sequence| sequence.to_string())),
                entry.attempts.to_string(),
                or_dash(counted(entry.duplicates)),
                text::ago(entry.received_at, now),
                detail(entry, now),
            ],
        );
    }
    let has = |of: &dyn Fn(&Entry) -> bool| entries.iter().any(of);
    let public = Tenant::public();
    for (column, is_there) in [
        (1, has(&|entry| *entry.identity.tenant() != public)),
        (4, has(&|entry| entry.kind.is_some())),
        (5, has(&|entry| entry.lane.is_some())),
        (6, has(&|entry| entry.sequence.is_some())),
        (8, has(&|entry| entry.duplicates > 0)),
    ] {
        if !is_there {
            table.hide(column);
        }
    }
    table
}

fn detail(entry: &Entry, now: Timestamp) -> String {
    let because = because(entry);
    match entry.state {
        State::Received => match entry.due_at {
            None if entry.lane.is_some() => "due, or behind others of its key".to_owned(),
            None => "due".to_owned(),
            Some(due) if due > now => format!("due {}", text::ahead(due, now)),
            Some(_) => "due".to_owned(),
        },
        State::InProgress => in_progress(entry, now),
        State::FailedRetryable => match entry.due_at {
            Some(due) if due > now => format!("again {}: {because}", text::ahead(due, now)),
            _ => format!("again now: {because}"),
        },
        State::Completed => format!("done {}", text::ago(entry.changed_at, now)),
        State::FailedTerminal | State::Parked | State::SkippedDuplicate => because,
    }
}

fn because(entry: &Entry) -> String {
    // The state says as much.
    let plain = [Cause::Retryable, Cause::Terminal];
    let cause = entry.cause.filter(|cause| !plain.contains(cause));
    let cause = cause.map(|cause| cause.name().to_owned());
    let error = entry.error.as_deref().map(one_line);
    let words: Vec<_> = [cause, error].into_iter().flatten().collect();
    words.join(": ")
}

fn in_progress(entry: &Entry, now: Timestamp) -> String {
    let worker = entry.worker.as_deref().unwrap_or("a worker");
    match entry.due_at {
        Some(due) if due > now => format!("{worker}, lease ends {}", text::ahead(due, now)),
        Some(due) => format!("{worker}, lease ended {}", text::ago(due, now)),
        None => worker.to_owned(),
    }
}
