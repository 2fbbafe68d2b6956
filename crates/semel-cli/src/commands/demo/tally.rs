//! What happened, counted at both ends, as a table for people and as JSON for programs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use serde_json::{Value, json};

/// What customers and killer saw.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) requests: AtomicUsize,
    pub(super) distinct: AtomicUsize,
    pub(super) replayed: AtomicUsize,
    pub(super) hang_ups: AtomicUsize,
    pub(super) kills: AtomicUsize,
}

impl Counts {
    /// A line of progress.
    pub(super) fn in_words(&self) -> String {
        let get = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let (requests, replayed) = (get(&self.requests), get(&self.replayed));
        format!("{requests} requests sent, {replayed} answered from the record")
    }
}

/// The storm's result.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) unguarded: bool,
    pub(super) seed: u64,
    pub(super) counts: Counts,
    /// Operations that still wait for a decision.
    pub(super) unresolved: usize,
    /// How often the provider made each payment.
    pub(super) paid: BTreeMap<String, usize>,
}

impl Outcome {
    fn distinct(&self) -> usize {
        self.counts.distinct.load(Ordering::Relaxed)
    }

    fn effects(&self) -> usize {
        self.paid.values().sum()
    }

    /// Payments beyond the first of each operation.
    fn doubles(&self) -> usize {
        self.paid.values().map(|paid| paid.saturating_sub(1)).sum()
    }

    /// Operations whose customer was told that they were paid, and that the provider never made.
    fn lost(&self) -> usize {
        let made = self.paid.values().filter(|paid| **paid > 0).count();
        self.distinct().saturating_sub(made)
    }

    /// One object.
    pub(super) fn json(&self) -> Value {
        let get = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        json!({
            "guarded": !self.unguarded,
            "requests": get(&self.counts.requests),
            "distinct": self.distinct(),
            "effects": self.effects(),
            "replayed": get(&self.counts.replayed),
            "double_effects": self.doubles(),
            "lost_effects": self.lost(),
            "unresolved": self.unresolved,
            "hang_ups": get(&self.counts.hang_ups),
            "kills": get(&self.counts.kills),
            "seed": self.seed,
        })
    }

    /// A table that a person understands, and a last line that says it all.
    pub(super) fn table(&self) -> String {
        let get = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let mut table = Table::new();
        table.load_style(UTF8_BORDERS_ONLY);
        let with = if self.unguarded {
            "without Semel"
        } else {
            "with Semel"
        };
        table.set_header(["", with]);
        for (what, count) in [
            ("requests that customers sent", get(&self.counts.requests)),
            (
                "customers that hung up before the answer",
                get(&self.counts.hang_ups),
            ),
            (
                "times the service was killed (SIGKILL)",
                get(&self.counts.kills),
            ),
            (
                "answers given again from the record",
                get(&self.counts.replayed),
            ),
            ("payments that customers wanted", self.distinct()),
            ("payments that the provider made", self.effects()),
            ("… made more than once", self.doubles()),
            ("… never made, though the customer was told so", self.lost()),
        ] {
            table.add_row([what.to_owned(), grouped(count)]);
        }
        if let Some(column) = table.column_mut(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!("{table}\n\n{}", self.verdict())
    }

    fn verdict(&self) -> String {
        match (self.doubles(), self.lost()) {
            (0, 0) if !self.unguarded => {
                "Every payment was made exactly once. See the damage without Semel: semel demo --unguarded".to_owned()
            }
            (0, 0) => "No damage this time; the storm is random, run it again.".to_owned(),
            (doubles, lost) => format!(
                "{} customers were charged twice and {} payments were lost.",
                grouped(doubles),
                grouped(lost)
            ),
        }
    }
}

/// Digits in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(paid: &[(&str, usize)], distinct: usize) -> Outcome {
        let counts = Counts::default();
        counts.distinct.store(distinct, Ordering::Relaxed);
        Outcome {
            unguarded: false,
            seed: 1,
            counts,
            unresolved: 0,
            paid: paid
                .iter()
                .map(|(key, n)| ((*key).to_owned(), *n))
                .collect(),
        }
    }

    #[test]
    fn damage_is_counted_from_the_ledger() {
        let outcome = outcome(&[("a", 1), ("b", 3), ("c", 0)], 4);
        assert_eq!(
            (outcome.effects(), outcome.doubles(), outcome.lost()),
            (4, 2, 2)
        );
        assert!(
            outcome
                .verdict()
                .starts_with("2 customers were charged twice and 2")
        );
    }

    #[test]
    fn no_damage_is_said_in_words() {
        let outcome = outcome(&[("a", 1), ("b", 1)], 2);
        assert!(
            outcome
                .verdict()
                .starts_with("Every payment was made exactly once.")
        );
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
