//! The tests that kill engines while brokers deliver, with many more messages than in the test command.

use std::path::Path;

use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::results;
use crate::services::{self, Slot, Variable};
use crate::workspace::cargo;

const VARIABLE: &str = "SEMEL_SOAK_MESSAGES";
const MESSAGES: &str = "100000";

/// The brokers: what its service is called, and the crate with the test.
const BROKERS: [(&str, &str); 5] = [
    ("kafka", "semel-kafka"),
    ("rabbitmq", "semel-amqp"),
    ("nats", "semel-nats"),
    ("sqs", "semel-sqs"),
    ("redis", "semel-redis-streams"),
];

/// Runs `soak [BROKER...]`, one broker after the other.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let brokers = chosen(args)?;
    let names: Vec<String> = brokers.iter().map(|(name, _)| (*name).to_owned()).collect();
    let slot = Slot::of_this_run(root);
    let found = slot.create_results()?;
    let mut guard = Guard::start(&slot)?;
    let soaked = services::only(&names, root, &slot).and_then(|variables| {
        let soak =
            |(_, package): &(&str, &str)| soak(root, package, &variables, &found, &mut guard);
        brokers.iter().try_for_each(soak)
    });
    results::print(&found);
    let stopped = guard.finish();
    slot.remove();
    soaked.and(stopped)
}

fn soak(
    root: &Path,
    package: &str,
    variables: &[Variable],
    found: &Path,
    guard: &mut Guard,
) -> Result<()> {
    let mut test = cargo(
        root,
        &["test", "--locked", "--package", package, "--test", "*"],
    );
    test.args(["--", "soak::", "--nocapture"])
        .envs(
            variables
                .iter()
                .map(|variable| (variable.name, &variable.value)),
        )
        .env("SEMEL_TEST_RESULTS", found);
    if std::env::var_os(VARIABLE).is_none() {
        test.env(VARIABLE, MESSAGES);
    }
    guard.run(test)
}

/// Those that were named; all of them if none was.
fn chosen(names: &[String]) -> Result<Vec<(&'static str, &'static str)>> {
    if names.is_empty() {
        return Ok(BROKERS.to_vec());
    }
    let find = |name: &String| {
        let found = BROKERS.iter().find(|(known, _)| known == name);
        found.copied().ok_or_else(|| {
            let known = BROKERS.map(|(name, _)| name).join(", ");
            Error::Usage(format!("unknown broker `{name}`, expected one of: {known}"))
        })
    };
    names.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_all_brokers_and_an_unknown_one_lists_them() {
        assert_eq!(chosen(&[]).unwrap().len(), 5);
        assert_eq!(
            chosen(&["nats".to_owned()]).unwrap(),
            [("nats", "semel-nats")]
        );
        let error = chosen(&["postgres".to_owned()]).unwrap_err().to_string();
        assert!(
            error.ends_with("kafka, rabbitmq, nats, sqs, redis"),
            "{error}"
        );
    }
}
