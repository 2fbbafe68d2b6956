//! Decisions about many records at once, by what they have in common: one implementation for the API and for `semel keys`.
//!
//! A call looks at a bounded number of records and says where the next one goes on. A selection names a moment: what
//! became unknown, or was settled, after it is left alone, so that exactly that is decided which a dry run has shown.

mod erase;
pub mod find;
pub mod late;
pub(crate) mod reconcile;

pub use erase::erase;

use std::str::FromStr;

use semel_core::store::{
    Actor, Cursor, PAGE_MAX, Query, Reason, Resolution, ResolveAnswer, ResolveRequest, StateFilter,
};
use semel_core::{Claim, Error, Key, Record, Result, Scope, State, Store, Tenant, Timestamp};

/// The most records that one call decides about.
pub const DECIDED_MAX: usize = 1_000;
/// The most pages that one call looks at, of [`PAGE_MAX`] records each.
pub const PAGES_MAX: usize = 10;
/// The most records that a report shows.
pub const SAMPLE_MAX: usize = 10;
/// The most bytes of a body that many records get: each of them keeps it.
pub const BODY_BYTES_MAX: u64 = 64 * 1024;
/// The most letters of a [`Method`].
const METHOD_BYTES_MAX: usize = 32;

/// An HTTP method to look for, in capitals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method(String);

impl FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_method = (1..=METHOD_BYTES_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphabetic());
        match is_method {
            true => Ok(Self(text.to_ascii_uppercase())),
            false => Err(Error::invalid(format!(
                "a method has 1 to {METHOD_BYTES_MAX} letters, such as POST, found {text:?}"
            ))),
        }
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which records are meant.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Only those in this state: unknown ones are decided about, of settled and archived ones contents are erased.
    pub state: StateFilter,
    /// Only this tenant's.
    pub tenant: Option<Tenant>,
    /// Only this scope's.
    pub scope: Option<Scope>,
    /// Only this key's.
    pub key: Option<Key>,
    /// Only what was asked with this HTTP method.
    pub method: Option<Method>,
    /// Only what has been unknown, or was settled, since this moment or longer.
    pub until: Timestamp,
}

impl Selection {
    fn query(&self, before: Option<Cursor>, limit: usize) -> Query {
        Query {
            state: Some(self.state),
            tenant: self.tenant.as_ref().map(ToString::to_string),
            scope: self.scope.as_ref().map(ToString::to_string),
            key: self.key.as_ref().map(ToString::to_string),
            method: self.method.as_ref().map(ToString::to_string),
            before,
            limit,
        }
    }

    /// Whether a listed record is old enough, and has contents to be erased if it is settled.
    fn takes(&self, record: &Record) -> bool {
        match &record.state {
            State::Running { .. } => false,
            State::Unknown { since, .. } => *since <= self.until,
            State::Settled(settled) => settled.at <= self.until && !settled.erased,
        }
    }
}

/// What is decided about each of them.
#[derive(Debug, Clone)]
pub struct Decision {
    /// Who decides.
    pub by: Actor,
    /// Why.
    pub reason: Option<Reason>,
    /// That they happened, or that they did not, or that their contents go.
    pub resolution: Resolution,
}

impl Decision {
    /// Refuses an outcome that is too large to be kept many times.
    fn check(&self) -> Result<()> {
        let outcome = self.resolution.outcome();
        match outcome.map_or(0, |outcome| outcome.body.len()) {
            0..=BODY_BYTES_MAX => Ok(()),
            found => Err(Error::invalid(format!(
                "a body for many records has at most {BODY_BYTES_MAX} bytes, found {found}"
            ))),
        }
    }

    fn about(&self, record: &Record) -> ResolveRequest {
        ResolveRequest {
            claim: Claim {
                identity: record.identity.clone(),
                fence: record.fence,
            },
            by: self.by.clone(),
            reason: self.reason.clone(),
            resolution: self.resolution.clone(),
        }
    }
}

/// What a call found and did.
#[derive(Debug, Default)]
pub struct Report {
    /// Records that the selection names.
    pub matched: u64,
    /// Records that were decided.
    pub changed: u64,
    /// Records that changed between the look and the decision, and were left alone.
    pub refused: u64,
    /// Records without an outcome, which an erasure leaves as they are.
    pub unsettled: u64,
    /// Some of those that matched, at most [`SAMPLE_MAX`].
    pub sample: Vec<Record>,
    /// Where the next call goes on, if there is more to look at.
    pub next: Option<Cursor>,
}

impl Report {
    /// Adds what the next call found and did.
    pub fn add(&mut self, next: Self) {
        self.matched += next.matched;
        self.changed += next.changed;
        self.refused += next.refused;
        self.unsettled += next.unsettled;
        let room = SAMPLE_MAX.saturating_sub(self.sample.len());
        self.sample.extend(next.sample.into_iter().take(room));
        self.next = next.next;
    }

    fn found(&mut self, records: &[Record]) {
        self.matched += records.len() as u64;
        let room = SAMPLE_MAX.saturating_sub(self.sample.len());
        self.sample.extend(records.iter().take(room).cloned());
    }

    /// The error that ended a call, and how far it had come.
    fn ended_by(&self, error: Error) -> Error {
        match self.changed {
            0 => error,
            changed => Error::new(
                error.kind(),
                format!("after {changed} records were decided: {error}"),
            ),
        }
    }
}

/// Says what a decision would be about: a dry run. It looks at [`PAGES_MAX`] pages at most.
pub async fn look(
    store: &dyn Store,
    selection: &Selection,
    before: Option<Cursor>,
) -> Result<Report> {
    walk(store, selection, None, before).await
}

/// Decides about all that are meant, at most [`DECIDED_MAX`] in one call, each with a line in the audit.
pub async fn decide(
    store: &dyn Store,
    selection: &Selection,
    decision: &Decision,
    before: Option<Cursor>,
) -> Result<Report> {
    decision.check()?;
    walk(store, selection, Some(decision), before).await
}

async fn walk(
    store: &dyn Store,
    selection: &Selection,
    decision: Option<&Decision>,
    before: Option<Cursor>,
) -> Result<Report> {
    let mut report = Report {
        next: before,
        ..Report::default()
    };
    for _ in 0..PAGES_MAX {
        let tried = usize::try_from(report.changed + report.refused).unwrap_or(DECIDED_MAX);
        let limit = match decision {
            Some(_) => DECIDED_MAX.saturating_sub(tried),
            None => PAGE_MAX,
        };
        if limit == 0 {
            break;
        }
        let query = selection.query(report.next.take(), limit);
        let page = store.list(query).await;
        let mut page = page.map_err(|error| report.ended_by(error))?;
        page.records.retain(|record| selection.takes(record));
        report.next = page.next;
        report.found(&page.records);
        if let Some(decision) = decision {
            carry_out(store, &page.records, decision, &mut report).await?;
        }
        if report.next.is_none() {
            break;
        }
    }
    Ok(report)
}

async fn carry_out(
    store: &dyn Store,
    records: &[Record],
    decision: &Decision,
    report: &mut Report,
) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let requests = records.iter().map(|record| decision.about(record));
    let mut failed = None;
    for answer in store.resolve(requests.collect()).await {
        match answer {
            Ok(ResolveAnswer::Resolved) => report.changed += 1,
            Ok(ResolveAnswer::Refused) => report.refused += 1,
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(()), |error| Err(report.ended_by(error)))
}

#[cfg(test)]
mod tests;
