//! Compares what was asked for with what was charged.

use std::collections::BTreeMap;

use crate::client::Call;

/// The charges by operation; fails unless every operation has exactly one.
pub(crate) fn once_each(
    operations: &[String],
    charges: &[(String, String)],
) -> BTreeMap<String, String> {
    let mut by_operation: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for operation in operations {
        by_operation.insert(operation.clone(), Vec::new());
    }
    for (operation, id) in charges {
        by_operation.entry(operation.clone()).or_default().push(id);
    }
    let wrong: Vec<_> = by_operation
        .iter()
        .filter(|(_, ids)| ids.len() != 1)
        .collect();
    assert!(wrong.is_empty(), "not charged exactly once: {wrong:?}");
    assert_eq!(charges.len(), operations.len());
    by_operation
        .into_iter()
        .map(|(operation, ids)| (operation, ids.concat()))
        .collect()
}

/// Fails unless every call returned its operation's one charge.
pub(crate) fn all_agree(calls: &[Call], charges: &BTreeMap<String, String>) {
    for call in calls {
        let returned = call.returned.as_ref().map(|charge| &charge.id);
        assert_eq!(returned.ok(), charges.get(&call.operation), "{call:?}");
    }
}

/// How many calls of each operation were answered with something else than a replay.
pub(crate) fn first_answers(calls: &[Call]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        let first = call.returned.as_ref().is_ok_and(|charge| !charge.replayed);
        *counts.entry(call.operation.as_str()).or_default() += usize::from(first);
    }
    counts
}

/// Names for `count` operations.
pub(crate) fn operations(prefix: &str, count: usize) -> Vec<String> {
    (1..=count).map(|n| format!("{prefix}-{n}")).collect()
}
