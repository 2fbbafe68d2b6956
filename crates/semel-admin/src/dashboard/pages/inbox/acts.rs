//! Acts on messages: look at what one would do, then confirm it. They call what the API calls.

use maud::{Markup, html};
use semel_core::Scope;
use semel_core::inbox::{Action, Operation, Report};
use semel_http::problem::{Problem, Type};
use serde::Deserialize;
use serde_json::json;

use super::super::dead_letters::older;
use super::consumers::is_target;
use super::filters::Filters;
use super::list;
use crate::api::inbox::{self as api, ActInput, Door, PauseInput, Verb};
use crate::dashboard::ui::Tone;
use crate::dashboard::{Act, Acted, Ask, Page, ui};
use crate::input::refuse_field;
use crate::messages::Done;
use crate::refused::Refused;
use crate::tokens::Needs;

/// What is done by hand to messages that were not dealt with.
pub(in crate::dashboard::pages) const BY_HAND: [Verb; 4] =
    [Verb::Retry, Verb::Park, Verb::Unpark, Verb::Skip];
/// What is done to a whole group of failures.
pub(in crate::dashboard::pages) const OF_GROUPS: [Verb; 3] = [Verb::Retry, Verb::Park, Verb::Skip];

/// What a form says beside its filters.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Form {
    verb: Option<String>,
    reason: Option<String>,
    by: Option<String>,
    new_key: Option<String>,
    force: Option<String>,
    confirmed: Option<String>,
    back: Option<String>,
}

/// Whatever the page's forms ask for.
pub(crate) async fn act(act: Act) -> Result<Acted, Refused> {
    let (form, filters): (Form, Filters) = (act.fields()?, act.fields()?);
    act.reason()?;
    let name = form.verb.as_deref().unwrap_or_default();
    match name {
        "pause" | "resume" => return set_paused(&act, &form, &filters).await,
        "edit" => return super::one::edit::act(act).await,
        _ => {}
    }
    let verb = Verb::ALL.into_iter().find(|verb| verb.name() == name);
    let verb =
        verb.ok_or_else(|| refuse_field("verb", "expected what is to be done, found none"))?;
    if verb == Verb::Erase {
        act.ask.caller.must(Needs::Admin)?;
    }
    let filters = filters.settled(act.ask.app.now())?;
    let is_confirmed = form.confirmed.is_some();
    let input = input(&form, &filters, verb, !is_confirmed)?;
    let ask = &act.ask;
    let done = api::perform(&ask.app, &ask.caller, input, (verb, Door::Dashboard)).await?;
    let (done, operation) = done;
    Ok(match is_confirmed {
        true => Acted::done(back(&form), done_in_words(verb, &done)),
        false => Acted::Show(forecast(ask, &form, (&filters, verb), (&done, &operation))),
    })
}

/// What the API takes, so that both doors check the same.
fn input(form: &Form, filters: &Filters, verb: Verb, dry_run: bool) -> Result<ActInput, Refused> {
    if filters.consumer.is_none() {
        return Err(refuse_field(
            "consumer",
            "an act is on messages of one consumer; choose it",
        ));
    }
    let states: Vec<&str> = filters.states()?.iter().map(|state| state.name()).collect();
    let ids: Vec<&String> = filters.id.iter().collect();
    let fields = json!({
        "consumer": filters.consumer, "ids": ids, "all": true, "tenant": filters.tenant, "states": states, "cause": filters.cause,
        "lane": filters.lane, "from": filters.from, "until": filters.until, "group": filters.group,
        "unchanged_since": filters.unchanged_since, "by": form.by,
        "reason": form.reason, "dry_run": dry_run, "new_key": form.new_key.is_some(),
        "force": form.force.is_some() && verb == Verb::Replay,
    });
    serde_json::from_value(fields)
        .map_err(|error| Problem::new(Type::InvalidInput, error.to_string()).into())
}

/// Where the browser goes afterwards: back to where the form was.
fn back(form: &Form) -> String {
    let is_local = |back: &&String| {
        back.starts_with('/') && !back.starts_with("//") && !back.contains(['\\', '\r', '\n'])
    };
    let back = form.back.as_ref().filter(is_local);
    back.map_or_else(|| super::PATH.to_owned(), Clone::clone)
}

