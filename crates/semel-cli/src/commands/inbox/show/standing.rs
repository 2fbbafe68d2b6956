//! Where a message stands, as names and values.

use semel_core::Timestamp;
use semel_core::inbox::{Detail, Message, State};

use crate::commands::messages::{flat, why};
use crate::text;

pub(super) fn fields(detail: &Detail, now: Timestamp) -> Vec<(&'static str, String)> {
    let entry = &detail.entry;
    let moment = |at| text::moment(at, now);
    let mut found = vec![("state", entry.state.name().to_owned())];
    found.extend(entry.cause.map(|cause| ("because", why(cause).to_owned())));
    found.extend(
        entry
            .error
            .as_deref()
            .map(|error| ("last error", flat(error))),
    );
    found.push(("since", moment(entry.changed_at)));
    found.extend(entry.due_at.map(|due| match entry.state {
        State::InProgress => ("lease until", moment(due)),
        _ => ("due", moment(due)),
    }));
    found.extend(entry.worker.clone().map(|worker| ("worker", worker)));
    found.extend(kind(detail).map(|kind| ("type", kind)));
    found.extend(place(detail).map(|place| ("key", place)));
    found.push(("received", arrival(detail, now)));
    found.push(("attempts", tried(detail)));
    if entry.duplicates > 0 {
        let times = text::plural(entry.duplicates, "time", "times");
        found.push(("duplicates", format!("arrived again {times}")));
    }
    if let Some(settled) = &detail.settled {
        let outcome = crate::commands::keys::summary(&settled.outcome);
        found.push(("outcome", outcome));
        found.push(("kept until", moment(settled.expires_at)));
    }
    if let Some(edited) = detail.edits.last() {
        let times = text::plural(edited.version.into(), "time", "times");
        let reason = edited.reason.as_deref().map(flat).unwrap_or_default();
        let by = text::printable(&edited.by);
        found.push((
            "edited",
            format!("{times}, last by {by} {}: {reason}", moment(edited.at)),
        ));
    }
    match &detail.message {
        Some(message) => found.extend(carried(message)),
        None => found.push(("payload", gone(detail, now))),
    }
    found
}

/// Why there is no payload.
fn gone(detail: &Detail, now: Timestamp) -> String {
    match detail.erased_at {
        Some(at) => format!("erased {}", text::moment(at, now)),
        None => "no longer kept".to_owned(),
    }
}

fn kind(detail: &Detail) -> Option<String> {
    let kind = text::printable(detail.entry.kind.as_deref()?);
    let version = detail.message.as_ref().and_then(Message::version);
    let version = version.map_or(String::new(), |version| {
        format!(", schema version {version}")
    });
    Some(format!("{kind}{version}"))
}

fn place(detail: &Detail) -> Option<String> {
    let lane = detail.entry.lane.as_ref()?;
    let sequence = detail.entry.sequence;
    let sequence = sequence.map_or(String::new(), |sequence| format!(", version {sequence}"));
    Some(format!("{lane}{sequence}"))
}

fn arrival(detail: &Detail, now: Timestamp) -> String {
    let mut text = text::moment(detail.entry.received_at, now);
    let Some(origin) = detail.message.as_ref().map(Message::origin) else {
        return text;
    };
    if !origin.topic.is_empty() {
        text += &format!(" from {}", text::printable(&origin.topic));
    }
    if let Some(partition) = origin.partition {
        text += &format!(", partition {partition}");
    }
    if let Some(offset) = origin.offset {
        text += &format!(", offset {offset}");
    }
    text
}

fn tried(detail: &Detail) -> String {
    let attempts = text::count(detail.entry.attempts.into());
    match detail.entry.generation {
        0 => attempts,
        by_hand => {
            let times = text::plural(by_hand.into(), "time", "times");
            format!("{attempts}; it was run again by hand {times}")
        }
    }
}

fn carried(message: &Message) -> Vec<(&'static str, String)> {
    let names = message.headers().iter();
    let names: Vec<_> = names.map(|(name, _)| text::printable(name)).collect();
    let mut found = Vec::new();
    if !names.is_empty() {
        found.push(("headers", names.join(", ")));
    }
    found.push(("payload", text::bytes(message.payload().len() as u64)));
    let fingerprint = text::hex(message.fingerprint().as_bytes());
    found.push(("fingerprint", fingerprint));
    found
}
