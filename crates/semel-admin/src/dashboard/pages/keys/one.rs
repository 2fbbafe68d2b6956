//! A record: how it stands, what happened to it, what came of it, and what a person can do about it.

use maud::{Markup, html};
use semel_core::{
    Event, EventKind, Identity, Key, Outcome, Record, Scope, State, StoreExt, Tenant,
};
use semel_core::{Store, Timestamp};
use semel_http::trace;
use serde::Deserialize;

use super::decide::{self, How};
use super::{outcome, reconcile, record, timeline};
use crate::api::fields;
use crate::dashboard::{Ask, Page, ui};
use crate::records::find::{self, Wanted};
use crate::records::late;
use crate::refused::{Refused, ask as ask_store};
use crate::tokens::Needs;

/// The most bytes of a body that a page shows.
const BODY_SHOWN_MAX: usize = 256 * 1024;
/// The most records of the archive that a page shows.
const ARCHIVED_MAX: usize = 5;

/// Which record, and whether its contents are asked for.
#[derive(Deserialize)]
struct Asked {
    #[serde(deserialize_with = "fields::text")]
    tenant: Tenant,
    #[serde(deserialize_with = "fields::text")]
    scope: Scope,
    #[serde(deserialize_with = "fields::text")]
    key: Key,
    #[serde(default)]
    contents: bool,
}

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let Asked {
        tenant,
        scope,
        key,
        contents,
    } = ask.query()?;
    let identity = Identity::new(tenant, scope, key);
    let store = &ask.app.parts.store;
    let found = ask_store(store.look_up_one(identity.clone())).await?;
    let history = ask_store(store.history(identity.clone())).await?;
    // Some stores look through the whole archive for a key: once, and not with every update.
    let archived = match found.is_none() && !ask.is_update() {
        true => archived(store, &identity).await?,
        false => Vec::new(),
    };
    let now = ask.app.now();
    let found = found.as_deref();
    let live = html! {
        (standing(&identity, found, now))
        (ui::section("What happened", timeline::timeline(found, &history, now)))
    };
    let rest = html! {
        @for record in &archived { (in_archive(&ask, record, now)) }
        (payload(&ask, found, &history, contents))
        @if let Some(found) = found { (acts(&ask, found, &history)) }
    };
    let title = format!("Key {}", identity.key().as_str());
    Ok(Page::new(title).live(live).rest(rest))
}

/// The newest of its records whose retention has ended, without bodies.
async fn archived(store: &dyn Store, identity: &Identity) -> Result<Vec<Record>, Refused> {
    let wanted = Wanted {
        key: identity.key().clone(),
        tenant: Some(identity.tenant().clone()),
        scope: Some(identity.scope().clone()),
    };
    let mut archived = ask_store(find::archived(store, &wanted)).await?;
    archived.truncate(ARCHIVED_MAX);
    Ok(archived)
}

/// A record of the archive: what came of it, when, and the form that erases its contents.
fn in_archive(ask: &Ask, record: &Record, now: Timestamp) -> Markup {
    let mut facts = vec![("State", ui::state("archived"))];
    facts.extend(of_record(record, now).into_iter().skip(1));
    let content = html! {
        p.hint { "Its retention has ended, so that it suppresses nothing any more." }
        (ui::facts(&facts))
        @if ask.may(Needs::Admin) && !is_erased(record) {
            (decide::form(ask, record, (How::Erase, 0), "Erase its contents", html! {
                p.hint { "Headers, body and request go for good, in its history too." }
            }))
        }
    };
    ui::section("In the archive", content)
}

const fn is_erased(record: &Record) -> bool {
    match &record.state {
        State::Settled(settled) => settled.erased,
        State::Running { .. } | State::Unknown { .. } => false,
    }
}

fn standing(identity: &Identity, found: Option<&Record>, now: Timestamp) -> Markup {
    let mut facts: Vec<(&str, Markup)> = vec![
        ("Key", html! { code { (identity.key().as_str()) } }),
        ("Scope", html! { (identity.scope().to_string()) }),
        ("Tenant", html! { (identity.tenant().as_str()) }),
    ];
    match found {
        None => facts.push((
            "State",
            html! { (ui::state("absent")) " the next request runs" },
        )),
        Some(found) => facts.extend(of_record(found, now)),
    }
    ui::facts(&facts)
}

fn of_record(found: &Record, now: Timestamp) -> Vec<(&'static str, Markup)> {
    let mut facts = vec![("State", ui::state(found.state.name()))];
    if let Some(about) = &found.about {
        facts.push(("Request", html! { code { (about.to_string()) } }));
    }
    facts.extend(of_state(&found.state, now));
    facts.extend([
        ("Claimed", ui::time(found.claimed_at, now)),
        ("Attempt", html! { (found.attempt) }),
        ("Fence", html! { (found.fence.get()) }),
        (
            "Fingerprint",
            html! { code { (found.fingerprint.to_string()) } },
        ),
    ]);
    facts
}

