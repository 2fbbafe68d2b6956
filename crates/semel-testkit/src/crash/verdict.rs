//! What the ledger and the store say after all the killing, held against what callers were told.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use semel_core::store::{Query, StateFilter, StoreExt};
use semel_core::{OnUnknown, Record, State, Store};

use super::opening::opened;
use super::supervisor::Account;
use super::worker::{Job, is_checked};
use super::{Open, Point};

/// How one policy fared.
#[derive(Debug)]
pub struct Verdict {
    /// The policy that was proven.
    pub policy: OnUnknown,
    /// How often a worker was killed.
    pub kills: usize,
    /// How often at each named point; the rest were at random moments.
    pub kills_at: Vec<(Point, usize)>,
    /// Operations that callers asked for.
    pub operations: usize,
    /// Effects in the ledger.
    pub effects: usize,
    /// Operations with more than one effect although at most one is promised.
    pub doubled: usize,
    /// Operations that ran again as their policy asked, with effects that nobody checks.
    pub repeated: usize,
    /// Operations without an effect.
    pub without: usize,
    /// Operations without an effect whose callers were told that they are done, or of which
    /// nobody knows any more.
    pub lost: usize,
    /// Operations in the queue of unknown outcomes.
    pub unknown: usize,
    /// What should not be.
    pub wrong: Vec<String>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.policy.name();
        write!(
            f,
            "{policy:>9}: {} kills, {} operations, {} effects, {} doubled, {} repeated, {} without effect, {} unknown, {} lost\n{:>11}killed",
            self.kills,
            self.operations,
            self.effects,
            self.doubled,
            self.repeated,
            self.without,
            self.unknown,
            self.lost,
            ""
        )?;
        for (point, kills) in &self.kills_at {
            write!(f, " {} {kills},", point.name())?;
        }
        let named: usize = self.kills_at.iter().map(|(_, kills)| kills).sum();
        write!(f, " at random {}", self.kills - named)?;
        for wrong in &self.wrong {
            write!(f, "\n{:>11}WRONG: {wrong}", "")?;
        }
        Ok(())
    }
}

impl Verdict {
    /// What the table of results is made of: the policy, then numbers.
    pub(super) fn fields(&self) -> Vec<String> {
        let numbers = [
            self.kills,
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
}

/// Judges a finished run.
pub(super) fn judge(job: &Job, account: &Account, open: Open) -> Verdict {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built");
    let store = runtime.block_on(opened(open, &job.dir));
    let ledger = job.ledger().expect("the ledger opens");
    let unknown = runtime.block_on(unknown_queue(&store, job.tenant()));
    let mut judge = Judge {
        policy: job.policy,
        account,
        unknown: &unknown,
        repeated: 0,
        doubled: 0,
        lost: 0,
        wrong: Vec::new(),
    };
    let (mut effects, mut without) = (0, 0);
    for operation in &account.asked {
        let count = ledger.count(operation).expect("the ledger can be read");
        effects += count;
        without += usize::from(count == 0);
        let record = runtime.block_on(store.look_up_one(job.identity(operation)));
        let record = record.expect("the store answers");
        judge.operation(operation, count, record.as_deref());
    }
    judge.points();
    Verdict {
        policy: job.policy,
        kills: account.kills,
        kills_at: Point::ALL
            .map(|p| (p, account.kills_at.get(&p).copied().unwrap_or(0)))
            .to_vec(),
        operations: account.asked.len(),
        effects,
        doubled: judge.doubled,
        repeated: judge.repeated,
        without,
        lost: judge.lost,
        unknown: unknown.len(),
        wrong: judge.wrong,
    }
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

struct Judge<'a> {
    policy: OnUnknown,
    account: &'a Account,
    unknown: &'a BTreeSet<String>,
    doubled: usize,
    repeated: usize,
    lost: usize,
    wrong: Vec<String>,
}

impl Judge<'_> {
    fn operation(&mut self, operation: &str, effects: usize, record: Option<&Record>) {
        let done = self.account.done.contains(operation);
        let settled = record.is_some_and(|r| matches!(r.state, State::Settled(_)));
        self.expect(
            done == settled,
            operation,
            "is settled exactly if its caller was told so",
        );
        self.expect(
            effects > 0 || !done,
            operation,
            "was told done and has no effect",
        );
        let known = done || self.unknown.contains(operation);
        self.expect(known, operation, "is neither done nor in the unknown queue");
        let repeatable = self.policy == OnUnknown::Rerun && !is_checked(operation);
        self.doubled += usize::from(effects > 1 && !repeatable);
        self.repeated += usize::from(effects > 1 && repeatable);
        self.lost += usize::from(effects == 0 && (done || !known));
        let fine = match self.policy {
            OnUnknown::Hold => effects <= 1,
            OnUnknown::Rerun if is_checked(operation) => effects == 1,
            OnUnknown::Rerun => effects >= 1,
            OnUnknown::Reconcile => effects == 1,
        };
        self.expect(fine, operation, &format!("has {effects} effects"));
    }

    /// A run that never reached one of the points has proven less than it says.
    fn points(&mut self) {
        let enough = 1;
        for point in Point::ALL {
            let kills = self.account.kills_at.get(&point).copied().unwrap_or(0);
            self.expect(
                kills >= enough,
                point.name(),
                &format!("saw only {kills} kills"),
            );
        }
    }

    fn expect(&mut self, holds: bool, what: &str, wrong: &str) {
        if !holds {
            self.wrong.push(format!("{what} {wrong}"));
        }
    }
}
