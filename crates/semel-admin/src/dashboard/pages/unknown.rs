//! The queue of unknown outcomes: what is known of each, and decisions about one or about all that match.

use maud::{Markup, html};
use semel_core::store::{Cursor, Resolution, StateFilter};
use semel_core::{Record, State, Timestamp};

use super::keys::many::{self, Kind};
use super::keys::outcome::{self, needed};
use super::keys::{Filters, of_state, reconcile, record};
use crate::dashboard::{Act, Acted, Ask, Page, ui};
use crate::input::refuse_field;
use crate::refused::Refused;
use crate::tokens::Needs;

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let filters = Filters::of(&ask)?;
    let now = ask.app.now();
    let until = filters.older_than.map(|when| when.at(now));
    let is_meant = |record: &Record| until.is_none_or(|until| since(record) <= Some(until));
    let found = of_state(&ask, &filters, StateFilter::Unknown, is_meant).await?;
    let shown = html! {
        (queue(&found.records, now).or(nothing(&ask, &filters)))
        (ui::pager(&ask, found.next.as_ref().map(Cursor::as_str)))
    };
    let page = Page::new("Unknown outcomes").lead(lead(&ask, &filters));
    // Old ones are searched for page by page: not every two seconds.
    let page = match filters.older_than {
        None => page.live(shown),
        Some(_) => page.lead(html! { (lead(&ask, &filters)) (shown) }),
    };
    Ok(match ask.may(Needs::Operate) {
        true => page.rest(forms(&ask, &filters)),
        false => page,
    })
}

fn lead(ask: &Ask, filters: &Filters) -> Markup {
    html! {
        p.hint {
            "Whether these took effect is not known, so none of them runs again by itself unless its scope says so. "
            "Ask the provider, then say what happened."
        }
        (ui::filter(ask, html! {
            (ui::input("key", "Key", filters.said("key"), "order-17"))
            (filters.places())
            (ui::input("older_than", "Unknown for", filters.said("older_than"), "1h"))
        }))
    }
}

const fn since(record: &Record) -> Option<Timestamp> {
    match &record.state {
        State::Unknown { since, .. } => Some(*since),
        State::Running { .. } | State::Settled(_) => None,
    }
}

fn queue(records: &[Record], now: Timestamp) -> ui::Table {
    let row = |record: &Record| {
        let identity = &record.identity;
        let (because, took) = known(record);
        ui::Row::new(&format!("{identity} {}", record.fence))
            .cell(record::link(identity))
            .name(record::request(record))
            .name(identity.scope().to_string())
            .name(identity.tenant().as_str())
            .text(because)
            .text(took)
            .cell(since(record).map_or_else(Markup::default, |since| ui::ago(since, now)))
    };
    ui::Table::new("Unknown outcomes, the newest claim first")
        .column("Key")
        .column("Request")
        .column("Scope")
        .column("Tenant")
        .column("Because")
        .number("Ran for")
        .column("Unknown since")
        .rows(records.iter().map(row))
}

fn nothing(ask: &Ask, filters: &Filters) -> Markup {
    match filters.is_any() || filters.before.is_some() {
        true => ui::empty(
            "No unknown outcome matches.",
            html! { "There may be others: " a href=(ask.path()) { "clear the filters" } "." },
        ),
        false => ui::empty(
            "No outcome is unknown.",
            html! { "There is nothing to decide. What becomes unknown shows here by itself." },
        ),
    }
}

/// What the upstream answered or what went wrong, and how long the run took.
fn known(record: &Record) -> (String, String) {
    let State::Unknown {
        cause, evidence, ..
    } = &record.state
    else {
        return Default::default();
    };
    let Some(evidence) = evidence else {
        return (record::why(*cause, None), String::new());
    };
    let status = evidence
        .status
        .map(|status| format!("{status} from the upstream"));
    let error = evidence.error().map(str::to_owned);
    let parts: Vec<String> = status.into_iter().chain(error).collect();
    let because = match parts.is_empty() {
        true => "no answer".to_owned(),
        false => parts.join(": "),
    };
    (because, ui::duration(evidence.after))
}

/// Decisions about all that match.
fn forms(ask: &Ask, filters: &Filters) -> Markup {
    let which = || {
        html! {
            p.hint { "The next step shows which they are and changes nothing. A record that changes in the meantime is left alone." }
            (ui::input("key", "Key", filters.said("key"), "order-17"))
            (filters.places())
            (ui::input("older_than", "Unknown for", filters.said("older_than"), "1h"))
        }
    };
    let release = ask.form(html! {
        (which())
        (ui::reason(true))
        (ask.who())
        (ui::button("how", "release", "Look what that would release"))
    });
    let settle = ask.form(html! {
        (which())
        (outcome::fields(true))
        (ui::reason(true))
        (ask.who())
        (ui::button("how", "settle", "Look what that would resolve"))
    });
    let asked = ask.form(html! {
        (which())
        (ui::reason(true))
        (ask.who())
        (ui::button("how", reconcile::HOW, "Look what would be asked"))
    });
    ui::section(
        "Decide about all that match",
        html! {
            (ui::disclosure("reconcile-many", "Ask the providers: reconcile them", asked))
            (ui::disclosure("release-many", "They did not happen: release them", release))
            (ui::disclosure("settle-many", "They happened: put an outcome on record", settle))
        },
    )
}

/// Decides about many.
pub(crate) async fn act(act: Act) -> Result<Acted, Refused> {
    if reconcile::is_meant(&act) {
        return reconcile::act_on_many(act).await;
    }
    let how: String = needed(&act, "how")?;
    let resolution = match how.as_str() {
        "release" => Resolution::Release,
        "settle" => Resolution::Settle {
            outcome: outcome::read(&act)?,
            retention: outcome::retention(&act)?,
        },
        other => {
            let why = format!("expected release or settle, found {other:?}");
            return Err(refuse_field("how", &why));
        }
    };
    many::act(act, &Kind::Decide(resolution)).await
}
