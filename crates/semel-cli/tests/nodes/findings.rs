//! Compares what callers were told with what happened and with what the store says about it.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;

use semel_testkit::results;
use serde_json::Value;

use crate::caller::{Caller, Seen, Told};
use crate::fleet::{Fleet, LEASE_MS, NODES};
use crate::storm::{Operation, Storm};
use crate::test_store::TestStore;

/// More than the number of looks within which a lease must have ended.
const LOOKS_MAX: usize = 1_000;

type Keys = BTreeSet<String>;

/// What is known in the end; the sets hold keys of operations.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) kills: usize,
    pub(crate) operations: usize,
    pub(crate) effects: usize,
    /// With more than one effect.
    pub(crate) doubled: Keys,
    /// Told to be done, and without effect.
    pub(crate) lost: Keys,
    /// Of which somebody was told that nobody knows.
    pub(crate) unknown: Keys,
    /// Whose callers were told different things by the record.
    disagreed: Keys,
    /// Done, as the caller was told whose request ran, and unknown on record: the store was away for longer
    /// than an answer is held back.
    pub(crate) early: Keys,
    /// With an effect that nobody asked for.
    unasked: Keys,
    cut: usize,
    pub(crate) away: usize,
}

impl Findings {
    pub(crate) fn of(storm: &Storm, fleet: &Fleet<'_>) -> Self {
        let effects = fleet.upstream().ledger().counts().unwrap();
        let among = |is: &dyn Fn(&Operation, usize) -> bool| -> Keys {
            let count = |op: &Operation| effects.get(&op.key).copied().unwrap_or(0);
            let found = storm.operations.iter().filter(|op| is(op, count(op)));
            found.map(|op| op.key.clone()).collect()
        };
        let asked = among(&|_, _| true);
        Self {
            kills: storm.kills,
            operations: storm.operations.len(),
            effects: self::effects(fleet),
            doubled: among(&|_, effects| effects > 1),
            lost: among(&|op, effects| effects == 0 && op.body().is_some()),
            unknown: among(&|op, _| op.is_unknown()),
            disagreed: among(&|op, _| op.disagrees()),
            early: among(&|op, _| op.is_unknown() && op.body().is_some()),
            unasked: effects
                .into_keys()
                .filter(|key| !asked.contains(key))
                .collect(),
            cut: storm.seen.cut.load(Ordering::Relaxed),
            away: storm.seen.away.load(Ordering::Relaxed),
        }
    }

    /// Writes it down for the table of the test command, and for whoever watches.
    #[expect(
        clippy::print_stderr,
        reason = "the numbers are what the test is run for"
    )]
    pub(crate) fn report(&self, store: &str, run: &str) {
        let counts = [
            self.kills,
            self.operations,
            self.effects,
            self.doubled.len(),
            self.lost.len(),
        ];
        results::record("nodes", store, &counts.map(|count| count.to_string()));
        eprintln!(
            "{store}, {run}: {} kills, {} operations, {} effects, {} doubled, {} lost, {} unknown, \
             {} answers cut, {} times 503",
            self.kills,
            self.operations,
            self.effects,
            self.doubled.len(),
            self.lost.len(),
            self.unknown.len(),
            self.cut,
            self.away,
        );
    }

    /// Fails unless everything took effect at most once, and exactly once if somebody was told so.
    pub(crate) fn assert_once(&self) {
        let wrong = [&self.doubled, &self.lost, &self.disagreed, &self.unasked];
        assert!(wrong.iter().all(|keys| keys.is_empty()), "{self:#?}");
    }
}

/// Fails unless the store agrees with the callers about every operation: the gateways, asked once more,
/// replay what was done, and operators see what is unknown, and nothing that runs.
pub(crate) fn assert_on_record(storm: &Storm, findings: &Findings, fleet: &Fleet<'_>) {
    let seen = Seen::default();
    let caller = Caller::of(fleet, &seen);
    let mut unknown = Keys::new();
    for (turn, op) in storm.operations.iter().enumerate() {
        let told = caller.call(turn % NODES, &op.key);
        match &told {
            Told::Done { replayed, .. } => {
                assert!(*replayed && told.body() == op.body(), "{op:?}: {told:?}");
            }
            Told::Unknown => drop(unknown.insert(op.key.clone())),
        }
    }
    assert_eq!(unknown, findings.unknown);
    assert_eq!(effects(fleet), findings.effects, "asking again had effects");
    shows(fleet.place(), "unknown", &unknown);
    shows(fleet.place(), "running", &Keys::new());
}

fn effects(fleet: &Fleet<'_>) -> usize {
    fleet.upstream().ledger().counts().unwrap().values().sum()
}

/// Fails if any claim is held for longer than its lease, give or take how well the store's clock is known.
pub(crate) fn assert_leases(place: &TestStore) {
    for record in records(place, "running") {
        let left_ms = record["lease"]["left_ms"].as_u64().unwrap();
        assert!(left_ms < 2 * LEASE_MS, "{record}");
    }
}

/// Looks until operators see these records in a state: a lease ends by the clock of the store, and what has
/// ended is noted by the sweep.
fn shows(place: &TestStore, state: &str, expected: &Keys) {
    let mut found = Keys::new();
    for _ in 0..LOOKS_MAX {
        found = listed(place, state);
        if found == *expected {
            return;
        }
    }
    panic!("expected these to be {state}: {expected:?}, found {found:?}");
}

fn listed(place: &TestStore, state: &str) -> Keys {
    let key = |record: &Value| record["key"].as_str().unwrap().to_owned();
    records(place, state).iter().map(key).collect()
}

fn records(place: &TestStore, state: &str) -> Vec<Value> {
    let words = [
        "keys", "list", "--state", state, "--limit", "1000", "--json",
    ];
    let page: Value = serde_json::from_str(&place.semel(&words).done()).unwrap();
    page["records"].as_array().unwrap().clone()
}

/// Proves something about a store; a proof that ends early must not look like one that was not made.
pub(crate) fn noted(store: &str, proof: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(proof)) {
        results::record("nodes", store, &["failed".to_owned()]);
        resume_unwind(panic);
    }
}
