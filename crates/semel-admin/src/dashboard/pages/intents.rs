//! Intents: what handlers want sent, by target.

use maud::{Markup, html};
use semel_core::inbox::{Counts, State};

use super::inbox::filters::Filters;
use super::inbox::{acts, consumers, count, list, no_inbox, once_or_live};
use crate::api::inbox as api;
use crate::dashboard::{Ask, Page, ui};
use crate::refused::{Refused, ask as wait};
use crate::tokens::Needs;

/// The page's address.
pub(super) const PATH: &str = "/intents";
/// The states of what its provider has not taken.
const NOT_SENT: [State; 5] = [
    State::FailedTerminal,
    State::Parked,
    State::FailedRetryable,
    State::InProgress,
    State::Received,
];

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let Ok(part) = api::part(&ask.app) else {
        return Ok(no_inbox("Intents"));
    };
    let now = ask.app.now();
    let filters: Filters = ask.query()?;
    // What is listed is what is acted on.
    let filters = filters.or_states(&NOT_SENT);
    let consumer = filters.consumer()?;
    let counts = count(&ask, part).await?;
    let targets: Vec<&Counts> = counts
        .iter()
        .filter(|counts| consumers::is_target(&counts.consumer))
        .collect();
    let page = match &consumer {
        Some(_) => Some(wait(part.inbox.list_messages(filters.query(now)?)).await?),
        None => None,
    };
    let shown = html! {
        @if let Some(consumer) = &consumer { (consumers::one(&ask, consumer, &counts)) }
        @else { (ui::section("Targets", consumers::table(&ask, PATH, &targets, no_target()))) }
        @if let Some(page) = &page {
            (ui::section("Intents that are not sent", list::table(page, false, now, ui::empty("Everything is sent.", html! {
                "An intent stands here until its provider has taken it."
            }))))
            (ui::pager(&ask, page.next.map(|next| next.to_string()).as_deref()))
        }
    };
    let rest = html! {
        @if let Some(consumer) = consumer.as_ref().filter(|_| ask.may(Needs::Operate)) {
            @let is_paused = targets.iter().any(|counts| counts.consumer == *consumer && counts.paused.is_some());
            (ui::section("Act on all that match", acts::many(&ask, &filters, &acts::BY_HAND)))
            (ui::section(if is_paused { "Resume" } else { "Pause" }, acts::pause(&ask, consumer, is_paused)))
        }
        p.hint { "An intent keeps its key for its provider over all attempts. One whose outcome is unknown is asked about or sent again under that key; a retry with a new key may do it once more." }
    };
    let lead = lead(&ask, &filters, &targets);
    Ok(once_or_live("Intents", &filters, lead, shown).rest(rest))
}

fn lead(ask: &Ask, filters: &Filters, targets: &[&Counts]) -> Markup {
    let names: Vec<String> = targets
        .iter()
        .map(|counts| counts.consumer.to_string())
        .collect();
    let options: Vec<_> = [("", "all")]
        .into_iter()
        .chain(names.iter().map(|name| (name.as_str(), name.as_str())))
        .collect();
    ui::filter(
        ask,
        html! { (ui::select("consumer", "Target", &options, filters.consumer.as_deref())) },
    )
}

fn no_target() -> Markup {
    ui::empty(
        "No target has had an intent.",
        html! { "Name providers under " code { "intents" } " in semel.yaml; handlers answer with what is to be sent to them." },
    )
}
