//! Messages: how consumers stand, the messages that match, gaps, and acts on all that match.

pub(super) mod acts;
pub(super) mod consumers;
pub(super) mod filters;
mod gaps;
mod lanes;
pub(super) mod list;
pub(in crate::dashboard) mod one;

use maud::{Markup, html};
use semel_core::Scope;
use semel_core::inbox::{Cause, Counts, Order, State};

use crate::api::inbox as api;
use crate::dashboard::history::fresh_for;
use crate::dashboard::{Ask, Page, ui};
use crate::inbox::InboxPart;
use crate::refused::{Refused, ask as wait};
use crate::tokens::Needs;
pub(crate) use acts::act;
use filters::Filters;

/// The page's address.
pub(super) const PATH: &str = "/inbox";

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let Ok(part) = api::part(&ask.app) else {
        return Ok(no_inbox("Inbox"));
    };
    let filters: Filters = ask.query()?;
    let now = ask.app.now();
    let consumer = filters.consumer()?;
    let counts = count(&ask, part).await?;
    let page = wait(part.inbox.list_messages(filters.query(now)?)).await?;
    let ordered = ordered(&ask, consumer.as_ref(), &counts);
    let waits = lanes::load(part.inbox.as_ref(), &ordered).await?;
    let is_target = |counts: &&Counts| consumers::is_target(&counts.consumer);
    let listed: Vec<&Counts> = counts.iter().filter(|counts| !is_target(counts)).collect();
    let shown = html! {
        @if let Some(consumer) = &consumer {
            (consumers::one(&ask, consumer, &counts))
        } @else {
            (ui::section("Consumers", consumers::table(&ask, PATH, &listed, no_consumer())))
        }
        (waits.show(consumer.is_none(), now))
        (ui::section("Messages", list::table(&page, consumer.is_none(), now, nothing(&filters))))
        (ui::pager(&ask, page.next.map(|next| next.to_string()).as_deref()))
    };
    let page = once_or_live("Inbox", &filters, lead(&ask, &filters, &counts), shown);
    Ok(page.rest(rest(&ask, consumer.as_ref(), &filters, &counts)))
}

/// A page with a list. What a store has to search for is not searched for every two seconds.
pub(super) fn once_or_live(title: &str, filters: &Filters, lead: Markup, shown: Markup) -> Page {
    let page = Page::new(title);
    match filters.is_cheap() {
        true => page.lead(lead).live(shown),
        false => page.lead(html! { (lead) (shown) }),
    }
}

/// The counts of all consumers, which all viewers share.
pub(super) async fn count(ask: &Ask, part: &InboxPart) -> Result<Vec<Counts>, Refused> {
    let parts = &ask.app.parts;
    let metrics = parts.store.metrics();
    match metrics
        .inbox_counts(part, &parts.clock, fresh_for(ask))
        .await
    {
        Some(counts) => Ok(counts),
        // It says why it does not answer.
        None => wait(part.inbox.counts()).await,
    }
}

/// The consumers whose keys may wait: the one that is chosen, or all with an order that have messages which wait.
fn ordered(ask: &Ask, chosen: Option<&Scope>, counts: &[Counts]) -> Vec<Scope> {
    if let Some(consumer) = chosen {
        return vec![consumer.clone()];
    }
    let Ok(part) = api::part(&ask.app) else {
        return Vec::new();
    };
    let policies = part.policies.get();
    let waits = |counts: &&Counts| counts.received + counts.parked > 0;
    let has_order = |consumer: &Scope| !matches!(policies.plan(consumer).order, Order::None);
    let all = counts
        .iter()
        .filter(waits)
        .map(|counts| counts.consumer.clone());
    all.filter(has_order).take(lanes::CONSUMERS_MAX).collect()
}

