//! Asking providers about unknown records: about one, or about all that a selection leaves, a few at a time.
//!
//! What an answer decides goes through the store as any decision does: it names the fence that was asked about, so a record
//! that was decided or claimed meanwhile is left alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use semel_core::store::{
    Actor, Cursor, PAGE_MAX, Reason, Resolution, ResolveAnswer, ResolveRequest,
};
use semel_core::{Claim, Error, Outcome, Record, Result, Scope, Store, StoreExt, Verdict};
use tokio::time::Instant;

use super::{PAGES_MAX, Selection};
use crate::reconcile::{AT_ONCE_MAX, Missing, QUESTION_MAX, Reconciler, Reconciling};

/// The most rounds of one call; each asks about at most [`AT_ONCE_MAX`] records.
const ROUNDS_MAX: usize = 16;
/// When a call begins no other round.
const ROUNDS_FOR: Duration = Duration::from_secs(20);
/// How long one call takes at most.
pub(crate) const CALL_MAX: Duration = ROUNDS_FOR.saturating_add(QUESTION_MAX);
/// The most kinds of records that a report tells apart.
const KINDS_MAX: usize = 100;
/// What stands before the reason in the audit: the provider said what came of it.
const ASKED: &str = "reconciled: ";

/// Who has it asked, and why.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    pub(crate) by: Actor,
    pub(crate) reason: Reason,
}

impl Asker {
    /// The reason as it stands in the audit; one that leaves no room for more stays as it is.
    fn audited(&self) -> Reason {
        let whole = format!("{ASKED}{}", self.reason.as_str());
        Reason::new(whole).unwrap_or_else(|_| self.reason.clone())
    }
}

/// How asking about a record ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing was asked: there is nothing to ask.
    Missing(Missing),
    /// It happened, and what came of it is on record.
    Settled(Brief),
    /// It did not happen, and the next request runs.
    Released,
    /// The provider could not tell, or was not reached; nothing changed.
    Unknown(String),
    /// The answer came too late: another decision or another claim was faster.
    Changed {
        /// What was answered.
        happened: bool,
    },
}

/// An outcome in a few words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Brief {
    pub(crate) verdict: Verdict,
    /// 0 where there is none.
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
}

impl Brief {
    fn of(outcome: &Outcome) -> Self {
        Self {
            verdict: outcome.verdict,
            status: outcome.status,
            body_bytes: outcome.body.len(),
        }
    }
}

/// A record that was asked about.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) claim: Claim,
    /// Where it was asked.
    pub(crate) url: Option<String>,
    pub(crate) end: End,
}

/// Records of a scope about which the same is asked, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub(crate) scope: Scope,
    /// Where it is asked, or why nothing is.
    pub(crate) url: std::result::Result<String, Missing>,
}

/// What a call found and did.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// How many records of each kind the selection names; at most [`KINDS_MAX`] kinds are told apart.
    pub(crate) kinds: HashMap<Kind, u64>,
    /// Records that the selection names.
    pub(crate) matched: u64,
    /// Those of them that have a reconciler.
    pub(crate) askable: u64,
    /// What was asked.
    pub(crate) items: Vec<Item>,
    /// Where the next call goes on, if there is more to look at.
    pub(crate) next: Option<Cursor>,
}

impl Report {
    /// How many ended so.
    pub(crate) fn ended(&self, how: impl Fn(&End) -> bool) -> u64 {
        self.items.iter().filter(|item| how(&item.end)).count() as u64
    }

    fn found(&mut self, record: &Record, url: std::result::Result<String, Missing>) {
        self.matched += 1;
        self.askable += u64::from(url.is_ok());
        let scope = record.identity.scope().clone();
        let kind = Kind { scope, url };
        if self.kinds.len() < KINDS_MAX || self.kinds.contains_key(&kind) {
            *self.kinds.entry(kind).or_default() += 1;
        }
    }

    /// The error that ended a call, and how far it had come.
    fn ended_by(&self, error: Error) -> Error {
        match self.ended(|end| matches!(end, End::Settled(_) | End::Released)) {
            0 => error,
            decided => Error::new(
                error.kind(),
                format!("after {decided} records were decided: {error}"),
            ),
        }
    }
}

