//! Edit and retry: the payload in a form, what would differ, then the edit.

use std::borrow::Cow;

use maud::{Markup, html};
use semel_core::Headers;
use semel_core::inbox::{Action, Detail, Edit, Operation, Report};
use semel_http::problem::{Problem, Type};
use semel_inbox::source::Notes;
use serde::Deserialize;
use serde_json::json;

use super::super::list;
use crate::api::inbox::{self as api, Door, EditInput};
use crate::dashboard::ui::Tone;
use crate::dashboard::{Act, Acted, Ask, Page, line_ends, ui};
use crate::messages::{LineEnds, current, diff};
use crate::refused::Refused;

/// The largest payload that a form takes; larger ones are edited on the command line.
const FORM_MAX: usize = 1024 * 1024;

/// What the form says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Form {
    consumer: Option<String>,
    id: Option<String>,
    tenant: Option<String>,
    payload: Option<String>,
    content_type: Option<String>,
    /// Whether the lines of the payload end with CR LF, which forms do not say.
    crlf: Option<String>,
    /// Whether there is no payload, so that an empty field is none either.
    tombstone: Option<String>,
    /// The newest edit that the form was made of.
    seen_version: Option<String>,
    new_key: Option<String>,
    reason: Option<String>,
    by: Option<String>,
    confirmed: Option<String>,
}

/// The form with what runs now; the payload must be shown for that.
pub(super) fn form(ask: &Ask, detail: &Detail, is_shown: bool) -> Markup {
    let Some((payload, headers)) = current(detail) else {
        return ui::empty(
            "It is no longer kept.",
            html! { "There is nothing left to edit." },
        );
    };
    // A parser of HTML reads another character for NUL.
    let text = std::str::from_utf8(payload)
        .ok()
        .filter(|text| text.len() <= FORM_MAX && !text.contains('\0'));
    let Some(text) = text else {
        return ui::empty(
            "The payload is not text, or too large for a form.",
            on_the_command_line(),
        );
    };
    let ends = LineEnds::of(text);
    if ends == LineEnds::Mixed {
        return ui::empty(
            "The lines of the payload end in more than one way, and a form does not keep that.",
            on_the_command_line(),
        );
    }
    if !is_shown {
        return html! { p { a href=(ask.link(&[("payload", Some("true"))])) { "Show the payload to edit it" } } };
    }
    let kind = content_type(headers).and_then(|value| std::str::from_utf8(value).ok());
    let identity = &detail.entry.identity;
    let names = [
        identity.scope().to_string(),
        identity.key().to_string(),
        identity.tenant().to_string(),
    ];
    let version = detail.edits.last().map_or(0, |edited| edited.version);
    let version = version.to_string();
    let mut kept = vec![
        ("verb", "edit"),
        ("consumer", &*names[0]),
        ("id", &*names[1]),
        ("tenant", &*names[2]),
        ("seen_version", &*version),
    ];
    kept.extend((ends == LineEnds::CrLf).then_some(("crlf", "yes")));
    kept.extend(
        Notes::of(headers)
            .is_tombstone
            .then_some(("tombstone", "yes")),
    );
    ask.form_to(
        super::super::PATH,
        html! {
            p.hint { "It runs again with this, under the same id and key. The original is kept, and duplicates go on being compared with it." }
            (ui::keep(&kept))
            (ui::area("payload", "Payload", text))
            (ui::input("content_type", "Content type", kind, "application/json"))
            (ui::checkbox("new_key", "Give the provider a new key: it may do once more what it did before"))
            (ui::reason(true))
            (ask.who())
            div.buttons { (ui::button("look", "yes", "See what would change")) }
        },
    )
}

/// Shows what differs, then edits.
pub(in crate::dashboard::pages::inbox) async fn act(act: Act) -> Result<Acted, Refused> {
    let mut form: Form = act.fields()?;
    form.payload = form
        .payload
        .map(|payload| line_ends(&payload, form.crlf.is_some()));
    let is_confirmed = form.confirmed.is_some();
    let input = input(&form, !is_confirmed)?;
    let ask = &act.ask;
    let done = api::perform_edit(&ask.app, &ask.caller, input, Door::Dashboard).await?;
    let (report, operation, before) = done;
    let to = list::address(&before.entry.identity);
    Ok(match (is_confirmed, report.changed) {
        (true, 0) => Acted::done(to, "It has changed meanwhile, and was not edited."),
        (true, _) => Acted::done(to, "It is edited, and runs again."),
        (false, _) => Acted::Show(forecast(ask, &form, &before, (&report, &operation))),
    })
}

/// The value of the header that says what the payload is.
fn content_type(headers: &Headers) -> Option<&[u8]> {
    let mut named = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    named.next().map(|(_, value)| value.as_ref())
}

