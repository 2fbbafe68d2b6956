//! Records: one searched by its key, many listed by filters, and contents erased of all that match.

pub(super) mod again;
pub(crate) mod decide;
mod filters;
pub(super) mod many;
pub(crate) mod one;
pub(super) mod outcome;
pub(super) mod reconcile;
pub(super) mod record;
mod timeline;

use maud::{Markup, html};
use semel_core::store::{Cursor, Page as Listed, Query, Resolution, StateFilter};
use semel_core::{Event, Identity, Key, Record, Store, Timestamp};

pub(super) use filters::Filters;

use crate::dashboard::{Act, Acted, Ask, Page, ui};
use crate::records::find::{self, Wanted};
use crate::refused::{Refused, ask as ask_store};
use crate::tokens::Needs;

/// How many records a page shows.
const PAGE: usize = 100;
/// How many pages of the store are looked through for one that has something to show.
const LOOKED_AT_MAX: usize = 50;

/// The list.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let filters = Filters::of(&ask)?;
    let now = ask.app.now();
    let listed = list(&ask, &filters, now).await?;
    let mut shown = records(&ask, &filters, &listed, now);
    if let (true, Some(key), None) = (listed.records.is_empty(), &filters.key, &filters.before) {
        shown = html! { (shown) (elsewhere(&ask, &filters, key, now).await?) };
    }
    let page = Page::new("Keys").lead(filters.form(&ask));
    // What a store has to search for is not searched for every two seconds.
    let page = match filters.is_cheap() {
        true => page.live(shown),
        false => page.lead(html! { (filters.form(&ask)) (shown) }),
    };
    Ok(match ask.may(Needs::Admin) {
        true => page.rest(erase_form(&ask, &filters)),
        false => page,
    })
}

async fn list(ask: &Ask, filters: &Filters, now: Timestamp) -> Result<Listed, Refused> {
    let until = filters.older_than.map(|when| when.at(now));
    let is_meant = |record: &Record| until.is_none_or(|until| record.claimed_at <= until);
    first_page(ask, filters.query(PAGE), is_meant).await
}

/// Those in a state.
pub(super) async fn of_state(
    ask: &Ask,
    filters: &Filters,
    state: StateFilter,
    is_meant: impl Fn(&Record) -> bool,
) -> Result<Listed, Refused> {
    let query = Query {
        state: Some(state),
        ..filters.query(PAGE)
    };
    first_page(ask, query, is_meant).await
}

/// The first page of the store with a record that is meant.
async fn first_page(
    ask: &Ask,
    mut query: Query,
    is_meant: impl Fn(&Record) -> bool,
) -> Result<Listed, Refused> {
    for _ in 0..LOOKED_AT_MAX {
        let mut page = ask_store(ask.app.parts.store.list(query.clone())).await?;
        page.records.retain(&is_meant);
        if !page.records.is_empty() || page.next.is_none() {
            return Ok(page);
        }
        query.before = page.next;
    }
    Ok(Listed {
        records: Vec::new(),
        next: query.before,
    })
}

fn records(ask: &Ask, filters: &Filters, listed: &Listed, now: Timestamp) -> Markup {
    let nothing = match filters.is_any() || filters.before.is_some() {
        true => ui::empty(
            "No record matches.",
            html! { a href=(ask.path()) { "Clear the filters" } ", or look for the key alone." },
        ),
        false => ui::empty(
            "There are no records yet.",
            html! { "A request with an idempotency key that passes the gateway, the layer or the claims API shows here." },
        ),
    };
    let next = listed.next.as_ref().map(Cursor::as_str);
    html! {
        (record::table("Records, the newest claim first", &listed.records, now).or(nothing))
        (ui::pager(ask, next))
    }
}

/// What is known of a key that has no record.
async fn elsewhere(
    ask: &Ask,
    filters: &Filters,
    key: &Key,
    now: Timestamp,
) -> Result<Markup, Refused> {
    let store = &ask.app.parts.store;
    let wanted = Wanted {
        key: key.clone(),
        tenant: filters.tenant.clone(),
        scope: filters.scope.clone(),
    };
    let archived = ask_store(find::archived(store, &wanted)).await?;
    let recent = ask_store(find::recent(store)).await?;
    let past = ask_store(find::past(store, &wanted, &recent)).await?;
    Ok(html! {
        @if !archived.is_empty() {
            (ui::section("In the archive", record::table("Archived records of this key", &archived, now).show()))
        }
        @if !past.is_empty() { (ui::section("Absent now, with a history", histories(&past, now))) }
    })
}

fn histories(past: &[(Identity, Vec<Event>)], now: Timestamp) -> Markup {
    let row = |(identity, events): &(Identity, Vec<Event>)| {
        let last = events.last();
        ui::Row::new(&identity.to_string())
            .cell(record::link(identity))
            .name(identity.scope().to_string())
            .name(identity.tenant().as_str())
            .cell(last.map_or_else(Markup::default, |event| ui::ago(event.at, now)))
            .text(last.map_or_else(String::new, |event| timeline::words(&event.kind)))
    };
    ui::Table::new("Histories without a record")
        .column("Key")
        .column("Scope")
        .column("Tenant")
        .column("Last")
        .column("What happened")
        .rows(past.iter().map(row))
        .show()
}

/// Erases the contents of all that match, a dry run first.
fn erase_form(ask: &Ask, filters: &Filters) -> Markup {
    let form = ask.form(html! {
        p.hint {
            "Headers, bodies and requests of settled and archived records go for good; the records stay and go on suppressing duplicates. "
            "The next step shows how many there are and changes nothing."
        }
        (ui::input("tenant", "Tenant", filters.said("tenant"), "acme"))
        (ui::input("scope", "Scope", filters.said("scope"), "payments@1"))
        (ui::input("key", "Key", filters.said("key"), "order-17"))
        (ui::input("older_than", "Settled before", filters.said("older_than"), "30d"))
        (ui::reason(true))
        (ask.who())
        (ui::danger("how", "erase", "Look what that would erase"))
    });
    ui::disclosure("erase-many", "Erase contents of many", form)
}

/// Erases the contents of many.
pub(crate) async fn act(act: Act) -> Result<Acted, Refused> {
    many::act(act, &many::Kind::Erase(Resolution::EraseContents)).await
}
