//! What is private about a message.

use semel_core::inbox::Detail;

use crate::text;

/// Header values, the payload, the outcome's body.
pub(super) fn private(detail: &Detail) -> String {
    let mut text = String::new();
    if let Some(message) = &detail.message {
        text += "\nmessage\n";
        for (name, value) in message.headers().iter() {
            let (name, value) = (text::printable(name), String::from_utf8_lossy(value));
            text += &format!("  {name}: {}\n", text::printable(&value));
        }
        if !message.headers().is_empty() && !message.payload().is_empty() {
            text += "\n";
        }
        text += &indented(message.payload(), 2);
    }
    for edited in &detail.edits {
        let by = text::printable(&edited.by);
        text += &format!("\nedit {} by {by}, {}\n", edited.version, edited.at);
        for (name, value) in edited.edit.headers().iter() {
            let (name, value) = (text::printable(name), String::from_utf8_lossy(value));
            text += &format!("  {name}: {}\n", text::printable(&value));
        }
        text += &indented(edited.edit.payload(), 2);
    }
    let body = detail
        .settled
        .as_ref()
        .and_then(|settled| settled.outcome.body.kept());
    if let Some(body) = body.filter(|body| !body.is_empty()) {
        text += "\noutcome\n";
        text += &indented(body, 2);
    }
    text
}

/// Bytes as text, where they are text.
pub(super) fn indented(bytes: &[u8], by: usize) -> String {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text::printable(text),
        Err(_) => format!(
            "({} that are not text; --json writes them in hexadecimal)",
            text::bytes(bytes.len() as u64)
        ),
    };
    let lines = text.lines().map(|line| format!("{:by$}{line}\n", ""));
    lines.collect()
}
