//! One message: where it stands, its timeline, attempts and steps, its contents if asked for, and what can be done with it.

mod contents;
pub(super) mod edit;
mod history;

use maud::{Markup, html};
use semel_core::inbox::{Action, Cause, Detail, Entry, State};
use semel_core::{Identity, Tenant};
use semel_http::problem::{Problem, Type};
use serde::Deserialize;

use super::consumers::is_target;
use super::filters::Filters;
use super::{acts, gaps, list};
use crate::api::inbox as api;
use crate::api::inbox::Verb;
use crate::dashboard::{Ask, Page, ui};
use crate::inbox::InboxPart;
use crate::refused::{Refused, ask as wait};
use crate::tokens::Needs;

/// The page's address.
pub(in crate::dashboard::pages) const PATH: &str = "/inbox/one";

/// Which message, and how much of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    payload: Option<String>,
    answers: Option<String>,
}

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let Ok(part) = api::part(&ask.app) else {
        return Ok(super::no_inbox("Message"));
    };
    let (filters, asked): (Filters, Asked) = (ask.query()?, ask.query()?);
    let (consumer, id) = filters.consumer()?.zip(filters.id()?).ok_or_else(|| {
        Refused::from(Problem::new(
            Type::InvalidInput,
            "expected a consumer and an id",
        ))
    })?;
    let tenant = filters.tenant()?.unwrap_or_else(Tenant::public);
    let identity = Identity::new(tenant, consumer, id);
    let found = wait(part.inbox.message(identity.clone())).await?;
    let detail = found.ok_or_else(|| {
        Refused::from(Problem::new(
            Type::NotFound,
            format!("there is no message {identity}"),
        ))
    })?;
    let awaited = awaited(part, &detail.entry).await?;
    let live = html! {
        (ui::section("Where it stands", standing(&ask, &detail, awaited)))
        (ui::section("Timeline", history::timeline(&detail, &ask)))
        @if !detail.attempts.is_empty() {
            (ui::section("Attempts that did not complete", history::attempts(&detail, &ask, asked.answers.is_some())))
        }
        @if !detail.steps.is_empty() { (ui::section("Steps that are done", history::steps(&detail))) }
    };
    let rest = html! {
        (ui::section("Contents", contents::show(&ask, &detail, asked.payload.is_some())))
        @if ask.may(Needs::Operate) { (acting(&ask, &detail, asked.payload.is_some())) }
    };
    let title = identity.key().to_string();
    Ok(Page::new(title).lead(lead(&identity)).live(live).rest(rest))
}

fn lead(identity: &Identity) -> Markup {
    let consumer = identity.scope().to_string();
    let (path, name) = match is_target(identity.scope()) {
        true => (super::super::intents::PATH, "Intents"),
        false => (super::PATH, "Inbox"),
    };
    html! {
        p.hint {
            a href=(path) { (name) } " › " a href=(ui::link_to(path, &[("consumer", &consumer)])) { (consumer) }
            @if *identity.tenant() != Tenant::public() { " › tenant " strong { (identity.tenant()) } }
        }
    }
}

/// The versions that it waits for.
async fn awaited(part: &InboxPart, entry: &Entry) -> Result<Option<String>, Refused> {
    let (State::Parked, Some(Cause::Gap | Cause::GapExpired)) = (entry.state, entry.cause) else {
        return Ok(None);
    };
    let consumer = entry.identity.scope().clone();
    let found = wait(part.inbox.gaps(consumer, gaps::SHOWN_MAX)).await?;
    Ok(gaps::before(entry, &found))
}

