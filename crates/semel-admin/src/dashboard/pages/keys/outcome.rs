//! The outcome that a person puts on record: how it is asked for, read, and what clients get of it.

use std::str::FromStr;
use std::time::Duration;

use maud::{Markup, html};
use semel_core::{Outcome, Retention};

use crate::api::outcome::{Parts, VerdictInput, retention as checked};
use crate::dashboard::{Act, ui};
use crate::input::refuse_field;
use crate::refused::Refused;

/// The choices of a verdict.
const VERDICTS: [(&str, &str); 2] = [("succeeded", "it succeeded"), ("failed", "it failed")];

/// The fields; a corrected outcome keeps the retention that it has.
pub(in crate::dashboard::pages) fn fields(with_retention: bool) -> Markup {
    html! {
        (ui::select("verdict", "Verdict", &VERDICTS, None))
        (ui::input("status", "HTTP status", None, "201"))
        (ui::input("content_type", "Content-Type", None, "application/json"))
        @if with_retention { (ui::input("retention", "Kept for", None, "24h")) }
        (ui::area("body", "Body", ""))
    }
}

/// A field that is written as text; `None` if it was left empty.
pub(in crate::dashboard::pages) fn field<T>(act: &Act, name: &str) -> Result<Option<T>, Refused>
where
    T: FromStr<Err: std::fmt::Display>,
{
    let parsed = act.field(name).map(|text| text.trim().parse());
    let wrong = |error: T::Err| refuse_field(name, &error.to_string());
    parsed.transpose().map_err(wrong)
}

/// The same for a field that must be there.
pub(in crate::dashboard::pages) fn needed<T>(act: &Act, name: &str) -> Result<T, Refused>
where
    T: FromStr<Err: std::fmt::Display>,
{
    field(act, name)?.ok_or_else(|| refuse_field(name, "expected a value, found none"))
}

/// The outcome that the fields say.
pub(in crate::dashboard::pages) fn read(act: &Act) -> Result<Outcome, Refused> {
    let verdict = match act.field("verdict").as_deref() {
        Some("succeeded") => VerdictInput::Succeeded,
        Some("failed") => VerdictInput::Failed,
        other => {
            let why = format!("expected succeeded or failed, found {other:?}");
            return Err(refuse_field("verdict", &why));
        }
    };
    let content_type = act.field("content_type");
    let headers = content_type.map(|value| ("Content-Type".to_owned(), value));
    let parts = Parts {
        verdict,
        status: field(act, "status")?,
        headers: headers.into_iter().collect(),
        body: act.text("body"),
        body_base64: None,
    };
    parts.outcome()
}

/// How long it is kept.
pub(in crate::dashboard::pages) fn retention(act: &Act) -> Result<Retention, Refused> {
    let keep = act.field("retention");
    let keep = keep.map(|text| semel_core::duration::parse(&text));
    let keep: Option<Duration> = keep
        .transpose()
        .map_err(|error| refuse_field("retention", &error.to_string()))?;
    checked(keep, false)
}

/// What duplicates over HTTP get: `201 with a body of 27 B`, and that body.
pub(in crate::dashboard::pages) fn replayed(outcome: &Outcome) -> Markup {
    let status = semel_http::replay::status(outcome).as_u16();
    let body = outcome.body.kept().filter(|bytes| !bytes.is_empty());
    html! {
        p {
            strong { "Duplicates get " (status) " "
                @match (outcome.body.len(), outcome.body.kept()) {
                    (0, _) => { "with an empty body" }
                    (bytes, Some(_)) => { "with a body of " (ui::bytes(bytes)) }
                    (bytes, None) => { "and the problem body-not-kept, because the body of " (ui::bytes(bytes)) " is not on record" }
                }
                "."
            }
        }
        @if let Some(text) = body.and_then(|bytes| std::str::from_utf8(bytes).ok()) { (ui::code(text)) }
    }
}
