//! What the lines outside say, and what must hold of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::plan::{Plan, id};
use crate::results;

/// How many things that should not be are named.
const NAMED_MAX: usize = 20;

/// The lines of the file outside, added up.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The fences under which each message ran, in which life of an engine, and under which it took effect.
    runs: BTreeMap<String, BTreeMap<u64, u32>>,
    effects: BTreeMap<String, BTreeSet<u64>>,
    /// Requests under a key that the provider knew.
    known: usize,
    wrong: Vec<String>,
}

impl Tally {
    /// Adds `run ID~FENCE LIFE` or `effect ID~FENCE LIFE`.
    pub(super) fn add(&mut self, line: &str) {
        let words: Vec<&str> = line.split([' ', '~']).collect();
        let [what, id, fence, life] = words[..] else {
            return self.wrong.push(format!("expected a line, found {line:?}"));
        };
        let (Ok(fence), Ok(life)) = (fence.parse(), life.parse()) else {
            return self.wrong.push(format!("expected numbers, found {line:?}"));
        };
        match what {
            "run" => {
                let runs = self.runs.entry(id.to_owned()).or_default();
                if runs.insert(fence, life).is_some() {
                    self.wrong.push(format!("one claim ran twice: {line}"));
                }
            }
            _ => {
                if self
                    .runs
                    .get(id)
                    .is_none_or(|runs| !runs.contains_key(&fence))
                {
                    self.wrong
                        .push(format!("an effect without its run: {line}"));
                }
                let is_new = self.effects.entry(id.to_owned()).or_default().insert(fence);
                self.known += usize::from(!is_new);
            }
        }
    }

    /// How many messages have had an effect.
    pub(super) fn effects(&self) -> usize {
        self.effects.len()
    }

    /// Judges a run that has ended.
    pub(super) fn judged(mut self, plan: &Plan, took: Duration) -> Findings {
        let runs: usize = self.runs.values().map(BTreeMap::len).sum();
        let effects = self.effects.values().map(BTreeSet::len).sum();
        let lives = |runs: &BTreeMap<u64, u32>| runs.values().collect::<BTreeSet<_>>().len();
        let lives: usize = self.runs.values().map(lives).sum();
        let doubled: Vec<&String> = self
            .effects
            .iter()
            .filter(|(_, keys)| keys.len() > 1)
            .map(|(id, _)| id)
            .collect();
        let lost: Vec<String> = (0..plan.distinct)
            .map(id)
            .filter(|id| !self.effects.contains_key(id))
            .collect();
        self.wrong
            .extend(doubled.iter().map(|id| format!("{id} took effect twice")));
        self.wrong
            .extend(lost.iter().map(|id| format!("{id} is lost")));
        Findings {
            seed: plan.seed,
            took,
            published: plan.deliveries.len(),
            distinct: plan.distinct,
            effects,
            doubled: doubled.len(),
            repeated: runs - self.runs.len() + self.known,
            reclaimed: runs - lives,
            lost: lost.len(),
            kills: plan.kills.len(),
            wrong: self.wrong,
        }
    }
}

/// How a run fared.
#[derive(Debug)]
pub(super) struct Findings {
    seed: u64,
    took: Duration,
    published: usize,
    distinct: usize,
    effects: usize,
    doubled: usize,
    repeated: usize,
    /// Those of them that ran twice in one life of an engine, which was too slow to renew its leases.
    reclaimed: usize,
    lost: usize,
    kills: usize,
    pub(super) wrong: Vec<String>,
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            published,
            distinct,
            effects,
            doubled,
            repeated,
            reclaimed,
            lost,
            kills,
            seed,
            ..
        } = self;
        write!(
            f,
            "{published} published, {distinct} distinct, {effects} effects, {doubled} doubled, {repeated} repeated ({reclaimed} within one life), {lost} lost, {kills} kills \
             in {:.1} s, seed {seed}",
            self.took.as_secs_f64()
        )
    }
}

impl Findings {
    /// Says how it fared, in the table too; fails unless effects equal distinct messages.
    #[expect(clippy::print_stdout, reason = "one line about what a test has proven")]
    pub(super) fn report(&self, broker: &str) {
        println!("{broker}: {self}");
        let unknown = 0;
        let numbers = [
            self.kills,
            self.distinct,
            self.effects,
            self.doubled,
            self.repeated,
            unknown,
            self.lost,
            self.wrong.len(),
        ];
        let fields = std::iter::once("soak".to_owned()).chain(numbers.map(|n| n.to_string()));
        results::record("crash", broker, &fields.collect::<Vec<_>>());
        let named = &self.wrong[..self.wrong.len().min(NAMED_MAX)];
        assert!(named.is_empty(), "{broker}: {self}\n{named:#?}");
        assert_eq!(self.effects, self.distinct);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(lines: &[&str]) -> Findings {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.add(line));
        let plan = Plan {
            seed: 1,
            distinct: 2,
            deliveries: vec![0, 1, 0],
            kills: vec![1],
            ahead: 1,
        };
        tally.judged(&plan, Duration::ZERO)
    }

    #[test]
    fn what_a_kill_repeats_is_no_second_effect_and_everything_else_is_wrong() {
        let good = [
            "run s-000000~1 7",
            "effect s-000000~1 7",
            "run s-000001~1 7",
            "run s-000001~2 8",
            "effect s-000001~2 7",
        ];
        // Lines more, doubled, repeated, lost, wrong.
        let table: [(&[&str], [usize; 4]); 5] = [
            (&[], [0, 1, 0, 0]),
            (&["effect s-000000~1 7"], [0, 2, 0, 0]),
            (&["effect s-000001~1 7"], [1, 1, 0, 1]),
            (&["run s-000000~1 7"], [0, 1, 0, 1]),
            (&["effect s-000000~2 7", "half a li"], [1, 1, 0, 3]),
        ];
        for (more, expected) in table {
            let found = judged(&[&good[..], more].concat());
            let numbers = [found.doubled, found.repeated, found.lost, found.wrong.len()];
            assert_eq!(numbers, expected, "{more:?}: {:?}", found.wrong);
        }
        let found = judged(&good[..2]);
        assert_eq!((found.lost, found.wrong.len(), found.effects), (1, 1, 1));
    }
}
