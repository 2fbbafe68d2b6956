//! Counts what was observed, for people who want to know before they switch on.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use semel_core::{Key, Scope, Tenant};

use crate::event::{Event, RequestObserver, What};
use crate::observe::Finding;

/// The most scopes that are counted.
const SCOPES_MAX: usize = 1_024;
/// The most clients of one scope that are counted apart; the rest are counted together.
const CLIENTS_MAX: usize = 256;
/// The most clients of all scopes that are counted apart.
const ROWS_MAX: usize = 4_096;

/// How often each finding was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally([u64; Finding::ALL.len()]);

impl Tally {
    /// How often this was found.
    pub const fn count(&self, finding: Finding) -> u64 {
        self.0[finding as usize]
    }

    /// How many requests there were.
    pub fn requests(&self) -> u64 {
        self.0.iter().sum()
    }

    const fn add(&mut self, finding: Finding) {
        self.0[finding as usize] += 1;
    }
}

/// Whose requests they were.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Client {
    /// This caller's.
    Known(Tenant),
    /// Callers' that cannot be told, or that were not asked for because there was no key.
    Unknown,
    /// Callers' that are too many to be counted apart.
    Others,
}

/// What was observed of one client in one scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// How often what was found.
    pub tally: Tally,
    /// The key of the latest mismatch.
    pub mismatch: Option<Key>,
    /// The key of the latest request that had come before with another key.
    pub suspicious: Option<Key>,
}

impl Seen {
    fn add(&mut self, finding: Finding, key: Option<&Key>) {
        self.tally.add(finding);
        match finding {
            Finding::Mismatch => self.mismatch = key.cloned(),
            Finding::SuspiciousKey => self.suspicious = key.cloned(),
            _ => {}
        }
    }
}

/// Counts observations since the start of the process, by scope and client.
#[derive(Debug, Default)]
pub struct Report(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    scopes: BTreeMap<Scope, BTreeMap<Client, Seen>>,
    count: usize,
}

impl Report {
    /// The counts so far, by scope and client.
    pub fn rows(&self) -> Vec<(Scope, Client, Seen)> {
        let rows = self.lock();
        let all = rows.scopes.iter().flat_map(|(scope, clients)| {
            let row =
                |(client, seen): (&Client, &Seen)| (scope.clone(), client.clone(), seen.clone());
            clients.iter().map(row)
        });
        all.collect()
    }

    /// How often something was found, in all scopes and of all clients together.
    pub fn count(&self, finding: Finding) -> u64 {
        let rows = self.lock();
        let seen = rows.scopes.values().flat_map(BTreeMap::values);
        seen.map(|seen| seen.tally.count(finding)).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    /// The row of a client; nothing if there are too many scopes.
    fn row(&mut self, scope: &Scope, client: Client) -> Option<&mut Seen> {
        if self.scopes.len() >= SCOPES_MAX && !self.scopes.contains_key(scope) {
            return None;
        }
        let clients = self.scopes.entry(scope.clone()).or_default();
        let is_new = !clients.contains_key(&client);
        let is_full = clients.len() >= CLIENTS_MAX || self.count >= ROWS_MAX;
        let client = match client {
            Client::Known(_) if is_new && is_full => Client::Others,
            Client::Known(_) if is_new => {
                self.count += 1;
                client
            }
            Client::Known(_) | Client::Unknown | Client::Others => client,
        };
        Some(clients.entry(client).or_default())
    }
}

impl RequestObserver for Report {
    fn saw(&self, event: &Event<'_>) {
        let What::Observed(finding) = event.what else {
            return;
        };
        let client = match event.identity {
            Some(identity) => Client::Known(identity.tenant().clone()),
            None => Client::Unknown,
        };
        let key = event.identity.map(semel_core::Identity::key);
        if let Some(seen) = self.lock().row(event.scope, client) {
            seen.add(finding, key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use semel_core::Identity;

    use super::*;

    fn saw(report: &Report, scope: &str, tenant: &str, finding: Finding) {
        let identity = Identity::parse(tenant, scope, "k").unwrap();
        report.saw(&Event {
            scope: identity.scope(),
            identity: Some(&identity),
            what: What::Observed(finding),
            status: 200,
            took: Duration::ZERO,
        });
    }

    #[test]
    fn every_finding_has_its_place_in_a_tally() {
        for (place, finding) in Finding::ALL.into_iter().enumerate() {
            assert_eq!(finding as usize, place, "{finding:?}");
        }
    }

    #[test]
    fn clients_are_counted_apart_and_their_latest_keys_are_kept() {
        let report = Report::default();
        saw(&report, "pay", "a", Finding::First);
        saw(&report, "pay", "b", Finding::Mismatch);
        saw(&report, "pay", "b", Finding::Duplicate);
        let rows = report.rows();
        let [(_, a, first), (_, _, second)] = rows.as_slice() else {
            panic!("two clients are two rows: {rows:?}");
        };
        assert_eq!(*a, Client::Known("a".parse().unwrap()));
        assert_eq!((first.tally.requests(), second.tally.requests()), (1, 2));
        assert_eq!(second.mismatch.as_ref().map(Key::as_str), Some("k"));
    }

    #[test]
    fn what_is_counted_is_bounded_and_nothing_is_lost_of_the_sums() {
        let report = Report::default();
        let (scopes, clients) = (40, 300);
        for scope in 0..scopes {
            for client in 0..clients {
                let scope = format!("s{scope}");
                saw(&report, &scope, &format!("c{client}"), Finding::Duplicate);
            }
        }
        assert!(report.rows().len() <= ROWS_MAX + scopes);
        assert_eq!(report.count(Finding::Duplicate), 40 * 300);
        let others = report.rows().into_iter();
        let others = others.filter(|(_, client, _)| *client == Client::Others);
        assert_eq!(others.count(), scopes);
    }
}
