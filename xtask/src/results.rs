//! One table of what the stores' tests found: conformance, gateways that were killed, and crashes, a row per
//! store.
//!
//! The tests write lines into a directory that `SEMEL_TEST_RESULTS` names (see `results.rs` in
//! `semel-testkit`); this only adds them up. It decides nothing: a failed test has failed already.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::output::note;

/// Prints the table of the results in `dir`; nothing if no store was tested.
pub(crate) fn print(dir: &Path) {
    let stores = read(dir);
    if !stores.is_empty() {
        note(&table(&stores));
    }
}

/// What is known about one store.
#[derive(Debug, Default)]
struct Store {
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
    /// The sums over all policies; none if no crash test ran to its end.
    crashes: Option<[u64; NUMBERS]>,
    /// The sums over all runs of several gateways; none if no such run came to its end.
    nodes: Option<[u64; NODES_NUMBERS]>,
    ended_early: bool,
    /// What the store says that it cannot offer, so that suites do not apply to it.
    declined: BTreeSet<String>,
}

/// The numbers of a crash line, in its order: kills, operations, effects, doubled, repeated,
/// unknown, lost, and how many rules did not hold.
const NUMBERS: usize = 8;
const COLUMNS: [&str; NUMBERS] = [
    "kills",
    "operations",
    "effects",
    "doubled",
    "repeated",
    "unknown",
    "lost",
    "result",
];

/// The numbers of a line about several gateways, in its order: kills, operations, effects, doubled, lost.
const NODES_NUMBERS: usize = 5;

type Stores = BTreeMap<String, Store>;

fn read(dir: &Path) -> Stores {
    let mut stores = Stores::new();
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    for file in files {
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        for line in text.lines() {
            if add(&mut stores, line).is_none() {
                note(&format!("expected a line of results, found {line:?}"));
            }
        }
    }
    stores
}

/// Adds one line; none if it is not understood.
fn add(stores: &mut Stores, line: &str) -> Option<()> {
    let mut fields = line.split('\t');
    let (kind, name) = fields.next()?.split_once(' ')?;
    let fields: Vec<&str> = fields.collect();
    let store = stores.entry(name.to_owned()).or_default();
    match (kind, fields.as_slice()) {
        ("conformance", [test]) => drop(store.passed.insert((*test).to_owned())),
        ("failed", [test]) => drop(store.failed.insert((*test).to_owned())),
        ("declines", [ability]) => drop(store.declined.insert((*ability).to_owned())),
        ("crash" | "nodes", ["failed"]) => store.ended_early = true,
        ("crash", [_policy, numbers @ ..]) if numbers.len() == NUMBERS => {
            add_up(store.crashes.get_or_insert_default(), numbers)?;
        }
        ("nodes", numbers) if numbers.len() == NODES_NUMBERS => {
            add_up(store.nodes.get_or_insert_default(), numbers)?;
        }
        _ => return None,
    }
    Some(())
}

fn add_up(sums: &mut [u64], numbers: &[&str]) -> Option<()> {
    for (sum, number) in sums.iter_mut().zip(numbers) {
        *sum += number.parse::<u64>().ok()?;
    }
    Some(())
}

impl Store {
    fn conformance(&self) -> String {
        let passed = self.passed.difference(&self.failed).count();
        match (passed, self.failed.len()) {
            (0, 0) => "-".to_owned(),
            (passed, 0) => format!("{passed} passed"),
            (passed, failed) => format!("{passed} passed, {failed} FAILED"),
        }
    }

    /// How many gateways were killed, and how many of the operations had their effect once.
    fn nodes(&self) -> String {
        match self.nodes {
            None => "-".to_owned(),
            Some([kills, operations, effects, 0, 0]) => {
                format!("{kills} kills, {effects} of {operations}")
            }
            Some([kills, _, _, doubled, lost]) => {
                format!("{kills} kills, {doubled} DOUBLED, {lost} LOST")
            }
        }
    }

