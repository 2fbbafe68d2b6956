//! Counts what was observed, for people who want to know before they switch on.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::event::{Event, RequestObserver, What};
use crate::observe::Finding;

/// The most scopes that are counted apart.
const SCOPES_MAX: usize = 1_024;

/// How often each finding was made in one scope.
pub type Tally = BTreeMap<&'static str, u64>;

/// Counts observations since the start of the process, scope by scope.
#[derive(Debug, Default)]
pub struct Report(Mutex<BTreeMap<String, Tally>>);

impl Report {
    /// The counts so far.
    pub fn tallies(&self) -> BTreeMap<String, Tally> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl RequestObserver for Report {
    fn saw(&self, event: &Event<'_>) {
        let What::Observed(finding) = event.what else {
            return;
        };
        let scope = event.scope.to_string();
        let mut scopes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if scopes.len() < SCOPES_MAX || scopes.contains_key(&scope) {
            let empty = || Finding::ALL.map(|finding| (finding.name(), 0)).into();
            let tally: &mut Tally = scopes.entry(scope).or_insert_with(empty);
            *tally.entry(finding.name()).or_default() += 1;
        }
    }
}