/// A form that acts on everything that its filters leave, the dry run first.
pub(in crate::dashboard::pages) fn many(ask: &Ask, filters: &Filters, verbs: &[Verb]) -> Markup {
    let options: Vec<_> = verbs
        .iter()
        .map(|verb| (verb.name(), label(*verb)))
        .collect();
    ask.form_to(
        super::PATH,
        html! {
            (ui::keep(&filters.pairs()))
            (ui::keep(&[("back", &ask.here())]))
            (ui::select("verb", "What to do", &options, None))
            @if verbs.contains(&Verb::Retry) && is_of_target(filters) {
                (ui::checkbox("new_key", "Retry with a new key: the provider may do once more what it did before"))
            }
            (ui::reason(true))
            (ask.who())
            div.buttons { (ui::button("look", "yes", "See what it would do")) }
        },
    )
}

/// Whether these are intents, whose provider knows them by a key.
fn is_of_target(filters: &Filters) -> bool {
    let consumer = filters.consumer().ok().flatten();
    consumer.is_some_and(|consumer| is_target(&consumer))
}

/// What a verb does, in a line.
const fn label(verb: Verb) -> &'static str {
    match verb {
        Verb::Retry => "Retry: run again, attempts counted anew",
        Verb::Park => "Park: set aside until somebody decides",
        Verb::Unpark => "Unpark: go on with the attempts they had",
        Verb::Skip => "Skip: never run them",
        Verb::Replay => "Replay: run once more what was dealt with",
        Verb::Erase => "Erase contents: payload, headers, edits, errors; the record stays",
    }
}

/// What an act would do, with a form that confirms it.
fn forecast(
    ask: &Ask,
    form: &Form,
    (filters, verb): (&Filters, Verb),
    (done, operation): (&Done, &Operation),
) -> Page {
    let report = &done.report;
    let title = format!("{}: what it would do", capital(verb.name()));
    let consumer = &operation.plan.consumer;
    let kept = [
        ("verb", Some(verb.name())),
        ("back", form.back.as_deref()),
        ("unchanged_since", filters.unchanged_since.as_deref()),
        ("new_key", form.new_key.as_deref()),
        ("confirmed", Some("yes")),
    ];
    let kept: Vec<_> = kept
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    let has_new_key = matches!(operation.action, Action::Retry { new_key: true });
    let is_grave = has_new_key || matches!(verb, Verb::Skip | Verb::Replay | Verb::Erase);
    let must_force =
        verb == Verb::Replay && !replay_of(ask, consumer).is_some_and(|replay| replay.allowed);
    let button = format!(
        "{} {} messages",
        capital(verb.name()),
        ui::count(report.changed)
    );
    let confirm = html! {
        (ui::keep(&filters.pairs()))
        (ui::keep(&kept))
        @if must_force { (ui::keep(&[("force", "yes")])) }
        (ui::reason_again(form.reason.as_deref()))
        @match &form.by {
            Some(by) => (ui::keep(&[("by", by)])),
            None => (ask.who()),
        }
        div.buttons {
            @if is_grave { (ui::danger("go", "yes", &button)) } @else { (ui::button("go", "yes", &button)) }
            a href=(back(form)) { "Change nothing" }
        }
    };
    Page::new(title).rest(html! {
        p { "Of " strong { (consumer) } ": " (operation.select.describe()) ". Nothing has been changed." }
        @if let Some(looked) = operation.select.unchanged_since {
            p.hint { "What arrives or changes after " (ui::time(looked, ask.app.now())) " is left alone." }
        }
        @if verb == Verb::Replay { (policy(ask, consumer)) }
        @if has_new_key { (ui::notice(Tone::Warn, html! { "The provider is given a new key for each: it may do once more what it did before." })) }
        (facts(report))
        @if let Some(before) = done.unseen_before { (older(filters, before, ask.app.now())) }
        @if report.changed == 0 {
            (ui::empty("Nothing would change.", html! { a href=(back(form)) { "Go back" } " and choose other messages." }))
        } @else {
            (ask.form_to(super::PATH, confirm))
        }
    })
}