/// Says about which records would be asked, and where: a dry run. It looks at [`PAGES_MAX`] pages at most.
pub(crate) async fn look(
    store: &dyn Store,
    reconciling: &Reconciling,
    selection: &Selection,
    before: Option<Cursor>,
) -> Result<Report> {
    let mut report = Report {
        next: before,
        ..Report::default()
    };
    for _ in 0..PAGES_MAX {
        let records = page(store, selection, &mut report, PAGE_MAX).await?;
        for record in &records {
            let url = reconciling.of(record).map(|reconciler| reconciler.url());
            report.found(record, url);
        }
        if report.next.is_none() {
            break;
        }
    }
    Ok(report)
}

/// Asks about all that are meant, round by round, until there are no more or the time of one call is over.
pub(crate) async fn ask(
    store: &dyn Store,
    reconciling: &Reconciling,
    selection: &Selection,
    asker: &Asker,
    before: Option<Cursor>,
) -> Result<Report> {
    let mut report = Report {
        next: before,
        ..Report::default()
    };
    let ends = Instant::now() + ROUNDS_FOR;
    for _ in 0..ROUNDS_MAX {
        let records = page(store, selection, &mut report, AT_ONCE_MAX).await;
        let records = records.map_err(|error| report.ended_by(error))?;
        round(store, reconciling, &records, asker, &mut report).await?;
        if report.next.is_none() || Instant::now() >= ends {
            break;
        }
    }
    Ok(report)
}

async fn page(
    store: &dyn Store,
    selection: &Selection,
    report: &mut Report,
    limit: usize,
) -> Result<Vec<Record>> {
    let page = store
        .list(selection.query(report.next.take(), limit))
        .await?;
    report.next = page.next;
    let mut records = page.records;
    records.retain(|record| selection.takes(record));
    Ok(records)
}

async fn round(
    store: &dyn Store,
    reconciling: &Reconciling,
    records: &[Record],
    asker: &Asker,
    report: &mut Report,
) -> Result<()> {
    let mut questions = Vec::with_capacity(records.len());
    for record in records {
        let found = reconciling.of(record);
        let url = found.as_ref().map(|reconciler| reconciler.url());
        report.found(record, url.map_err(|missing| *missing));
        if let Ok(reconciler) = found {
            questions.push(about(store, reconciling, record, reconciler, asker));
        }
    }
    let mut failed = None;
    // Each has ended before an error is told: what was decided stays decided.
    for ended in join_all(questions).await {
        match ended {
            Ok(item) => report.items.push(item),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(()), |error| Err(report.ended_by(error)))
}

/// Asks about one unknown record.
pub(crate) async fn one(
    store: &dyn Store,
    reconciling: &Reconciling,
    record: &Record,
    asker: &Asker,
) -> Result<Item> {
    match reconciling.of(record) {
        Ok(reconciler) => about(store, reconciling, record, reconciler, asker).await,
        Err(missing) => Ok(Item {
            claim: claim(record),
            url: None,
            end: End::Missing(missing),
        }),
    }
}

async fn about(
    store: &dyn Store,
    reconciling: &Reconciling,
    record: &Record,
    reconciler: Arc<dyn Reconciler>,
    asker: &Asker,
) -> Result<Item> {
    let claim = claim(record);
    let end = match reconciling.ask(&*reconciler, &claim).await {
        Err(why) => End::Unknown(why),
        Ok(resolution) => decide(store, &claim, resolution, asker).await?,
    };
    let url = Some(reconciler.url());
    Ok(Item { claim, url, end })
}

/// Carries out what the answer decides.
async fn decide(
    store: &dyn Store,
    claim: &Claim,
    resolution: Resolution,
    asker: &Asker,
) -> Result<End> {
    let settled = resolution.outcome().map(Brief::of);
    let request = ResolveRequest {
        claim: claim.clone(),
        by: asker.by.clone(),
        reason: Some(asker.audited()),
        resolution,
    };
    Ok(match store.resolve_one(request).await? {
        ResolveAnswer::Refused => End::Changed {
            happened: settled.is_some(),
        },
        ResolveAnswer::Resolved => settled.map_or(End::Released, End::Settled),
    })
}

fn claim(record: &Record) -> Claim {
    Claim {
        identity: record.identity.clone(),
        fence: record.fence,
    }
}
