//! What is in a message: hidden until asked for. The original and what operators made of it stand side by side.

use maud::{Markup, html};
use semel_core::Headers;
use semel_core::inbox::Detail;

use crate::dashboard::{Ask, ui};

/// The most bytes of a payload that a page shows.
const SHOWN_MAX: usize = 64 * 1024;

/// The contents, or a link that asks for them.
pub(super) fn show(ask: &Ask, detail: &Detail, is_shown: bool) -> Markup {
    if let Some(at) = detail.erased_at {
        return ui::empty(
            "Its contents were erased.",
            html! { (ui::time(at, ask.app.now())) ". A redelivery is still a duplicate." },
        );
    }
    let Some(message) = &detail.message else {
        return ui::empty(
            "It is no longer kept.",
            html! { "Its record is left: a redelivery is still a duplicate." },
        );
    };
    let size = ui::bytes(message.payload().len() as u64);
    if !is_shown {
        let names: Vec<&str> = message.headers().iter().map(|(name, _)| name).collect();
        return html! {
            (ui::facts(&[
                ("Payload", html! { (size) }),
                ("Headers", html! { (names.join(", ")) }),
            ]))
            p { a href=(ask.link(&[("payload", Some("true"))])) { "Show payload and headers" } " " span.hint { "They may hold personal data." } }
        };
    }
    let original = if detail.edits.is_empty() {
        "As it arrived"
    } else {
        "Original"
    };
    html! {
        div.sides {
            (side(original, message.headers(), message.payload()))
            @for edited in detail.edits.iter().rev() {
                (side(&format!("Edit {} by {}", edited.version, edited.by), edited.edit.headers(), edited.edit.payload()))
            }
        }
        @if let Some(body) = detail.settled.as_ref().and_then(|settled| settled.outcome.body.kept()).filter(|body| !body.is_empty()) {
            h3 { "Outcome" }
            (ui::code(&text(body)))
        }
        p { a href=(ask.link(&[("payload", None)])) { "Hide them" } }
    }
}

fn side(title: &str, headers: &Headers, payload: &[u8]) -> Markup {
    let fields: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}\n", text(value)))
        .collect();
    html! {
        section {
            h3 { (title) " " span.hint { (ui::bytes(payload.len() as u64)) } }
            @if !fields.is_empty() { (ui::code(&fields)) }
            (ui::code(&text(payload)))
        }
    }
}

/// Bytes as people read them, no more than a page shows. JSON has one member to a line.
pub(super) fn text(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return format!(
            "({} that are not text; the API gives them in base64)",
            ui::bytes(bytes.len() as u64)
        );
    };
    match text.char_indices().find(|(at, _)| *at >= SHOWN_MAX) {
        Some((end, _)) => format!(
            "{}\n… ({} in all)",
            &text[..end],
            ui::bytes(bytes.len() as u64)
        ),
        None => text.to_owned(),
    }
}
