//! Events as bytes. The script that writes one puts its number in front: events of one operation are in
//! two lists, because late outcomes are counted apart, and the numbers put them in order. Of a fence that was drawn
//! together with the event the script knows the number within its bucket only: `here` stands before it.
//!
//! ```text
//! 0 number   16 fence   36 at   52 kind   53 detail
//! ```

use std::time::Duration;

use bytes::Bytes;
use semel_core::record::{Event, EventKind, Resolved, UnknownCause};
use semel_core::{Evidence, Fence, Fingerprint, Result, Timestamp};

use crate::error::damaged;
use crate::keys::Bucket;
use crate::records::{Kept, body_bytes, flags, number, outcome_head, take_outcome};

/// Whether an event is a late outcome, which is kept in a list of its own.
pub(crate) const fn is_late(event: &Event) -> bool {
    matches!(event.kind, EventKind::LateOutcome(_))
}

/// An event's time, kind and detail.
pub(crate) fn encode(event: &Event) -> Vec<u8> {
    let mut out = format!("{:016}", event.at.as_millis()).into_bytes();
    match &event.kind {
        EventKind::TookOver { from } => {
            out.push(b't');
            out.extend_from_slice(&from.get().to_le_bytes());
        }
        EventKind::Released => out.push(b'r'),
        EventKind::BecameUnknown { cause, evidence } => {
            out.push(b'u');
            let note = evidence.as_ref().map(Evidence::encode);
            out.extend(noted(cause.name(), note.as_deref()));
        }
        EventKind::Resolved { by, how, reason } => {
            out.push(match how {
                Resolved::Settled => b'S',
                Resolved::Released => b'R',
                Resolved::Corrected => b'C',
            });
            out.extend(noted(by, reason.as_deref()));
        }
        EventKind::LateOutcome(outcome) => {
            let head = outcome_head(outcome, Duration::ZERO);
            out.push(b'l');
            out.push(flags(outcome, false));
            // Heads are far below four gigabytes: headers have a maximum.
            out.extend_from_slice(&(head.len() as u32).to_le_bytes());
            out.extend_from_slice(&head);
            out.extend_from_slice(body_bytes(outcome));
        }
        EventKind::Mismatch(print) => {
            out.push(b'm');
            out.extend_from_slice(print.as_bytes());
        }
        EventKind::Erased { by, reason } => {
            out.push(b'e');
            out.extend(noted(by, reason.as_deref()));
        }
        EventKind::ContentsErased { by, reason } => {
            out.push(b'c');
            out.extend(noted(by, reason.as_deref()));
        }
    }
    out
}

/// A text and a note about it. Neither has line ends.
fn noted(text: &str, note: Option<&str>) -> Vec<u8> {
    match note {
        Some(note) => format!("{text}\n{note}").into_bytes(),
        None => text.as_bytes().to_vec(),
    }
}

/// The inverse of [`noted`].
fn take_noted(detail: &[u8]) -> Result<(String, Option<String>)> {
    let text = std::str::from_utf8(detail);
    let text = text.map_err(|e| damaged("an event is not text").caused_by(e))?;
    Ok(match text.split_once('\n') {
        Some((text, note)) => (text.to_owned(), Some(note.to_owned())),
        None => (text.to_owned(), None),
    })
}

fn resolved(detail: &[u8], how: Resolved) -> Result<EventKind> {
    let (by, reason) = take_noted(detail)?;
    Ok(EventKind::Resolved { by, how, reason })
}

/// An event with its number.
pub(crate) fn decode(bytes: &Bytes, bucket: Bucket) -> Result<(u64, Event)> {
    let cut = || damaged("an event ends in the middle");
    let (head, rest) = bytes.split_at_checked(53).ok_or_else(cut)?;
    let event = Event {
        at: Timestamp::from_millis(number(&head[36..52])?),
        fence: match head[16..36].strip_prefix(b"here") {
            Some(drawn) => bucket.fence(number(drawn)?),
            None => Fence::new(number(&head[16..36])?),
        },
        kind: kind_of(head[52], rest, bytes)?,
    };
    Ok((number(&head[..16])?, event))
}

fn kind_of(kind: u8, detail: &[u8], whole: &Bytes) -> Result<EventKind> {
    let cut = || damaged("an event ends in the middle");
    Ok(match kind {
        b't' => {
            let from = detail.first_chunk().ok_or_else(cut)?;
            EventKind::TookOver {
                from: Fence::new(u64::from_le_bytes(*from)),
            }
        }
        b'r' => EventKind::Released,
        b'u' => {
            let (cause, note) = take_noted(detail)?;
            let cause = UnknownCause::from_name(&cause);
            EventKind::BecameUnknown {
                cause: cause.ok_or_else(|| damaged("a cause is not known"))?,
                evidence: note.as_deref().and_then(Evidence::decode),
            }
        }
        b'S' => resolved(detail, Resolved::Settled)?,
        b'R' => resolved(detail, Resolved::Released)?,
        b'C' => resolved(detail, Resolved::Corrected)?,
        b'l' => {
            let (flags, rest) = detail.split_first().ok_or_else(cut)?;
            let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
            let len = u32::from_le_bytes(*len) as usize;
            let (head, body) = rest.split_at_checked(len).ok_or_else(cut)?;
            let body = Kept::Whole(whole.slice_ref(body));
            EventKind::LateOutcome(take_outcome(head, *flags, body)?.outcome)
        }
        b'm' => {
            let print = detail.first_chunk().ok_or_else(cut)?;
            EventKind::Mismatch(Fingerprint::from_bytes(*print))
        }
        b'e' => {
            let (by, reason) = take_noted(detail)?;
            EventKind::Erased { by, reason }
        }
        b'c' => {
            let (by, reason) = take_noted(detail)?;
            EventKind::ContentsErased { by, reason }
        }
        _ => return Err(damaged("the history has an event that is not known")),
    })
}