/// Where it stands, as names and values.
fn standing(ask: &Ask, detail: &Detail, awaited: Option<String>) -> Markup {
    let (entry, now) = (&detail.entry, ask.app.now());
    let mut facts = vec![(
        "State",
        html! {
            (ui::state(entry.state.name())) " "
            @if let Some(cause) = entry.cause { (cause.name()) }
            " since " (ui::time(entry.changed_at, now))
        },
    )];
    let mut say =
        |name, text: Option<String>| facts.extend(text.map(|text| (name, html! { (text) })));
    say("Waits for", awaited);
    say("Last error", entry.error.clone());
    say("Type", entry.kind.clone());
    say(
        "Key",
        Some(list::place(entry)).filter(|place| !place.is_empty()),
    );
    say("Worker", entry.worker.clone());
    let by_hand = match entry.generation {
        0 => String::new(),
        times => format!("; run again by hand {times} times"),
    };
    say("Attempts", Some(format!("{}{by_hand}", entry.attempts)));
    say(
        "Duplicates",
        (entry.duplicates > 0)
            .then(|| format!("arrived again {} times", ui::count(entry.duplicates))),
    );
    if entry.generation == 0 {
        // A new key that an operator gave it would be another one.
        say(
            "Key for the provider",
            Some(semel_inbox::keys::of_message(&entry.identity)),
        );
    }
    facts.push(("Received", html! { (ui::time(entry.received_at, now)) @if let Some(place) = origin(detail) { " from " (place) } }));
    if let Some(due) = entry.due_at {
        let name = if entry.state == State::InProgress {
            "Lease until"
        } else {
            "Due"
        };
        facts.push((name, ui::time(due, now)));
    }
    if let Some(settled) = &detail.settled {
        facts.push((
            "Settled",
            html! { (settled.outcome.verdict.name()) " " (ui::time(settled.at, now)) },
        ));
    }
    if let Some(edited) = detail.edits.last() {
        facts.push((
            "Edited",
            html! { (edited.version) " times, last by " (edited.by) " " (ui::ago(edited.at, now)) },
        ));
    }
    ui::facts(&facts)
}

fn origin(detail: &Detail) -> Option<String> {
    let origin = detail.message.as_ref()?.origin();
    let mut text = origin.topic.clone();
    text += &origin.partition.map_or(String::new(), |partition| {
        format!(", partition {partition}")
    });
    text += &origin
        .offset
        .map_or(String::new(), |offset| format!(", offset {offset}"));
    (!origin.topic.is_empty()).then_some(text)
}

/// What can be done with it in its state.
fn acting(ask: &Ask, detail: &Detail, is_shown: bool) -> Markup {
    let identity = &detail.entry.identity;
    let filters = Filters {
        consumer: Some(identity.scope().to_string()),
        id: Some(identity.key().to_string()),
        tenant: Some(identity.tenant().to_string()),
        ..Filters::default()
    };
    let verbs: &[Verb] = match detail.entry.state {
        State::Received => &[Verb::Park, Verb::Skip],
        State::InProgress => &[],
        State::Completed | State::SkippedDuplicate => &[Verb::Replay],
        State::FailedRetryable | State::FailedTerminal => &[Verb::Retry, Verb::Park, Verb::Skip],
        State::Parked => &[Verb::Retry, Verb::Unpark, Verb::Skip],
    };
    let can_edit = matches!(
        detail.entry.state,
        State::FailedRetryable | State::FailedTerminal | State::Parked
    );
    html! {
        @if verbs.is_empty() {
            p.hint { "A worker has it. It can be acted on when the attempt has ended." }
        } @else {
            (ui::section("Decide", acts::many(ask, &filters, verbs)))
        }
        @if can_edit { (ui::section("Edit and retry", edit::form(ask, detail, is_shown))) }
        @if ask.may(Needs::Admin) && detail.message.is_some() && Action::EraseContents.states().contains(&detail.entry.state) {
            (ui::disclosure("erase-one", "Erase its contents", erase(ask, &filters)))
        }
    }
}

/// A form that erases the contents, the dry run first.
fn erase(ask: &Ask, filters: &Filters) -> Markup {
    ask.form_to(
        super::PATH,
        html! {
            p.hint { "Payload, headers, edits and errors go for good; the record stays, and a redelivery is still a duplicate." }
            (ui::keep(&filters.pairs()))
            (ui::keep(&[("verb", Verb::Erase.name()), ("back", &ask.here())]))
            (ui::reason(true))
            (ask.who())
            div.buttons { (ui::danger("look", "yes", "See what it would erase")) }
        },
    )
}