fn on_the_command_line() -> Markup {
    html! { "Edit it on the command line: " code { "semel inbox edit CONSUMER ID --payload @FILE --reason WHY" } }
}

/// What the API takes, so that both doors check the same.
fn input(form: &Form, dry_run: bool) -> Result<EditInput, Refused> {
    let headers: Vec<(&str, &String)> = form
        .content_type
        .iter()
        .map(|kind| ("Content-Type", kind))
        .collect();
    let is_none = form.tombstone.is_some() && form.payload.is_none();
    let body = (!is_none).then(|| form.payload.clone().unwrap_or_default());
    let seen_version: Option<u32> = form
        .seen_version
        .as_ref()
        .and_then(|text| text.parse().ok());
    let fields = json!({
        "consumer": form.consumer, "id": form.id, "tenant": form.tenant, "body": body, "seen_version": seen_version,
        "headers": headers, "new_key": form.new_key.is_some(), "by": form.by, "reason": form.reason.clone().unwrap_or_default(),
        "dry_run": dry_run,
    });
    serde_json::from_value(fields)
        .map_err(|error| Problem::new(Type::InvalidInput, error.to_string()).into())
}

fn forecast(
    ask: &Ask,
    form: &Form,
    before: &Detail,
    (report, operation): (&Report, &Operation),
) -> Page {
    let after = operation
        .edit
        .as_ref()
        .map(|edit| edit.payload().clone())
        .unwrap_or_default();
    let before_payload = current(before)
        .map(|(payload, _)| payload.clone())
        .unwrap_or_default();
    let fields = [
        ("verb", Some("edit")),
        ("consumer", form.consumer.as_deref()),
        ("id", form.id.as_deref()),
        ("tenant", form.tenant.as_deref()),
        ("payload", form.payload.as_deref()),
        ("content_type", form.content_type.as_deref()),
        ("crlf", form.crlf.as_deref()),
        ("tombstone", form.tombstone.as_deref()),
        ("seen_version", form.seen_version.as_deref()),
        ("new_key", form.new_key.as_deref()),
        ("reason", form.reason.as_deref()),
        ("by", form.by.as_deref()),
        ("confirmed", Some("yes")),
    ];
    let kept: Vec<_> = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    let back = list::address(&before.entry.identity);
    Page::new("Edit and retry: what would change").rest(html! {
        @if report.changed == 0 {
            (ui::notice(Tone::Warn, html! { "It cannot be edited as it stands: it has changed, or waits for others of its key." }))
            p { a href=(back) { "Look at it" } }
        } @else {
            p { strong { (before.entry.identity.key()) } " of " (before.entry.identity.scope()) ": "
                (ui::bytes(before_payload.len() as u64)) " become " (ui::bytes(after.len() as u64)) ". Nothing has been changed." }
            (about(before, operation))
            (lines(&differences(&before_payload, &after)))
            (ask.form_to(super::super::PATH, html! {
                (ui::keep(&kept))
                div.buttons { (ui::button("go", "yes", "Edit and retry")) a href=(back) { "Change nothing" } }
            }))
        }
    })
}

/// What changes beside the payload, and what the audit will have of it.
fn about(before: &Detail, operation: &Operation) -> Markup {
    let old = kind(current(before).map(|(_, headers)| headers));
    let new = kind(operation.edit.as_ref().map(Edit::headers));
    let has_new_key = matches!(operation.action, Action::Edit { new_key: true });
    ui::facts(&[
        (
            "Content-Type",
            html! { (old) @if old != new { " → " strong { (new) } } },
        ),
        (
            "Key for the provider",
            html! {
                @if has_new_key { strong { "a new one" } ": it may do once more what it did before" } @else { "the one that it has" }
            },
        ),
        (
            "Reason",
            html! { (operation.reason.as_deref().unwrap_or_default()) },
        ),
        ("Decided by", html! { (operation.by.as_str()) }),
    ])
}

fn kind(headers: Option<&Headers>) -> Cow<'_, str> {
    let value = headers.and_then(content_type);
    value.map_or("none".into(), String::from_utf8_lossy)
}

/// Lines that differ, the old ones and the new ones each in a colour of their own.
fn lines(differences: &str) -> Markup {
    html! {
        pre.diff tabindex="0" {
            code {
                @for line in differences.split_inclusive('\n') {
                    @match line.as_bytes().first() {
                        Some(b'-') => del { (line) },
                        Some(b'+') => ins { (line) },
                        _ => (line),
                    }
                }
            }
        }
    }
}

fn differences(before: &[u8], after: &[u8]) -> String {
    match diff(before, after) {
        Some(lines) if lines.is_empty() => "The payload stays; headers change.".to_owned(),
        Some(lines) => lines,
        None => "The payload was not text.".to_owned(),
    }
}
