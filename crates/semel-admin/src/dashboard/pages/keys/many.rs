//! Decisions about many records: a dry run that says what they would be about, and then the decisions.

use maud::{Markup, html};
use semel_core::store::{Cursor, Resolution, StateFilter};
use semel_core::{Outcome, Timestamp};

use super::again::{again, go_on};
use super::outcome::{self, field};
use super::record;
use crate::dashboard::{Act, Acted, Page, ui};
use crate::records::{self, Decision, Report, Selection};
use crate::refused::{Refused, ask as ask_store, change};
use crate::when::When;

/// The most calls of one form; each decides about a thousand records at most.
const CALLS_MAX: usize = 10;

/// What is done to many.
#[derive(Debug, Clone)]
pub(in crate::dashboard::pages) enum Kind {
    /// Unknown records are decided about.
    Decide(Resolution),
    /// Of settled and archived records contents are erased.
    Erase(Resolution),
}

impl Kind {
    const fn resolution(&self) -> &Resolution {
        match self {
            Self::Decide(resolution) | Self::Erase(resolution) => resolution,
        }
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.resolution().outcome()
    }

    const fn words(&self) -> (&'static str, &'static str) {
        match self.resolution() {
            Resolution::Release => ("Release", "released"),
            Resolution::EraseContents => ("Erase the contents of", "erased"),
            Resolution::Settle { .. } | Resolution::Erase | Resolution::Correct { .. } => {
                ("Resolve", "resolved")
            }
        }
    }
}

/// Shows what would be decided, and decides once that is confirmed. One step is bounded; the next one goes on at `before`.
pub(in crate::dashboard::pages) async fn act(act: Act, kind: &Kind) -> Result<Acted, Refused> {
    let now = act.ask.app.now();
    let selection = selection(&act, kind, now)?;
    let before: Option<Cursor> = field(&act, "before")?;
    let decision = Decision {
        by: act.actor()?,
        reason: Some(act.reason()?),
        resolution: kind.resolution().clone(),
    };
    if field::<String>(&act, "confirm")?.is_none() {
        let report = walk(&act, kind, &selection, None, before).await?;
        return Ok(Acted::Show(forecast(&act, kind, &selection, &report, now)));
    }
    let report = walk(&act, kind, &selection, Some(decision), before).await?;
    Ok(match &report.next {
        None => Acted::done(act.ask.path(), said(kind, &report)),
        Some(next) => Acted::Show(unfinished(&act, kind, &selection, &report, next)),
    })
}

pub(super) fn selection(act: &Act, kind: &Kind, now: Timestamp) -> Result<Selection, Refused> {
    let until: Option<When> = field(act, "older_than")?;
    Ok(Selection {
        state: match kind {
            Kind::Decide(_) => StateFilter::Unknown,
            Kind::Erase(_) => StateFilter::Settled,
        },
        tenant: field(act, "tenant")?,
        scope: field(act, "scope")?,
        key: field(act, "key")?,
        method: field(act, "method")?,
        until: until.map_or(now, |when| when.at(now)).min(now),
    })
}

/// Call after call, up to the bound of one form.
async fn walk(
    act: &Act,
    kind: &Kind,
    selection: &Selection,
    decision: Option<Decision>,
    before: Option<Cursor>,
) -> Result<Report, Refused> {
    let mut report = Report {
        next: before,
        ..Report::default()
    };
    for _ in 0..CALLS_MAX {
        let next = call(act, kind, selection, decision.clone(), report.next.take()).await?;
        report.add(next);
        if report.next.is_none() {
            break;
        }
    }
    Ok(report)
}

async fn call(
    act: &Act,
    kind: &Kind,
    selection: &Selection,
    decision: Option<Decision>,
    before: Option<Cursor>,
) -> Result<Report, Refused> {
    let (store, selection, erases) = (
        act.ask.app.parts.store.clone(),
        selection.clone(),
        matches!(kind, Kind::Erase(_)),
    );
    let Some(decision) = decision else {
        return match erases {
            true => ask_store(records::erase(&store, &selection, None, before)).await,
            false => ask_store(records::look(&store, &selection, before)).await,
        };
    };
    change(async move {
        match erases {
            true => records::erase(&store, &selection, Some(&decision), before).await,
            false => records::decide(&store, &selection, &decision, before).await,
        }
    })
    .await
}

fn said(kind: &Kind, report: &Report) -> String {
    let (_, done) = kind.words();
    let mut said = format!("{} {done}", ui::count(report.changed));
    if report.refused > 0 {
        said += &format!(
            ", {} left alone because they changed in the meantime",
            ui::count(report.refused)
        );
    }
    said
}

/// What a step did that has not looked at all of them, with a form for the next one.
fn unfinished(
    act: &Act,
    kind: &Kind,
    selection: &Selection,
    report: &Report,
    next: &Cursor,
) -> Page {
    let (verb, _) = kind.words();
    let leave = html! { a href=(act.ask.path()) { "Leave the others as they are" } };
    Page::new(said(kind, report)).rest(html! {
        p { "Older records were not looked at yet." }
        (go_on(act, selection.until, next, &format!("{verb} the next"), leave))
    })
}

fn forecast(
    act: &Act,
    kind: &Kind,
    selection: &Selection,
    report: &Report,
    now: Timestamp,
) -> Page {
    let (verb, _) = kind.words();
    let at_least = match &report.next {
        Some(_) if report.matched > 0 => "at least ",
        _ => "",
    };
    let count = ui::count(report.matched);
    let title = format!("{verb} {at_least}{count} records?");
    let others = html! { a href=(act.ask.path()) { "Choose others" } "." };
    let content = match (report.matched, &report.next) {
        (0, None) => ui::empty("No record matches.", others),
        (0, Some(next)) => html! {
            p { "No record matches so far. Older ones were not looked at yet." }
            (go_on(act, selection.until, next, "Look at the next", others))
        },
        _ => confirmation(act, kind, selection, report, now),
    };
    Page::new(title).rest(content)
}

fn confirmation(
    act: &Act,
    kind: &Kind,
    selection: &Selection,
    report: &Report,
    now: Timestamp,
) -> Markup {
    let (verb, _) = kind.words();
    // What was shown is what is decided, however much later.
    let until = selection.until.to_string();
    html! {
        p { "Nothing was changed yet. What changes after " (ui::time(selection.until, now)) " is left alone." }
        @match kind.outcome() {
            Some(outcome) => (outcome::replayed(outcome))
            None => {}
        }
        @if let Resolution::Release = kind.resolution() {
            p { strong { "The next requests with these keys run." } }
        }
        @if let Resolution::EraseContents = kind.resolution() {
            p { strong { "Duplicates get the status and no body." } " This cannot be taken back." }
        }
        (record::table("Some of those that match", &report.sample, now).show())
        (again(act, &["confirm", "older_than"], html! {
            (ui::keep(&[("older_than", until.as_str())]))
            (ui::danger("confirm", "yes", &format!("{verb} them")))
            " " a href=(act.ask.path()) { "Leave them as they are" }
        }))
    }
}
