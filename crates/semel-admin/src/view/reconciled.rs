//! What providers answered about unknown records, and what came of it.

use semel_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::records::reconcile::{End, Item, Report};

/// What a provider answered about an unknown record.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Reconciled {
    /// On whose behalf.
    pub tenant: String,
    /// Which operation, as `name@version`.
    pub scope: String,
    /// Which instance of it.
    pub key: String,
    /// The claim that was asked about.
    pub fence: u64,
    /// Where it was asked, with the placeholders of the route.
    pub url: Option<String>,
    /// `happened`, `did-not-happen` or `cannot-tell`.
    pub answer: String,
    /// Why it is not known, or why the answer was not used; null otherwise.
    pub why: Option<String>,
    /// Of what happened: `succeeded` or `failed`.
    pub verdict: Option<String>,
    /// Of what happened: the HTTP status that duplicates get.
    pub status: Option<u16>,
    /// Of what happened: how many bytes the body has.
    pub body_bytes: Option<u64>,
    /// How the record stands now: `settled`, `absent` (the next request runs) or `unknown`; `changed` if another decision or
    /// another claim was faster and the answer was not used.
    pub state: String,
}

impl Reconciled {
    /// What became of a record.
    pub(crate) fn of(item: &Item) -> Self {
        let identity = &item.claim.identity;
        let (answer, why, state) = match &item.end {
            End::Settled(_) => ("happened", None, "settled"),
            End::Released => ("did-not-happen", None, "absent"),
            End::Unknown(why) => ("cannot-tell", Some(why.clone()), "unknown"),
            End::Missing(missing) => (
                "cannot-tell",
                Some(missing.says(identity.scope())),
                "unknown",
            ),
            End::Changed { happened } => {
                let answer = if *happened {
                    "happened"
                } else {
                    "did-not-happen"
                };
                let why = "another decision or another claim was faster; the answer was not used";
                (answer, Some(why.to_owned()), "changed")
            }
        };
        let brief = match &item.end {
            End::Settled(brief) => Some(*brief),
            _ => None,
        };
        Self {
            tenant: identity.tenant().to_string(),
            scope: identity.scope().to_string(),
            key: identity.key().to_string(),
            fence: item.claim.fence.get(),
            url: item.url.clone(),
            answer: answer.to_owned(),
            why,
            verdict: brief.map(|brief| brief.verdict.name().to_owned()),
            status: brief
                .map(|brief| brief.status)
                .filter(|status| *status != 0),
            body_bytes: brief.map(|brief| brief.body_bytes),
            state: state.to_owned(),
        }
    }
}

/// Records of a scope about which the same is asked, or nothing.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ReconcileScope {
    /// Which operation, as `name@version`.
    pub scope: String,
    /// How many records.
    pub records: u64,
    /// Where it is asked, with the placeholders of the route; null if there is nothing to ask.
    pub url: Option<String>,
    /// Why there is nothing to ask, and what to do.
    pub why: Option<String>,
}

/// What was asked about many unknown records, or would be.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ReconcileReport {
    /// Whether nothing was asked because only a forecast was wanted.
    pub dry_run: bool,
    /// Unknown records that the selection names.
    pub matched: u64,
    /// Those of them that have a reconciler.
    pub with_reconciler: u64,
    /// Those of them that have none, and are left alone.
    pub without_reconciler: u64,
    /// Records that were settled: they happened.
    pub settled: u64,
    /// Records that were released: they did not happen.
    pub released: u64,
    /// Records that stay unknown: the provider could not tell or was not reached.
    pub still_unknown: u64,
    /// Records that changed while the provider was asked, and were left alone.
    pub left_alone: u64,
    /// What becomes unknown after this moment is left alone; as `older_than`, it asks about what a dry run has shown.
    pub until: String,
    /// How many records of each scope there are, and where is asked about them; at most 100.
    pub scopes: Vec<ReconcileScope>,
    /// What was answered, one by one; empty after a dry run.
    pub records: Vec<Reconciled>,
    /// Ask again with `before` set to this to go on; null if that was all.
    pub next: Option<String>,
}

impl ReconcileReport {
    /// What a call found and did.
    pub(crate) fn of(report: &Report, dry_run: bool, until: Timestamp) -> Self {
        let mut scopes: Vec<_> = report
            .kinds
            .iter()
            .map(|(kind, records)| ReconcileScope {
                scope: kind.scope.to_string(),
                records: *records,
                url: kind.url.clone().ok(),
                why: kind
                    .url
                    .as_ref()
                    .err()
                    .map(|missing| missing.says(&kind.scope)),
            })
            .collect();
        scopes.sort_by(|one, other| (&one.scope, &one.url).cmp(&(&other.scope, &other.url)));
        Self {
            dry_run,
            matched: report.matched,
            with_reconciler: report.askable,
            without_reconciler: report.matched - report.askable,
            settled: report.ended(|end| matches!(end, End::Settled(_))),
            released: report.ended(|end| matches!(end, End::Released)),
            still_unknown: report.ended(|end| matches!(end, End::Unknown(_))),
            left_alone: report.ended(|end| matches!(end, End::Changed { .. })),
            until: until.to_string(),
            scopes,
            records: report.items.iter().map(Reconciled::of).collect(),
            next: report.next.as_ref().map(ToString::to_string),
        }
    }
}
