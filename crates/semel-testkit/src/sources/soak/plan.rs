//! What is published when, and when the engine is killed: all of it follows from a seed.

use super::super::Published;
use crate::random::{Random, fresh_seed};

/// Distinct messages of a run in the test command.
const MESSAGES: usize = 3_000;
/// The fewest kills of a run, and how many messages there are for each in longer ones.
const KILLS_MIN: usize = 5;
const PER_KILL: usize = 2_500;
/// One of so many messages is published again.
const DUPLICATED: usize = 10;

/// The choices of one run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) distinct: usize,
    /// The numbers of the messages in the order in which they are published.
    pub(super) deliveries: Vec<usize>,
    /// The engine is killed when there are so many effects, one after the other.
    pub(super) kills: Vec<usize>,
    /// How many messages the publisher is ahead of the effects at most, so that it publishes as long as there are kills.
    pub(super) ahead: usize,
}

impl Plan {
    /// As the environment says.
    pub(super) fn from_environment() -> Self {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
        let messages = number("SEMEL_SOAK_MESSAGES").and_then(|n| usize::try_from(n).ok());
        let seed = number("SEMEL_SOAK_SEED").unwrap_or_else(fresh_seed);
        Self::new(messages.unwrap_or(MESSAGES).max(DUPLICATED), seed)
    }

    fn new(distinct: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut below = |bound: usize| random.below(bound.max(1) as u64) as usize;
        let mut placed: Vec<(usize, usize)> =
            (0..distinct).map(|number| (number, number)).collect();
        for _ in 0..distinct / DUPLICATED {
            let number = below(distinct);
            placed.push((number + 1 + below(distinct / 4), number));
        }
        placed.sort_by_key(|(place, _)| *place);
        let kills = KILLS_MIN.max(distinct / PER_KILL);
        let part = distinct * 9 / 10 / kills;
        Self {
            seed,
            distinct,
            deliveries: placed.into_iter().map(|(_, number)| number).collect(),
            kills: (0..kills).map(|n| n * part + 1 + below(part)).collect(),
            ahead: (part / 2).max(1),
        }
    }
}

/// The message of this number, the same whenever it is published.
pub(super) fn message(number: usize) -> Published {
    Published::new(&id(number))
}

/// Its id.
pub(super) fn id(number: usize) -> String {
    format!("s-{number:06}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_published_again_later_and_kills_are_spread_over_all_of_it() {
        for (distinct, kills) in [(10, 5), (3_000, 5), (100_000, 40)] {
            let plan = Plan::new(distinct, 7);
            assert_eq!(plan.deliveries.len(), distinct + distinct / 10);
            let mut next = 0;
            for number in &plan.deliveries {
                assert!(*number <= next, "a message comes before its duplicate");
                next = next.max(number + 1);
            }
            assert_eq!(next, distinct);
            assert_eq!(plan.kills.len(), kills);
            assert!(plan.kills.is_sorted() && plan.kills[kills - 1] <= distinct);
            assert_eq!(plan.kills, Plan::new(distinct, 7).kills);
        }
    }
}
