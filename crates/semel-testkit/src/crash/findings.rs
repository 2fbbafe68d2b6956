//! What the ledger and the store say after all the killing, held against what callers were told.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use semel_core::store::{Query, StateFilter, StoreExt};
use semel_core::{OnUnknown, Record, State, Store};

use super::callers::Callers;
use super::worker::{Job, is_checked};
use super::{Open, Point};
use crate::killing::{self, Kills, opened, runtime};

/// How one policy fared.
#[derive(Debug)]
pub(super) struct Findings {
    policy: OnUnknown,
    kills: Kills<Point>,
    operations: usize,
    effects: usize,
    /// Operations with more than one effect although at most one is promised.
    doubled: usize,
    /// Operations that ran again as their policy asked, with effects that nobody checks.
    repeated: usize,
    /// Operations without an effect.
    without: usize,
    /// Operations without an effect whose callers were told that they are done, or of which
    /// nobody knows any more.
    lost: usize,
    /// Operations in the queue of unknown outcomes.
    unknown: usize,
    wrong: Vec<String>,
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>9}: {} kills, {} operations, {} effects, {} doubled, {} repeated, {} without effect, {} unknown, {} lost\n{:>11}{}",
            self.policy.name(),
            self.kills.total,
            self.operations,
            self.effects,
            self.doubled,
            self.repeated,
            self.without,
            self.unknown,
            self.lost,
            "",
            self.kills
        )
    }
}

impl killing::Findings for Findings {
    fn fields(&self) -> Vec<String> {
        let numbers = [
            self.kills.total,
            self.operations,
            self.effects,
            self.doubled,
            self.repeated,
            self.unknown,
            self.lost,
            self.wrong.len(),
        ];
        let policy = std::iter::once(self.policy.name().to_owned());
        policy.chain(numbers.map(|n| n.to_string())).collect()
    }

    fn wrong(&self) -> &[String] {
        &self.wrong
    }
}

/// Judges a finished run.
pub(super) fn judge(job: &Job, callers: &Callers, kills: Kills<Point>, open: Open) -> Findings {
    let runtime = runtime();
    let store = runtime.block_on(opened(open, &job.scene.dir));
    let ledger = job.scene.ledger();
    let unknown = runtime.block_on(unknown_queue(&store, job.scene.name()));
    let mut findings = Findings {
        policy: job.policy,
        operations: callers.asked.len(),
        effects: 0,
        doubled: 0,
        repeated: 0,
        without: 0,
        lost: 0,
        unknown: unknown.len(),
        wrong: kills.missing().collect(),
        kills,
    };
    for operation in &callers.asked {
        let count = ledger.count(operation).expect("the ledger can be read");
        let record = runtime.block_on(store.look_up_one(job.identity(operation)));
        let record = record.expect("the store answers");
        let told = Told {
            done: callers.done.contains(operation),
            unknown: unknown.contains(operation),
        };
        findings.operation(operation, count, record.as_deref(), &told);
    }
    job.scene.end(!findings.wrong.is_empty());
    findings
}

/// What is known of an operation besides its record.
struct Told {
    /// The caller was told that it is done.
    done: bool,
    /// It stands in the queue of unknown outcomes.
    unknown: bool,
}

async fn unknown_queue(store: &Arc<dyn Store>, tenant: String) -> BTreeSet<String> {
    let (mut keys, mut before) = (BTreeSet::new(), None);
    loop {
        let state = Some(StateFilter::Unknown);
        let query = Query {
            state,
            before,
            tenant: Some(tenant.clone()),
            ..Query::default()
        };
        let page = store.list(query).await.expect("the store answers");
        keys.extend(
            page.records
                .iter()
                .map(|r| r.identity.key().as_str().to_owned()),
        );
        before = page.next;
        if before.is_none() {
            return keys;
        }
    }
}

impl Findings {
    fn operation(&mut self, operation: &str, effects: usize, record: Option<&Record>, told: &Told) {
        let done = told.done;
        let settled = record.is_some_and(|r| matches!(r.state, State::Settled(_)));
        let known = done || told.unknown;
        let repeatable = self.policy == OnUnknown::Rerun && !is_checked(operation);
        self.effects += effects;
        self.without += usize::from(effects == 0);
        self.doubled += usize::from(effects > 1 && !repeatable);
        self.repeated += usize::from(effects > 1 && repeatable);
        self.lost += usize::from(effects == 0 && (done || !known));
        let fine = match self.policy {
            OnUnknown::Hold => effects <= 1,
            OnUnknown::Rerun if is_checked(operation) => effects == 1,
            OnUnknown::Rerun => effects >= 1,
            OnUnknown::Reconcile => effects == 1,
        };
        let counted = format!("has {effects} effects");
        for (holds, wrong) in [
            (
                done == settled,
                "is not settled exactly if its caller was told so",
            ),
            (effects > 0 || !done, "was told done and has no effect"),
            (known, "is neither done nor in the unknown queue"),
            (fine, counted.as_str()),
        ] {
            if !holds {
                self.wrong.push(format!("{operation} {wrong}"));
            }
        }
    }
}
