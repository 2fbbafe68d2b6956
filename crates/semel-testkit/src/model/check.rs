//! Runs the checker and says what it found.

use stateright::{Checker, Expectation, Model};

use super::config::Config;
use super::machine::Machine;
use super::property;

/// One thread per core of the smallest machine that runs the tests.
const THREADS: usize = 2;

/// What a complete exploration found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// How many states were generated, repeats counted.
    pub states: usize,
    /// How many of them differ by more than the order of the workers.
    pub unique: usize,
    /// How many steps the longest path has.
    pub depth: usize,
    /// The names of the properties that do not hold: a state breaks one that must always hold, or
    /// no state shows what must be reachable. Sorted.
    pub violations: Vec<String>,
}

/// Explores every state of a model.
///
/// ```
/// use semel_core::OnUnknown;
/// use semel_testkit::model::{Bug, Config, Provider, check, property};
///
/// let mut config = Config::new(OnUnknown::Rerun, Provider::Plain);
/// config.bounds.ticks_max = 0;
/// let check = check(&config.with_bug(Bug::TakeoverOfLiveLease));
/// assert!(check.violations.contains(&property::ONE_LIVE_LEASE.to_owned()));
/// ```
pub fn check(config: &Config) -> Check {
    let machine = Machine {
        config: config.clone(),
        only: None,
    };
    let checker = machine.checker().threads(THREADS).symmetry();
    let checker = checker.spawn_dfs().join();
    Check {
        states: checker.state_count(),
        unique: checker.unique_state_count(),
        depth: checker.max_depth(),
        violations: violations(&checker),
    }
}

fn violations(checker: &impl Checker<Machine>) -> Vec<String> {
    let found = checker.discoveries();
    let properties = checker.model().properties().into_iter();
    let broken = properties.filter(|property| match property.expectation {
        Expectation::Always | Expectation::Eventually => found.contains_key(property.name),
        Expectation::Sometimes => !found.contains_key(property.name),
    });
    let mut names: Vec<String> = broken.map(|property| property.name.to_owned()).collect();
    names.sort_unstable();
    names
}

/// The shortest way to break a property that must always hold, or to reach one that must be
/// reachable, step by step; nothing if there is none, or if the configuration has no such property.
///
/// One thread that looks at one property stops at its first discovery, which makes it the shortest.
pub fn shortest(config: &Config, property: &str) -> Option<Vec<String>> {
    let mut properties = property::of(config).into_iter();
    let property = properties.find(|known| known.name == property)?.name;
    let machine = Machine {
        config: config.clone(),
        only: Some(property),
    };
    let checker = machine.checker().spawn_bfs().join();
    let path = checker.discovery(property)?;
    let steps = path.into_actions().into_iter();
    Some(steps.map(|step| format!("{step:?}")).collect())
}
