//! Asking providers about unknown outcomes: first who would be asked, then what they answered and what came of it.

use maud::{Markup, html};
use semel_core::store::Cursor;
use semel_core::{Claim, Fence, Identity, Record, Timestamp};

use super::again::{again, go_on};
use super::many::{Kind, selection};
use super::outcome::{field, needed};
use super::record;
use crate::api::records::{reconcile_all, reconcile_now};
use crate::dashboard::{Act, Acted, Ask, Page, ui};
use crate::records::reconcile::{Asker, Brief, End, Item, Report};
use crate::refused::Refused;
use crate::view::ReconcileReport;

/// What the button says that leads here.
pub(in crate::dashboard::pages) const HOW: &str = "reconcile";

/// Whether a form is about this.
pub(in crate::dashboard::pages) fn is_meant(act: &Act) -> bool {
    act.field("how").as_deref() == Some(HOW)
}

/// The form about one record, or why there is nothing to ask.
pub(super) fn form(ask: &Ask, found: &Record) -> Markup {
    let (identity, fence) = (&found.identity, found.fence.to_string());
    let scope = identity.scope().to_string();
    let about = [
        ("tenant", identity.tenant().as_str()),
        ("scope", scope.as_str()),
        ("key", identity.key().as_str()),
        ("fence", fence.as_str()),
    ];
    let content = match ask.app.parts.reconciling.of(found) {
        Err(missing) => html! { p.hint { "There is nothing to ask: " (missing.says(identity.scope())) "." } },
        Ok(reconciler) => ask.form(html! {
            (ui::keep(&about))
            p.hint { code { (reconciler.url()) } " is asked whether it happened. What it answers is done: it is on record, or the next request runs. If it cannot tell, nothing changes." }
            (ui::reason(true))
            (ask.who())
            (ui::button("how", HOW, "Look what would be asked"))
        }),
    };
    ui::disclosure(
        &format!("reconcile-{fence}"),
        "Ask the provider: reconcile it",
        content,
    )
}

/// Shows who would be asked about one record, and asks once that is confirmed.
pub(super) async fn act(act: Act) -> Result<Acted, Refused> {
    let claim = Claim {
        identity: Identity::new(
            needed(&act, "tenant")?,
            needed(&act, "scope")?,
            needed(&act, "key")?,
        ),
        fence: Fence::new(needed(&act, "fence")?),
    };
    let asker = asker(&act)?;
    let back = record::address(&claim.identity);
    if field::<String>(&act, "confirm")?.is_none() {
        return Ok(Acted::Show(confirmation(&act, &claim, &back)));
    }
    let item = reconcile_now(&act.ask.app, claim, asker).await?;
    Ok(Acted::done(back, said(&item)))
}

fn asker(act: &Act) -> Result<Asker, Refused> {
    Ok(Asker {
        by: act.actor()?,
        reason: act.reason()?,
    })
}

fn confirmation(act: &Act, claim: &Claim, back: &str) -> Page {
    let identity = &claim.identity;
    Page::new("Ask the provider?").rest(html! {
        (ui::facts(&[
            ("Key", html! { code { (identity.key().as_str()) } }),
            ("Scope", html! { (identity.scope().to_string()) }),
            ("Tenant", html! { (identity.tenant().as_str()) }),
            ("Fence", html! { (claim.fence.get()) }),
        ]))
        p { "Nothing was asked yet. The answer is used at once: what happened is on record, and what did not happen runs with the next request." }
        (again(act, &["confirm"], html! {
            (ui::button("confirm", "yes", "Ask it"))
            " " a href=(back) { "Leave it as it is" }
        }))
    })
}

/// What came of it, in a line.
fn said(item: &Item) -> String {
    match &item.end {
        End::Settled(brief) => format!(
            "It happened, says the provider, and is on record: {}.",
            outcome(brief)
        ),
        End::Released => {
            "It did not happen, says the provider: released, the next request runs.".to_owned()
        }
        End::Unknown(why) => format!("Still unknown, nothing was changed: {why}."),
        End::Missing(missing) => format!(
            "Nothing was asked: {}.",
            missing.says(item.claim.identity.scope())
        ),
        End::Changed { .. } => {
            "Left alone: another decision or another claim was faster.".to_owned()
        }
    }
}

fn outcome(brief: &Brief) -> String {
    let status = match brief.status {
        0 => String::new(),
        status => format!(", status {status}"),
    };
    let (verdict, bytes) = (brief.verdict.name(), ui::bytes(brief.body_bytes));
    format!("{verdict}{status}, {bytes}")
}