fn of_state(state: &State, now: Timestamp) -> Vec<(&'static str, Markup)> {
    match state {
        State::Running { lease_until } => vec![("Lease until", ui::time(*lease_until, now))],
        State::Unknown {
            since,
            cause,
            evidence,
        } => vec![
            (
                "Because",
                html! { (record::why(*cause, evidence.as_ref())) },
            ),
            ("Since", ui::time(*since, now)),
        ],
        State::Settled(settled) => {
            let then = if settled.archive {
                "archived"
            } else {
                "deleted"
            };
            let mut facts = vec![
                ("Outcome", html! { (record::summary(&settled.outcome)) }),
                ("Settled", ui::time(settled.at, now)),
                (
                    "Kept until",
                    html! { (ui::time(settled.expires_at, now)) ", then " (then) },
                ),
            ];
            if settled.resolved {
                let decided =
                    html! { "by a person or a reconciler, not by its run; it can be corrected" };
                facts.push(("Decided", decided));
            }
            if settled.erased {
                let erased = html! { "its contents; duplicates get the status and no body" };
                facts.push(("Erased", erased));
            }
            facts
        }
    }
}

/// Headers and bodies, which may be private: they are there only if the viewer asks for them.
fn payload(ask: &Ask, found: Option<&Record>, history: &[Event], is_asked: bool) -> Markup {
    let settled = found.and_then(|found| match &found.state {
        State::Settled(settled) => Some(&settled.outcome),
        State::Running { .. } | State::Unknown { .. } => None,
    });
    let late: Vec<(u64, &Outcome)> = history
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::LateOutcome(outcome) => Some((event.fence.get(), outcome)),
            _ => None,
        })
        .collect();
    if settled.is_none() && late.is_empty() {
        return Markup::default();
    }
    let content = match is_asked {
        false => html! {
            p.hint { "Header values and bodies may be private, so they are not shown unless you ask." }
            p { a.button href=(ask.link(&[("contents", Some("true"))])) { "Show headers and body" } }
        },
        true => html! {
            @if let Some(settled) = settled { (contents(settled)) }
            @for (fence, outcome) in late {
                h3 { "Late outcome of fence " (fence) }
                (contents(outcome))
            }
            p { a.button href=(ask.link(&[("contents", None)])) { "Hide them" } }
        },
    };
    ui::section("Headers and body", content)
}

fn contents(outcome: &Outcome) -> Markup {
    let line = |(name, value): (&str, &bytes::Bytes)| {
        format!("{name}: {}", String::from_utf8_lossy(value).escape_debug())
    };
    let headers: Vec<String> = trace::answered_with(&outcome.headers).map(line).collect();
    html! {
        @if let Some(ran) = trace::ran_by(&outcome.headers) { p.hint { "Trace of the run: " code { (ran.to_string()) } } }
        @if !headers.is_empty() { (ui::code(&headers.join("\n"))) }
        @match outcome.body.kept() {
            None => { p { "The body of " (ui::bytes(outcome.body.len())) " is not on record." } }
            Some(bytes) if bytes.is_empty() => { p { "The body is empty." } }
            Some(bytes) => (body(bytes))
        }
    }
}

fn body(bytes: &[u8]) -> Markup {
    let Ok(text) = std::str::from_utf8(bytes) else {
        let len = ui::bytes(bytes.len() as u64);
        return html! { p { (len) " that are not text; the API gives them in base64." } };
    };
    let shown = &text[..text.floor_char_boundary(BODY_SHOWN_MAX)];
    html! {
        (ui::code(shown))
        @if shown.len() < text.len() {
            p.hint { "The first " (ui::bytes(shown.len() as u64)) " of " (ui::bytes(text.len() as u64)) "." }
        }
    }
}

/// What a person can do about the record, as it stands and by its role.
fn acts(ask: &Ask, found: &Record, history: &[Event]) -> Markup {
    let nth_form = |which, title: &str, fields| decide::form(ask, found, which, title, fields);
    let form = |how, title: &str, fields| nth_form((how, 0), title, fields);
    let (operates, administers) = (ask.may(Needs::Operate), ask.may(Needs::Admin));
    let forms = match &found.state {
        State::Unknown { .. } if operates => html! {
            (form(How::Release, "It did not happen: release it", html! {
                p.hint { "The next request with this key runs. Its first owner must be dead, or be refused by the provider." }
            }))
            (reconcile::form(ask, found))
            (form(How::Settle, "It happened: put an outcome on record", outcome::fields(true)))
            @for (nth, (fence, late)) in late::candidates(found.fence, history).into_iter().enumerate() {
                (nth_form((How::Adopt, nth), &format!("Adopt the late outcome of fence {fence}"), html! {
                    p.hint { "It came after its lease had ended: " (record::summary(late)) "." }
                    (ui::input("retention", "Kept for", None, "24h"))
                    input type="hidden" name="late" value=(fence.get());
                }))
            }
        },
        State::Settled(settled) => html! {
            @if operates && settled.resolved {
                (form(How::Correct, "Correct what was decided", outcome::fields(false)))
            }
            @if administers && !settled.erased {
                (form(How::Erase, "Erase its contents", html! {
                    p.hint { "Headers, body and request go for good, in its history too. The record stays and suppresses duplicates." }
                }))
            }
            @if administers {
                (form(How::Purge, "Purge the record", html! {
                    p.hint { "The record is forgotten: a request that comes again runs again." }
                }))
            }
        },
        State::Running { .. } | State::Unknown { .. } => Markup::default(),
    };
    match forms.0.is_empty() {
        true => forms,
        false => ui::section("Decide", forms),
    }
}