/// What a page about messages says where the store keeps none.
pub(super) fn no_inbox(title: &str) -> Page {
    Page::new(title).rest(ui::empty(
        "This store has no inbox.",
        html! {
            "Messages, dead letters and intents are kept in SQLite or PostgreSQL; Redis keeps keys alone, and so does the hybrid. Start the process with "
            code { "store: sqlite:semel.db" } " or " code { "store: postgres://…" } " in semel.yaml to receive messages."
        },
    ))
}

/// The filters of a list of messages.
pub(super) fn lead(ask: &Ask, filters: &Filters, counts: &[Counts]) -> Markup {
    let mut names: Vec<String> = counts
        .iter()
        .map(|counts| counts.consumer.to_string())
        .collect();
    names.extend(filters.consumer.clone());
    names.sort_unstable();
    names.dedup();
    let options = |all| {
        let named = names.iter().map(|name| (name.as_str(), name.as_str()));
        [("", all)].into_iter().chain(named).collect::<Vec<_>>()
    };
    let mut states: Vec<_> = [("", "any")]
        .into_iter()
        .chain(State::ALL.map(|s| (s.name(), s.name())))
        .collect();
    // Several states, as a link names them, stay chosen.
    let several = filters.state.as_deref();
    states.extend(
        several
            .filter(|names| names.contains(','))
            .map(|names| (names, names)),
    );
    let causes: Vec<_> = [("", "any")]
        .into_iter()
        .chain(Cause::ALL.map(|c| (c.name(), c.name())))
        .collect();
    let text = |value: &Option<String>| value.clone();
    ui::filter(
        ask,
        html! {
            (ui::select("consumer", "Consumer", &options("all"), filters.consumer.as_deref()))
            @if ask.path() != super::dead_letters::PATH {
                (ui::select("state", "State", &states, filters.state.as_deref()))
            }
            (ui::select("cause", "Cause", &causes, filters.cause.as_deref()))
            (ui::input("id", "Id", text(&filters.id).as_deref(), "evt-17"))
            (ui::input("lane", "Key", text(&filters.lane).as_deref(), "order-17"))
            (ui::input("tenant", "Tenant", text(&filters.tenant).as_deref(), "acme"))
            (ui::input("from", "Received from", text(&filters.from).as_deref(), "2h"))
            (ui::input("until", "Received before", text(&filters.until).as_deref(), "10m"))
        },
    )
}

/// What can be done to all that matches.
fn rest(ask: &Ask, consumer: Option<&Scope>, filters: &Filters, counts: &[Counts]) -> Markup {
    let Some(consumer) = consumer.filter(|_| ask.may(Needs::Operate)) else {
        return html! {
            @if ask.may(Needs::Operate) { p.hint { "Choose a consumer to act on all of its messages that match, or to pause it." } }
        };
    };
    let known = counts.iter().find(|counts| counts.consumer == *consumer);
    let is_paused = known.is_some_and(|counts| counts.paused.is_some());
    html! {
        (ui::section("Act on all that match", acts::many(ask, filters, &acts::BY_HAND)))
        (ui::section(if is_paused { "Resume" } else { "Pause" }, acts::pause(ask, consumer, is_paused)))
    }
}

fn no_consumer() -> Markup {
    ui::empty(
        "No consumer has had a message.",
        html! { "Name one under " code { "consumers" } " in semel.yaml, or hand one in: " code { "semel inbox send NAME --new-consumer" } },
    )
}

fn nothing(filters: &Filters) -> Markup {
    match filters.is_empty() {
        true => ui::empty(
            "There are no messages.",
            html! { "They stand here as soon as a source delivers one." },
        ),
        false => no_match(filters, "Leave a filter out, or choose another state."),
    }
}

/// What is said where filters hide all messages.
pub(super) fn no_match(filters: &Filters, next: &str) -> Markup {
    ui::empty(
        "No message matches.",
        html! {
            (next)
            @if let Some(id) = &filters.id {
                " Of a message that is no longer kept its record is left: " a href=(ui::link_to("/keys", &[("key", id)])) { "look for its key" } "."
            }
        },
    )
}