    /// The crash columns, the verdict last.
    fn crash_cells(&self) -> [String; NUMBERS] {
        let sums = self.crashes;
        let mut cells = std::array::from_fn(|i| sums.map_or("-".to_owned(), |s| s[i].to_string()));
        let wrong = sums.is_some_and(|sums| sums[NUMBERS - 1] > 0);
        let nodes_wrong = self
            .nodes
            .is_some_and(|[.., doubled, lost]| doubled + lost > 0);
        let ok = self.failed.is_empty() && !self.ended_early && !wrong && !nodes_wrong;
        cells[NUMBERS - 1] = if ok { "ok" } else { "FAILED" }.to_owned();
        cells
    }
}

fn table(stores: &Stores) -> String {
    let mut table = String::new();
    let titles = COLUMNS.map(str::to_owned);
    row(
        &mut table,
        ["store", "conformance", "three gateways"],
        &titles,
    );
    for (name, store) in stores {
        let (conformance, nodes) = (store.conformance(), store.nodes());
        row(
            &mut table,
            [name, &conformance, &nodes],
            &store.crash_cells(),
        );
    }
    for (name, store) in stores {
        if !store.declined.is_empty() {
            let declined = Vec::from_iter(store.declined.iter().map(String::as_str));
            // Writing into a string cannot fail.
            let _ = write!(table, "\n{name} declines: {}", declined.join(", "));
        }
    }
    table
}

fn row(table: &mut String, [name, conformance, nodes]: [&str; 3], cells: &[String; NUMBERS]) {
    // Writing into a string cannot fail.
    let _ = write!(table, "\n{name:<30} {conformance:<22} {nodes:<30}");
    for cell in cells {
        let _ = write!(table, " {cell:>10}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Stores {
        let mut stores = Stores::new();
        for line in lines {
            assert_eq!(add(&mut stores, line), Some(()), "{line:?}");
        }
        stores
    }

    #[test]
    fn each_store_has_a_row_with_the_sums_of_its_lines() {
        let stores = of(&[
            "conformance SQLite\ta",
            "conformance SQLite\tb",
            "conformance SQLite\tb",
            "crash SQLite\thold\t210\t400\t240\t0\t0\t160\t0\t0",
            "crash SQLite\trerun\t210\t300\t320\t0\t20\t0\t0\t0",
            "conformance Redis Cluster\ta",
            "conformance Redis Cluster\tb",
            "failed Redis Cluster\tb",
            "crash hybrid\tfailed",
            "declines hybrid\tstalls",
            "declines hybrid\tclock",
            "nodes SQLite\t8\t1230\t1229\t0\t0",
            "nodes SQLite\t3\t684\t684\t0\t0",
            "nodes Redis\t8\t100\t102\t2\t1",
        ]);
        let expected = "
store                          conformance            three gateways                      kills operations    effects    doubled   repeated    unknown       lost     result
Redis                          -                      8 kills, 2 DOUBLED, 1 LOST              -          -          -          -          -          -          -     FAILED
Redis Cluster                  1 passed, 1 FAILED     -                                       -          -          -          -          -          -          -     FAILED
SQLite                         2 passed               11 kills, 1913 of 1914                420        700        560          0         20        160          0         ok
hybrid                         -                      -                                       -          -          -          -          -          -          -     FAILED
hybrid declines: clock, stalls";
        assert_eq!(table(&stores), expected);
    }

    #[test]
    fn a_rule_that_did_not_hold_fails_the_row() {
        let stores = of(&["crash SQLite\thold\t5\t9\t9\t0\t0\t0\t0\t1"]);
        assert_eq!(stores["SQLite"].crash_cells()[NUMBERS - 1], "FAILED");
    }

    #[test]
    fn lines_that_are_not_results_are_not_counted() {
        for line in [
            "",
            "conformance",
            "conformance SQLite",
            "crash SQLite\thold\t1",
            "nodes SQLite\t1",
        ] {
            assert_eq!(add(&mut Stores::new(), line), None, "{line:?}");
        }
    }
}
