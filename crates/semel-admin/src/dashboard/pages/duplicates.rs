//! What came again: how late, from where, what it saved, and what follows for the retention.

use std::time::Duration;

use maud::{Markup, html};
use semel_core::duplicate::Origin;

use crate::dashboard::ui::{Bar, Tone};
use crate::dashboard::{Ask, Page, ui};
use crate::duplicates::BOUNDS_MS;
use crate::refused::Refused;
use crate::view::{Duplicates, ScopeDuplicates};

/// The most scopes that are drawn; the table above has all of them.
const DRAWN_MAX: usize = 12;
/// The ages that stand below their bars, in milliseconds.
const LABELLED: [u64; 8] = [
    10,
    1_000,
    60_000,
    3_600_000,
    86_400_000,
    604_800_000,
    2_592_000_000,
    7_776_000_000,
];
/// Where the setting is explained.
const SETTING: &str = concat!(
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/docs/duplicates.md#the-retention-that-is-needed"
);

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let found = ask.app.parts.store.metrics().duplicates();
    let live = match found.scopes.is_empty() {
        false => counted(found),
        true => ui::empty(
            "Nothing has come again yet.",
            html! {
                "A request with a known key, or a message with a known id, shows here: how late it came, where it came from, and the run that it saved. "
                "The counts begin anew with the process; " code { "semel duplicates" } " adds those of several."
            },
        ),
    };
    Ok(Page::new("Duplicates").live(live))
}

fn counted(mut found: Duplicates) -> Markup {
    found
        .scopes
        .sort_by_key(|row| std::cmp::Reverse((row.retention.is_too_short(), row.suppressed)));
    let rows = found.scopes.iter();
    let (advised, silent): (Vec<_>, Vec<_>) = rows.partition(|row| row.retention.rests_on > 0);
    html! {
        p.hint {
            "Counted by this process since " time datetime=(found.since) { (found.since) } ". A run that a duplicate did not repeat is saved."
        }
        (ui::section("By scope and consumer", summary(&found.scopes)))
        @for row in advised.iter().take(DRAWN_MAX) { (ui::section(&row.scope, scope(row))) }
        @if advised.len() > DRAWN_MAX {
            p.hint { "The table has all; " (DRAWN_MAX) " are drawn. " code { "semel duplicates --json" } " has the ages of the rest." }
        }
        @if !silent.is_empty() {
            p.hint {
                "What came again of " (names(&silent)) " says nothing about their retention: none of it came after its first had settled."
            }
        }
    }
}

/// The names of the first ones, and how many others there are.
fn names(rows: &[&ScopeDuplicates]) -> String {
    let names = rows.iter().take(DRAWN_MAX).map(|row| row.scope.as_str());
    let mut names = names.collect::<Vec<_>>().join(", ");
    if rows.len() > DRAWN_MAX {
        names += &format!(" and {} others", rows.len() - DRAWN_MAX);
    }
    names
}

fn summary(scopes: &[ScopeDuplicates]) -> Markup {
    let row = |row: &ScopeDuplicates| {
        let origins = Origin::ALL.map(|origin| ui::count(row.count(origin)));
        let cells = ui::Row::new(&row.scope)
            .name(&row.scope)
            .text(ui::count(row.suppressed))
            .text(duration(row.saved_ms));
        origins.iter().fold(cells, ui::Row::text)
    };
    ui::Table::new("What came again, by scope and origin")
        .column("Scope")
        .number("Suppressed")
        .number("Time saved")
        .number("Client retry")
        .number("While the first ran")
        .number("Redelivery")
        .number("Rebalance")
        .number("Own replay")
        .number("New key")
        .rows(scopes.iter().map(row))
        .show()
}

fn scope(row: &ScopeDuplicates) -> Markup {
    let advice = &row.retention;
    let tone = match advice.verdict.as_str() {
        "raise" => Tone::Bad,
        "enough" | "ample" => Tone::Good,
        _ => Tone::Plain,
    };
    let needed = match advice.needed_ms {
        Some(ms) if advice.at_least => format!("≥ {}", duration(ms)),
        Some(ms) => duration(ms),
        None => "–".to_owned(),
    };
    let duplicates = match advice.rests_on {
        1 => "the only duplicate".to_owned(),
        count => format!("99.9 % of {} duplicates", ui::count(count)),
    };
    let in_force = row.retention_ms.map_or_else(|| "–".to_owned(), duration);
    html! {
        (ui::facts(&[
            ("Retention needed", html! { (needed) " for " (duplicates) }),
            ("Retention in force", html! { (in_force) }),
            ("Advice", html! { (ui::badge(tone, &advice.verdict)) " " (advice.advice) " " a.whole href=(SETTING) rel="noreferrer" { "The setting" } }),
        ]))
        (ages(row))
    }
}

fn ages(row: &ScopeDuplicates) -> Markup {
    let bars = row.ages.iter().map(|bucket| Bar {
        name: match bucket.up_to_ms {
            Some(ms) => format!("up to {}", duration(ms)),
            None => "later".to_owned(),
        },
        label: bucket
            .up_to_ms
            .filter(|ms| LABELLED.contains(ms))
            .map(duration),
        count: bucket.count,
    });
    let bars: Vec<Bar> = bars.collect();
    let mark = row.retention_ms.map(|ms| {
        let after = BOUNDS_MS.partition_point(|bound| *bound < ms) + 1;
        (after.min(bars.len()), format!("retention {}", duration(ms)))
    });
    let mark = mark.as_ref().map(|(after, name)| (*after, name.as_str()));
    let id = format!(
        "ages-{}",
        &blake3::hash(row.scope.as_bytes()).to_hex()[..16]
    );
    ui::bars(&id, "How long after the first one they came", &bars, mark)
}

fn duration(ms: u64) -> String {
    ui::duration(Duration::from_millis(ms))
}
