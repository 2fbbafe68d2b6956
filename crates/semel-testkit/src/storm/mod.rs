//! Many callers with many duplicates while something goes wrong: the scenario of every fault test.
//!
//! Distinct operations are called several times each, through several handles (nodes) at once. Callers
//! insist until they are told something final. One half of the operations is on its way when the fault
//! strikes, the other half comes while it lasts. Effects are counted in a [`Ledger`], outside of every
//! store.
//!
//! ```
//! use semel_core::{MemoryStore, OnUnknown, Once};
//! use semel_testkit::storm::{Storm, policy};
//!
//! # #[tokio::main] async fn main() {
//! let once = Once::new(MemoryStore::new()).with_policy(policy(OnUnknown::Hold));
//! let storm = Storm::new(20, 3);
//! let tally = storm
//!     .rage(vec![once.clone(), once], async |progress| {
//!         progress.effects(5).await;
//!         // Here the store is stopped.
//!         progress.struck();
//!         // Here it is started again.
//!     })
//!     .await;
//! tally.assert_once();
//! # }
//! ```
//!
//! The policy of the handles says which provider the effects have: a dumb one under `Hold`, one that
//! checks fences and does each operation once under `Rerun`, one that can be asked under `Reconcile`
//! (give the handles a reconciler that asks [`Storm::ledger`]).

mod caller;
mod progress;
mod tally;

pub use progress::Progress;
pub use tally::Tally;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use semel_core::{InProgress, LeaseTerm, OnUnknown, Once, Policy};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::ledger::Ledger;
use caller::{Caller, End};
use tally::Account;

/// Short, so that a test need not wait long for what a lost answer left behind.
const LEASE: Duration = Duration::from_millis(500);
/// Callers of each half that are on their way at the same time, unless the test says otherwise.
const AT_ONCE: usize = 24;

/// A policy for handles in a storm: short leases, and duplicates that wait for them to end.
pub fn policy(on_unknown: OnUnknown) -> Policy {
    Policy {
        lease: LeaseTerm::new(LEASE).expect("a valid term"),
        in_progress: InProgress::Wait(LEASE * 2),
        on_unknown,
        ..Policy::default()
    }
}

/// A storm about to break loose. Its identities belong to a tenant of its own, so storms may share a
/// server.
#[derive(Debug)]
pub struct Storm {
    operations: usize,
    duplicates: usize,
    at_once: usize,
    tenant: String,
    dir: PathBuf,
    ledger: Ledger,
}

impl Storm {
    /// `operations` distinct operations, each called by `duplicates` callers.
    pub fn new(operations: usize, duplicates: usize) -> Self {
        let tenant = format!("storm-{:016x}", crate::random::fresh_seed());
        let dir = std::env::temp_dir().join(format!("semel-{tenant}"));
        Self {
            operations,
            duplicates,
            at_once: AT_ONCE,
            ledger: Ledger::open(&dir).expect("a temporary directory"),
            tenant,
            dir,
        }
    }

    /// The same with another number of callers of each half that are on their way at the same time.
    #[must_use]
    pub const fn at_once(mut self, at_once: usize) -> Self {
        self.at_once = at_once;
        self
    }

    /// Where the effects are counted.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The tenant of this storm's identities.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Lets the callers loose and injects `fault`, which returns when everything works again. Then
    /// every caller gets an end, and every handle is asked once more about every operation.
    pub async fn rage(&self, handles: Vec<Once>, fault: impl AsyncFnOnce(Progress)) -> Tally {
        let first = handles.first().expect("a storm needs a handle");
        let hold = first.policy().on_unknown == OnUnknown::Hold;
        let (progress, account) = (Progress::default(), Arc::new(Account::default()));
        let caller = |once: &Once, operation: &str| Caller {
            once: once.clone(),
            tenant: self.tenant.clone(),
            operation: operation.to_owned(),
            ledger: self.ledger.clone(),
            progress: progress.clone(),
            account: account.clone(),
        };
        let mut ahead = self.duplicates(&handles, caller);
        let waiting = ahead.split_off(self.operations / 2 * self.duplicates);
        let faulty = async {
            fault(progress.clone()).await;
            progress.calm();
        };
        let insisting = async {
            let ahead = async {
                self.all(ahead, Account::told).await;
                progress.ahead_over();
            };
            let waiting = async {
                progress.strike().await;
                self.all(waiting, Account::told).await;
            };
            tokio::join!(ahead, waiting);
            progress.over();
        };
        tokio::join!(faulty, insisting);
        // Every handle must have recovered, and tell the same as before.
        let names = self.names();
        let asked = handles
            .iter()
            .flat_map(|once| names.iter().map(move |name| (once, name)));
        let auditors = asked.map(|(once, name)| caller(once, name)).collect();
        self.all(auditors, Account::audited).await;
        account.tally(&self.ledger, &names, hold)
    }

    /// Duplicates of one operation follow each other closely, each through another handle.
    fn duplicates(&self, handles: &[Once], caller: impl Fn(&Once, &str) -> Caller) -> Vec<Caller> {
        let mut callers = Vec::with_capacity(self.operations * self.duplicates);
        for (index, operation) in self.names().into_iter().enumerate() {
            for duplicate in 0..self.duplicates {
                let once = &handles[(index + duplicate) % handles.len()];
                callers.push(caller(once, &operation));
            }
        }
        callers
    }

    /// Lets every caller insist, a bounded number of them at a time.
    async fn all(&self, callers: Vec<Caller>, note: fn(&Account, &str, End)) {
        let turns = Arc::new(Semaphore::new(self.at_once));
        let mut tasks = JoinSet::new();
        for caller in callers {
            let turns = turns.clone();
            tasks.spawn(async move {
                let _turn = turns.acquire().await.expect("never closed");
                let end = caller.insist().await;
                note(&caller.account, &caller.operation, end);
            });
        }
        while let Some(task) = tasks.join_next().await {
            task.expect("a caller does not panic");
        }
    }

    fn names(&self) -> Vec<String> {
        (0..self.operations).map(|n| format!("op-{n}")).collect()
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        // What a failed test left behind is kept for whoever looks into it.
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}
