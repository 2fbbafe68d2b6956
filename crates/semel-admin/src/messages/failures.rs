//! Failed and parked messages in groups: whose, why, and with which error, so that one look shows what is wrong with a thousand messages.

use std::collections::HashMap;
use std::time::Duration;

use semel_core::inbox::{Cause, Entry, Inbox, Query, State};
use semel_core::store::PAGE_MAX;
use semel_core::{Identity, Result, Scope, Timestamp};

/// The most messages that are looked at, the newest ones.
pub const WALK_MAX: usize = 10_000;
/// The most groups of one answer, the largest ones.
pub const GROUPS_MAX: usize = 500;
/// The states of failures.
pub(super) const FAILED: [State; 3] =
    [State::FailedTerminal, State::Parked, State::FailedRetryable];
/// The most characters of a group's error.
const ERROR_CHARS_MAX: usize = 300;

/// Failed and parked messages in groups.
#[derive(Debug, Clone, Default)]
pub struct Failures {
    /// How many messages were looked at.
    pub looked_at: u64,
    /// Those that were received before this moment were not looked at, and no group counts them; `None` if all were.
    pub unseen_before: Option<Timestamp>,
    /// The groups, the largest first.
    pub groups: Vec<Group>,
}

/// Messages that failed in the same way.
#[derive(Debug, Clone)]
pub struct Group {
    /// What names the group: it follows from consumer, cause and error, so that it is the same tomorrow.
    pub id: String,
    /// Whose messages.
    pub consumer: Scope,
    /// Why.
    pub cause: Option<Cause>,
    /// The error with `#` for numbers and ids, and `"…"` for what is quoted.
    pub error: String,
    /// The error of the newest of them, as it is.
    pub example: Option<String>,
    /// How many there are.
    pub count: u64,
    /// How many of them will be tried again by themselves.
    pub retrying: u64,
    /// When the state of the first of them changed.
    pub first: Timestamp,
    /// When the state of the last of them changed.
    pub last: Timestamp,
    /// The messages, the newest first.
    pub members: Vec<Identity>,
}

impl Failures {
    /// The group with this id.
    pub fn group(&self, id: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.id == id)
    }
}

/// The failures of one consumer or of all: of the newest [`WALK_MAX`] messages that failed or are parked.
pub async fn failures(inbox: &dyn Inbox, consumer: Option<&Scope>) -> Result<Failures> {
    let query = Query {
        consumer: consumer.cloned(),
        ..Query::default()
    };
    failures_of(inbox, query).await
}

/// The failures that a query finds; of failed and parked ones, unless it names other states.
pub async fn failures_of(inbox: &dyn Inbox, mut query: Query) -> Result<Failures> {
    if query.states.is_empty() {
        query.states = FAILED.to_vec();
    }
    let mut groups: HashMap<String, Group> = HashMap::new();
    let looked = walk(inbox, query, WALK_MAX, |entry| add(&mut groups, entry)).await?;
    let mut found = Failures {
        looked_at: looked.at,
        unseen_before: looked.unseen_before,
        groups: groups.into_values().collect(),
    };
    found.groups.sort_by(|a, b| {
        b.count
            .cmp(&a.count)
            .then_with(|| b.last.cmp(&a.last))
            .then_with(|| a.id.cmp(&b.id))
    });
    found.groups.truncate(GROUPS_MAX);
    Ok(found)
}

/// How many messages were looked at, and which were not.
pub(super) struct Looked {
    pub(super) at: u64,
    /// Those that were received before this moment; `None` if there are none.
    pub(super) unseen_before: Option<Timestamp>,
}

/// Goes through the newest `max` messages that a query finds.
pub(super) async fn walk(
    inbox: &dyn Inbox,
    mut query: Query,
    max: usize,
    mut each: impl FnMut(Entry),
) -> Result<Looked> {
    query.before = None;
    let mut at = 0;
    loop {
        query.limit = PAGE_MAX.min(max - at);
        let page = inbox.list_messages(query.clone()).await?;
        at += page.entries.len();
        let oldest = page.entries.last().map(|entry| entry.received_at);
        page.entries.into_iter().for_each(&mut each);
        query.before = page.next;
        let is_cut = query.before.is_some();
        if !is_cut || at >= max {
            // Others may have come in the same millisecond as the oldest one.
            let behind = oldest.filter(|_| is_cut);
            return Ok(Looked {
                at: at as u64,
                unseen_before: behind.map(|at| at.after(Duration::from_millis(1))),
            });
        }
    }
}

