//! Messages: how consumers stand, the messages that match, gaps, and acts on all that match.

pub(super) mod acts;
pub(super) mod consumers;
pub(super) mod filters;
mod gaps;
pub(super) mod list;
pub(in crate::dashboard) mod one;

use maud::{Markup, html};
use semel_core::Scope;
use semel_core::inbox::{Cause, Counts, State};

use crate::api::inbox as api;
use crate::dashboard::{Ask, Page, ui};
use crate::refused::{Refused, ask as wait};
use crate::tokens::Needs;
pub(crate) use acts::act;
use filters::Filters;

/// The page's address.
pub(super) const PATH: &str = "/inbox";

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let filters: Filters = ask.query()?;
    let (part, now) = (api::part(&ask.app)?, ask.app.now());
    let consumer = filters.consumer()?;
    let counts = wait(part.inbox.counts()).await?;
    let page = list::load(part.inbox.as_ref(), &filters, now).await?;
    let gaps = match &consumer {
        Some(consumer) => wait(part.inbox.gaps(consumer.clone(), gaps::SHOWN_MAX)).await?,
        None => Vec::new(),
    };
    let is_target = |counts: &&Counts| consumers::is_target(&counts.consumer);
    let shown: Vec<&Counts> = counts.iter().filter(|counts| !is_target(counts)).collect();
    let live = html! {
        @if let Some(consumer) = &consumer {
            (consumers::one(&ask, consumer, &counts))
        } @else {
            (ui::section("Consumers", consumers::table(&ask, PATH, &shown, no_consumer())))
        }
        @if !gaps.is_empty() { (ui::section("Versions that keys wait for", gaps::table(&gaps, now))) }
        (ui::section("Messages", list::table(&ask, &page, now, nothing(&filters))))
        (ui::pager(&ask, page.next.map(|next| next.to_string()).as_deref()))
    };
    let page = Page::new("Inbox")
        .lead(lead(&ask, &filters, &counts))
        .live(live);
    Ok(page.rest(rest(&ask, consumer.as_ref(), &filters, &counts)))
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
    let states: Vec<_> = [("", "any")]
        .into_iter()
        .chain(State::ALL.map(|s| (s.name(), s.name())))
        .collect();
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
        false => ui::empty(
            "No message matches.",
            html! { "Leave a filter out, or choose another state." },
        ),
    }
}
