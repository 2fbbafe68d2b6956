//! What was done by hand, to keys and to messages.

use std::collections::HashMap;

use maud::{Markup, html};
use semel_core::store::{AuditEntry, PAGE_MAX};
use semel_core::{Scope, Store, Timestamp};
use serde::Deserialize;

use crate::api::fields;
use crate::dashboard::ui::Tone;
use crate::dashboard::{Ask, Page, ui};
use crate::refused::{Refused, ask as ask_store};
use crate::when::When;

/// How many lines a page shows.
const PAGE: usize = 100;

/// Which lines.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Filters {
    /// Part of who decided.
    by: Option<String>,
    /// Part of the verb or the action.
    action: Option<String>,
    #[serde(deserialize_with = "fields::text_or_none")]
    scope: Option<Scope>,
    /// Only what was done since.
    #[serde(deserialize_with = "fields::text_or_none")]
    since: Option<When>,
    /// Part of what it was about, such as a key.
    about: Option<String>,
    /// How many lines that match were shown before.
    before: usize,
}

impl Filters {
    fn takes(&self, line: &AuditEntry, now: Timestamp) -> bool {
        let has = |part: &Option<String>, whole: &str| {
            part.as_ref().is_none_or(|part| whole.contains(part.trim()))
        };
        let done = format!("{} {} {}", verb(line), line.verb, line.action);
        has(&self.by, &line.by)
            && has(&self.action, &done)
            && has(&self.about, &line.selection)
            && self.scope.as_ref().is_none_or(|scope| *scope == line.scope)
            && self.since.is_none_or(|since| line.at >= since.at(now))
    }
}

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let filters: Filters = ask.query()?;
    let said: HashMap<String, String> = ask.query()?;
    let now = ask.app.now();
    let all = ask_store(ask.app.parts.store.audit(PAGE_MAX)).await?;
    let found: Vec<&AuditEntry> = all.iter().filter(|line| filters.takes(line, now)).collect();
    let shown: Vec<&AuditEntry> = found
        .iter()
        .skip(filters.before)
        .take(PAGE)
        .copied()
        .collect();
    let behind = filters.before + shown.len();
    let next = (behind < found.len()).then(|| behind.to_string());
    let live = html! {
        (lines(&shown, now))
        (ui::pager(&ask, next.as_deref()))
        @if all.len() == PAGE_MAX {
            (cut())
        }
    };
    let of = |name: &str| said.get(name).map(String::as_str);
    let lead = ui::filter(
        &ask,
        html! {
            (ui::input("by", "Who", of("by"), "ada"))
            (ui::input("action", "Action", of("action"), "release"))
            (ui::input("scope", "Scope or consumer", of("scope"), "payments@1"))
            (ui::input("about", "About", of("about"), "order-17"))
            (ui::input("since", "Since", of("since"), "24h"))
        },
    );
    Ok(Page::new("Audit").lead(lead).live(live))
}

/// What is said where there are more lines than a store gives at once.
fn cut() -> Markup {
    ui::notice(
        Tone::Warn,
        html! {
            "These are the newest " (ui::count(PAGE_MAX as u64)) " lines: older ones are neither shown here nor searched by the filters. "
            "SQLite and PostgreSQL have them in the table " code { "semel_audit" } "; "
            code { "semel audit --json --limit " (PAGE_MAX) } " copies lines elsewhere in time."
        },
    )
}

/// What was done, named alike for keys and messages: `keys release`, `inbox retry`. Where the line says it, the door stands behind.
fn verb(line: &AuditEntry) -> String {
    for (prefix, door) in [("dashboard ", "dashboard"), ("api inbox ", "API")] {
        if let Some(verb) = line.verb.strip_prefix(prefix) {
            return format!("inbox {verb} ({door})");
        }
    }
    line.verb.clone()
}

fn lines(shown: &[&AuditEntry], now: Timestamp) -> Markup {
    let row = |line: &&AuditEntry| {
        ui::Row::new(&line.encode())
            .cell(ui::time(line.at, now))
            .name(&line.by)
            .name(verb(line))
            .name(line.scope.to_string())
            .text(ui::count(line.changed))
            .text(&line.selection)
            .text(line.reason.as_deref().unwrap_or_default())
    };
    ui::Table::new("What was done by hand, the newest first")
        .column("When")
        .column("Who")
        .column("Verb")
        .column("Scope")
        .number("Changed")
        .column("Which")
        .column("Why")
        .rows(shown.iter().map(row))
        .or(ui::empty(
            "No decision by hand matches.",
            html! { "Every decision of a person, on this page, over the API and on the command line, leaves a line here." },
        ))
}