/// Shows about which records would be asked and about which not, and asks once that is confirmed. One step is bounded; the next one goes on at `before`.
pub(in crate::dashboard::pages) async fn act_on_many(act: Act) -> Result<Acted, Refused> {
    let now = act.ask.app.now();
    let kind = Kind::Decide(semel_core::store::Resolution::Release);
    let selection = selection(&act, &kind, now)?;
    let until = selection.until;
    let asker = asker(&act)?;
    let confirmed = field::<String>(&act, "confirm")?.is_some();
    let (app, asker) = (&act.ask.app, confirmed.then_some(asker));
    let before: Option<Cursor> = field(&act, "before")?;
    let report = reconcile_all(app, selection.clone(), asker, before).await?;
    let view = ReconcileReport::of(&report, !confirmed, until);
    Ok(Acted::Show(match confirmed {
        true => answers(&act, until, &report, &view),
        false => forecast(&act, (until, now), &report, &view),
    }))
}

fn forecast(
    act: &Act,
    (until, now): (Timestamp, Timestamp),
    report: &Report,
    view: &ReconcileReport,
) -> Page {
    let count = ui::count(view.with_reconciler);
    let at_least = match &report.next {
        Some(_) if view.with_reconciler > 0 => "at least ",
        _ => "",
    };
    let title = format!("Ask the providers about {at_least}{count} records?");
    let leave = html! { a href=(act.ask.path()) { "Leave them as they are" } };
    let form = match (view.with_reconciler, &report.next) {
        (0, None) => html! { p { "There is nothing to ask. " (leave) } },
        (0, Some(next)) => html! {
            p { "There is nothing to ask about any of these. Older ones were not looked at yet." }
            (go_on(act, until, next, "Look at the next", leave))
        },
        _ => confirm_many(act, until, leave),
    };
    Page::new(title).rest(html! {
        p { "Nothing was asked yet. What becomes unknown after " (ui::time(until, now)) " is left alone." }
        (scopes(view))
        (form)
    })
}

fn confirm_many(act: &Act, until: Timestamp, leave: Markup) -> Markup {
    // What was shown is what is asked about, however much later.
    let until = until.to_string();
    html! {
        p { "The answers are used at once: what happened is on record, and what did not happen runs with the next request." }
        (again(act, &["confirm", "older_than"], html! {
            (ui::keep(&[("older_than", until.as_str())]))
            (ui::button("confirm", "yes", "Ask about them"))
            " " (leave)
        }))
    }
}

/// Where is asked about how many, and why about others nothing is.
fn scopes(view: &ReconcileReport) -> Markup {
    let rows = view.scopes.iter().map(|scope| {
        let asked = scope.url.as_ref().or(scope.why.as_ref());
        let asked = asked.map_or("", String::as_str);
        ui::Row::new(&format!("{} {asked}", scope.scope))
            .text(&scope.scope)
            .text(ui::count(scope.records))
            .text(if scope.url.is_some() { "yes" } else { "no" })
            .text(asked)
    });
    let table = ui::Table::new("What is asked, by scope")
        .column("Scope")
        .number("Records")
        .column("Reconciler")
        .column("Where, or why not")
        .rows(rows);
    table.or(ui::empty(
        "No unknown outcome matches.",
        html! { "There is nothing to ask." },
    ))
}

fn answers(act: &Act, until: Timestamp, report: &Report, view: &ReconcileReport) -> Page {
    let rows = report.items.iter().map(|item| {
        let identity = &item.claim.identity;
        ui::Row::new(&identity.to_string())
            .cell(record::link(identity))
            .text(identity.scope().to_string())
            .text(identity.tenant().as_str())
            .text(said(item))
    });
    let table = ui::Table::new("What was answered")
        .column("Key")
        .column("Scope")
        .column("Tenant")
        .column("Answer")
        .rows(rows);
    let counts = [
        (view.settled, "on record"),
        (view.released, "released"),
        (view.still_unknown, "still unknown"),
        (view.left_alone, "left alone"),
        (view.without_reconciler, "without a reconciler"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<_> = counts
        .map(|(count, what)| format!("{} {what}", ui::count(*count)))
        .collect();
    let back = html! { a href=(act.ask.path()) { "Back to the queue" } };
    Page::new("The providers were asked").rest(html! {
        p { strong { (counts.join(", ")) } }
        @match &report.next {
            None => p { "All that match were looked at." },
            Some(next) => {
                p { "Older ones were not looked at yet." }
                (go_on(act, until, next, "Ask about the next", back.clone()))
            },
        }
        (table.or(ui::empty("Nothing was asked.", html! { "None of these records has a reconciler." })))
        p.hint { "To load this page again asks once more about what is still unknown. What was decided stays decided." }
        p { (back) }
    })
}