/// What a report counts.
fn facts(report: &Report) -> Markup {
    let number = |number: u64| html! { (ui::count(number)) };
    let mut facts = vec![
        ("Match", number(report.matched)),
        ("Would change", number(report.changed)),
        ("Would stay as they are", number(report.skipped)),
    ];
    let rest = [
        ("of these, settled by another door", report.settled),
        ("of these, older versions", report.older),
        ("of these, waiting for others", report.waiting),
        ("Conflicts among those that change", report.conflicts),
        ("Gone: payload no longer kept", report.gone),
    ];
    facts.extend(
        rest.into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| (name, number(count))),
    );
    if !report.sample.is_empty() {
        let sample = html! {
            @for identity in &report.sample { a.mono href=(list::address(identity)) { (identity.key()) } " " }
        };
        facts.push(("Some of them", sample));
    }
    html! {
        (ui::facts(&facts))
        @if report.more { (ui::notice(Tone::Warn, html! { "There may be more than one step changes: do it again until nothing changes any more." })) }
    }
}

fn replay_of(ask: &Ask, consumer: &Scope) -> Option<semel_inbox::Replay> {
    Some(api::part(&ask.app).ok()?.policies.get().replay(consumer))
}

/// What a consumer's policy says about replays.
pub(in crate::dashboard::pages) fn policy(ask: &Ask, consumer: &Scope) -> Markup {
    let Some(replay) = replay_of(ask, consumer) else {
        return Markup::default();
    };
    let effects = match replay.side_effects {
        semel_inbox::policy::replay::SideEffects::Allow => {
            "Intents of a replay are sent again like any."
        }
        semel_inbox::policy::replay::SideEffects::Suppress
        | semel_inbox::policy::replay::SideEffects::None => {
            "Intents of a replay are suppressed and counted."
        }
    };
    let rebuild = match replay.rebuild {
        true => " It is a rebuild: versions that were applied are applied again.",
        false => "",
    };
    let tone = if replay.allowed {
        Tone::Plain
    } else {
        Tone::Bad
    };
    ui::notice(
        tone,
        html! {
            "The policy of " strong { (consumer) } @if replay.allowed { " allows replays. " } @else {
                " does not allow replays, because its effects reach others. To replay all the same needs a reason. "
            }
            (effects) (rebuild)
        },
    )
}

fn done_in_words(verb: Verb, done: &Done) -> String {
    let report = &done.report;
    let what = match verb {
        Verb::Retry => "run again",
        Verb::Park => "are parked",
        Verb::Unpark => "go on",
        Verb::Skip => "are passed over for good",
        Verb::Replay => "run once more",
        Verb::Erase => "hold nothing any more",
    };
    let more = match (report.more, done.unseen_before) {
        (true, _) => "; there may be more",
        (false, Some(_)) => "; older failures were not looked at",
        (false, None) => "",
    };
    let stay = match report.skipped {
        0 => String::new(),
        stay => format!(", {} stay as they are", ui::count(stay)),
    };
    format!("{} messages {what}{stay}{more}.", ui::count(report.changed))
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(word.len().min(1));
    first.to_uppercase() + rest
}

/// A form that pauses a consumer, or lets it go on.
pub(in crate::dashboard::pages) fn pause(ask: &Ask, consumer: &Scope, is_paused: bool) -> Markup {
    let (verb, label) = match is_paused {
        true => ("resume", "Resume"),
        false => ("pause", "Pause in all processes"),
    };
    ask.form_to(
        super::PATH,
        html! {
            (ui::keep(&[("consumer", &consumer.to_string()), ("verb", verb), ("back", &ask.here())]))
            (ui::reason(true))
            (ask.who())
            div.buttons { (ui::button("go", "yes", label)) }
        },
    )
}

async fn set_paused(act: &Act, form: &Form, filters: &Filters) -> Result<Acted, Refused> {
    let paused = form.verb.as_deref() == Some("pause");
    let fields = json!({ "consumer": filters.consumer, "by": form.by, "reason": form.reason });
    let input: PauseInput = serde_json::from_value(fields)
        .map_err(|error| Refused::from(Problem::new(Type::InvalidInput, error.to_string())))?;
    api::set_paused(&act.ask.app, &act.ask.caller, input, paused).await?;
    let consumer = filters.consumer.as_deref().unwrap_or_default();
    let notice = match paused {
        true => format!("{consumer} is paused: it receives messages and runs none."),
        false => format!("{consumer} goes on."),
    };
    Ok(Acted::done(back(form), notice))
}
