//! Dead letters: what failed for good or is parked, over all consumers, in groups and one by one; and replays of what was dealt with.

use maud::{Markup, html};
use semel_core::Timestamp;
use semel_core::inbox::{Cause, Counts, Query, State};

use super::inbox::acts;
use super::inbox::filters::Filters;
use super::inbox::{count, lead, list, no_inbox, no_match};
use crate::api::inbox as api;
use crate::api::inbox::Verb;
use crate::dashboard::ui::Tone;
use crate::dashboard::{Ask, Page, ui};
use crate::messages::{Failures, Group, WALK_MAX, failures_of};
use crate::refused::{Refused, ask as wait};
use crate::tokens::Needs;

/// The page's address.
pub(super) const PATH: &str = "/dead-letters";
/// The states of dead letters.
const DEAD: [State; 2] = [State::FailedTerminal, State::Parked];
/// How many groups are shown.
const GROUPS_SHOWN: usize = 50;
/// How many messages of a group are shown.
const MEMBERS_SHOWN: usize = 20;

/// The page. It is not live: its groups are counted over many messages.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let Ok(part) = api::part(&ask.app) else {
        return Ok(no_inbox("Dead letters"));
    };
    let now = ask.app.now();
    let asked: Filters = ask.query()?;
    // A group has what is tried again by itself, too.
    let filters = match asked.group {
        Some(_) => asked.clone(),
        None => asked.or_states(&DEAD),
    };
    let counts = count(&ask, part).await?;
    let of_groups = Query {
        states: Vec::new(),
        ..filters.query(now)?
    };
    let found = wait(failures_of(part.inbox.as_ref(), of_groups)).await?;
    let chosen = filters.group.as_deref().map(|id| found.group(id));
    let page = match chosen {
        Some(Some(group)) => members(part.inbox.as_ref(), group).await?,
        Some(None) => semel_core::inbox::Page::default(),
        None => wait(part.inbox.list_messages(filters.query(now)?)).await?,
    };
    let content = html! {
        @if let Some(chosen) = chosen { (one_group(&ask, chosen, &found, &asked)) }
        @else { (ui::section("What is wrong", groups(&ask, &found, (&asked, none(&asked))))) }
        (ui::section("Messages", html! {
            (list::table(&page, filters.consumer.is_none(), now, none(&asked)))
            @if chosen.flatten().is_some_and(|group| group.members.len() > MEMBERS_SHOWN) { p.hint { "The newest " (MEMBERS_SHOWN) "." } }
        }))
        (ui::pager(&ask, page.next.map(|next| next.to_string()).as_deref()))
        @if ask.may(Needs::Operate) { (acting(&ask, &filters, &counts)) }
    };
    let lead = lead(&ask, &filters, &counts);
    Ok(Page::new("Dead letters").lead(lead).rest(content))
}

/// The newest messages of a group.
async fn members(
    inbox: &dyn semel_core::inbox::Inbox,
    group: &Group,
) -> Result<semel_core::inbox::Page, Refused> {
    let mut page = semel_core::inbox::Page::default();
    for identity in group.members.iter().take(MEMBERS_SHOWN) {
        let found = wait(inbox.message(identity.clone())).await?;
        page.entries.extend(found.map(|detail| detail.entry));
    }
    Ok(page)
}