/// The group that a message belongs to.
pub(super) struct Named {
    pub(super) id: String,
    /// The error as it is in the group.
    pub(super) error: String,
}

impl Named {
    pub(super) fn of(entry: &Entry) -> Self {
        let error = normalised(entry.error.as_deref().unwrap_or_default());
        Self {
            id: id_of(entry.identity.scope(), entry.cause, &error),
            error,
        }
    }
}

fn add(groups: &mut HashMap<String, Group>, entry: Entry) {
    let Named { id, error } = Named::of(&entry);
    let consumer = entry.identity.scope().clone();
    let at = entry.changed_at;
    let group = groups.entry(id.clone()).or_insert_with(|| Group {
        id,
        consumer,
        cause: entry.cause,
        error,
        example: entry.error,
        count: 0,
        retrying: 0,
        first: at,
        last: at,
        members: Vec::new(),
    });
    group.count += 1;
    group.retrying += u64::from(entry.state == State::FailedRetryable);
    (group.first, group.last) = (group.first.min(at), group.last.max(at));
    group.members.push(entry.identity);
}

fn id_of(consumer: &Scope, cause: Option<Cause>, error: &str) -> String {
    let cause = cause.map_or("", Cause::name);
    let hash = blake3::hash(format!("{consumer}\n{cause}\n{error}").as_bytes());
    hash.to_hex()[..16].to_owned()
}

/// An error without what differs from message to message. Numbers that can be a status of HTTP stay, because they say what is wrong.
fn normalised(error: &str) -> String {
    let mut text = String::new();
    let mut rest = error;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' | '`' => quoted(rest, first),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (part, after) = rest.split_at(len);
        match first {
            '"' | '`' if len > 1 => text.push_str("\"…\""),
            _ if is_of_one_message(part) => text.push('#'),
            _ => text.push_str(part),
        }
        rest = after;
        if text.chars().count() >= ERROR_CHARS_MAX {
            break;
        }
    }
    text
}

/// How many bytes a quotation has with its marks; only the mark, if it does not end.
fn quoted(text: &str, mark: char) -> usize {
    text[1..].find(mark).map_or(1, |end| end + 2)
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

/// Whether a word is a number or an id: it has a digit, and is no status.
fn is_of_one_message(word: &str) -> bool {
    let is_status = word.len() == 3 && matches!(word.parse(), Ok(100_u16..=599));
    word.contains(|c: char| c.is_ascii_digit()) && !is_status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_differ_by_ids_and_numbers_are_one() {
        for (error, expected) in [
            ("the handler answered 503", "the handler answered 503"),
            ("no customer c-1042 after 17 ms", "no customer # after # ms"),
            (
                "unknown field \"iban 7\" at line 3",
                "unknown field \"…\" at line #",
            ),
            ("order 0197-abf2 of \"acme", "order # of \"acme"),
            ("", ""),
        ] {
            assert_eq!(normalised(error), expected);
        }
        assert!(normalised(&"é ".repeat(2_000)).chars().count() <= ERROR_CHARS_MAX + 1);
    }

    #[test]
    fn a_group_is_named_by_whose_why_and_what() {
        let (a, b): (Scope, Scope) = ("mailer".parse().unwrap(), "biller".parse().unwrap());
        let ids = [
            id_of(&a, None, "x"),
            id_of(&b, None, "x"),
            id_of(&a, Some(Cause::Terminal), "x"),
            id_of(&a, None, "y"),
        ];
        for (at, id) in ids.iter().enumerate() {
            assert!(!ids[at + 1..].contains(id));
        }
        assert_eq!(ids[0], id_of(&a, None, "x"));
    }
}
