//! What operators ask: lists, counts and housekeeping.

use std::fmt;

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::record::{Fence, Record, State};

use super::PAGE_MAX;

/// Which records to list.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Only records in this state.
    pub state: Option<StateFilter>,
    /// Only this tenant's.
    pub tenant: Option<String>,
    /// Only this scope's, as `name@version`.
    pub scope: Option<String>,
    /// Only this key's, whatever the tenant and the scope.
    pub key: Option<String>,
    /// Only what was asked with this HTTP method, in capitals.
    pub method: Option<String>,
    /// Where the list goes on: the `next` of the page before.
    pub before: Option<Cursor>,
    /// At most this many, up to [`PAGE_MAX`]; 0 means 100.
    pub limit: usize,
}

impl Query {
    /// Whether a record is one that was asked for, its state and its place in the list left aside.
    pub fn is_about(&self, record: &Record) -> bool {
        let identity = &record.identity;
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|w| w == found);
        is(&self.tenant, identity.tenant().as_str())
            && is(&self.key, identity.key().as_str())
            && (self.scope.is_none() || is(&self.scope, &identity.scope().to_string()))
            && (self.method.is_none() || self.method.as_deref() == record.method())
    }

    /// The fence that all of the page are older than, for stores that list by fence.
    pub fn before_fence(&self) -> Result<Option<Fence>> {
        self.before.as_ref().map(Cursor::fence).transpose()
    }

    /// The number of records that a page may have.
    pub fn page_len(&self) -> usize {
        match self.limit {
            0 => 100,
            limit => limit.min(PAGE_MAX),
        }
    }
}

/// A state by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFilter {
    /// Live leases.
    Running,
    /// Outcomes that nobody knows, ended leases included.
    Unknown,
    /// Settled successes.
    Succeeded,
    /// Settled failures.
    Failed,
    /// Settled, successes and failures alike.
    Settled,
    /// Records that retention no longer protects and that were to be archived.
    Archived,
}

impl StateFilter {
    /// Every filter.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::Unknown,
        Self::Succeeded,
        Self::Failed,
        Self::Settled,
        Self::Archived,
    ];

    /// The lowercase name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Unknown => "unknown",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Settled => "settled",
            Self::Archived => "archived",
        }
    }
}

impl StateFilter {
    /// Whether a record in this state, as a reader sees it, is meant. An archived record is settled, too: which of
    /// the two lists is meant is for the store to know.
    pub fn takes(self, state: &State) -> bool {
        match (self, state) {
            (Self::Settled | Self::Archived, State::Settled(_)) => true,
            _ => self.name() == state.name(),
        }
    }
}

impl std::str::FromStr for StateFilter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|filter| filter.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("a state is one of {names}, found {text:?}"))
        })
    }
}

/// One page of records; bodies are left out, only their lengths are told.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The records, the newest claim first.
    pub records: Vec<Record>,
    /// Where the next page begins, if there is one.
    pub next: Option<Cursor>,
}

impl Page {
    /// The page of `records`, found newest first, one more than the page holds if there are more, in a store
    /// that lists by fence.
    pub fn by_fence(mut records: Vec<Record>, query: &Query) -> Self {
        let more = records.len() > query.page_len();
        records.truncate(query.page_len());
        let last = records.last().filter(|_| more);
        Self {
            next: last.map(|record| Cursor::before(record.fence)),
            records,
        }
    }
}

/// The most bytes of a cursor.
const CURSOR_BYTES_MAX: usize = 1_024;

/// Where a list goes on. Each store has cursors of its own; nothing else reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(Box<str>);

impl Cursor {
    /// The cursor with this text, as a store made it: 1 to 1,024 printable ASCII characters.
    pub fn new(text: impl AsRef<str>) -> Result<Self> {
        let text = text.as_ref();
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || text.len() > CURSOR_BYTES_MAX || !printable {
            return Err(not_a_cursor(text));
        }
        Ok(Self(text.into()))
    }

    /// The text, to be handed back as it is.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The cursor of a store that lists by fence: only claims older than that of `fence`.
    pub fn before(fence: Fence) -> Self {
        Self(fence.to_string().into())
    }

    /// What [`Cursor::before`] was given.
    pub fn fence(&self) -> Result<Fence> {
        let number = self.0.parse().map(Fence::new);
        number.map_err(|_| not_a_cursor(&self.0))
    }
}

fn not_a_cursor(text: &str) -> Error {
    let shown: String = text.chars().take(64).collect();
    Error::invalid(format!(
        "a cursor is the `next` of the page before, unchanged, found {shown:?}"
    ))
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::new(text)
    }
}

/// What one step of housekeeping did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Leases that had ended and whose records are now unknown.
    pub leases_ended: usize,
    /// Settled records deleted.
    pub deleted: usize,
    /// Settled records moved to the archive.
    pub archived: usize,
    /// Old events deleted.
    pub events_deleted: usize,
    /// Whether the limit was reached and another step would find more.
    pub more: bool,
}

/// Counts for operators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Live leases.
    pub running: u64,
    /// Outcomes that nobody knows, ended leases included.
    pub unknown: u64,
    /// Settled records, those past retention but not yet swept included.
    pub settled: u64,
    /// Archived records.
    pub archived: u64,
    /// Late outcomes in the history.
    pub late_outcomes: u64,
    /// When the oldest live claim was granted.
    pub oldest_running: Option<Timestamp>,
    /// Since when the oldest unknown outcome waits.
    pub oldest_unknown: Option<Timestamp>,
    /// Bytes on disk, where the store can tell.
    pub bytes: Option<u64>,
}