fn groups(ask: &Ask, found: &Failures, (filters, none): (&Filters, Markup)) -> Markup {
    let now = ask.app.now();
    let row = |group: &Group| {
        let consumer = group.consumer.to_string();
        let link = ask.link(&[
            ("consumer", Some(&consumer)),
            ("group", Some(&group.id)),
            ("before", None),
        ]);
        ui::Row::new(&group.id)
            .cell(html! { a href=(link) { (ui::count(group.count)) } @if group.retrying > 0 { " " span.hint { (ui::count(group.retrying)) " retrying" } } })
            .name(&consumer)
            .name(group.cause.map_or("", Cause::name))
            .text(list::short(&group.error))
            .cell(ui::ago(group.first, now))
            .cell(ui::ago(group.last, now))
    };
    let table = ui::Table::new("Failures in groups, the largest first")
        .number("Messages")
        .column("Consumer")
        .column("Why");
    let table = table.column("Error").column("First").column("Last");
    html! {
        (table.rows(found.groups.iter().take(GROUPS_SHOWN).map(row)).or(none))
        @if found.groups.len() > GROUPS_SHOWN { p.hint { "The largest " (GROUPS_SHOWN) " of " (ui::count(found.groups.len() as u64)) " groups." } }
        @if let Some(before) = found.unseen_before { (older(filters, before, now)) }
    }
}

/// What is said where there are failures that were not looked at, with the address that shows them.
pub(super) fn older(filters: &Filters, before: Timestamp, now: Timestamp) -> Markup {
    let until = Some(before.to_string());
    let filters = Filters {
        until,
        ..filters.clone()
    };
    ui::notice(
        Tone::Warn,
        html! {
            "Only the newest " (ui::count(WALK_MAX as u64)) " of the failures that match were looked at. There are older ones: "
            a href=(ui::link_to(PATH, &filters.pairs())) { "see those received before " (ui::time(before, now)) } "."
        },
    )
}

fn one_group(ask: &Ask, group: Option<&Group>, found: &Failures, filters: &Filters) -> Markup {
    let now = ask.app.now();
    let rest = found
        .unseen_before
        .map(|before| older(filters, before, now));
    let Some(group) = group else {
        let why = match rest {
            Some(_) => "No failure of this group is among the newest.",
            None => "No failure of this group is left.",
        };
        return html! {
            (ui::empty(why, html! { a href=(PATH) { "See all dead letters" } }))
            @if let Some(rest) = rest { (rest) }
        };
    };
    html! {
        (ui::section("One group", ui::facts(&[
            ("Consumer", html! { (group.consumer) }),
            ("Why", html! { (group.cause.map_or("", Cause::name)) }),
            ("Error", html! { (group.error) }),
            ("The newest says", html! { (group.example.as_deref().unwrap_or_default()) }),
            ("Messages", html! { (ui::count(group.count)) @if group.retrying > 0 { ", " (ui::count(group.retrying)) " of them are tried again by themselves" } }),
            ("Between", html! { (ui::time(group.first, now)) " and " (ui::time(group.last, now)) }),
        ])))
        @if let Some(rest) = rest { (rest) }
        p { a href=(ask.link(&[("group", None)])) { "All groups" } }
    }
}

/// What can be done to all that matches, and to what was dealt with.
fn acting(ask: &Ask, filters: &Filters, counts: &[Counts]) -> Markup {
    let consumer = filters.consumer().ok().flatten();
    let Some(consumer) =
        consumer.filter(|consumer| counts.iter().any(|counts| counts.consumer == *consumer))
    else {
        return html! { p.hint { "Choose a consumer, or a group, to act on all of its messages that match." } };
    };
    let verbs: &[Verb] = match filters.group {
        Some(_) => &acts::OF_GROUPS,
        None => &[Verb::Retry, Verb::Unpark, Verb::Skip],
    };
    let dealt_with = Filters {
        state: None,
        cause: None,
        group: None,
        ..filters.clone()
    };
    html! {
        (ui::section("Act on all that match", acts::many(ask, filters, verbs)))
        @if filters.group.is_none() {
            (ui::section("Replay what was dealt with", html! {
                (acts::policy(ask, &consumer))
                (acts::many(ask, &dealt_with, &[Verb::Replay]))
            }))
        }
    }
}

fn none(asked: &Filters) -> Markup {
    match asked.is_empty() {
        true => ui::empty(
            "There are no dead letters.",
            html! { "A message comes here when its attempts are used up, or when its handler says that trying again does not help." },
        ),
        false => no_match(
            asked,
            "Leave a filter out: there may be other dead letters.",
        ),
    }
}
