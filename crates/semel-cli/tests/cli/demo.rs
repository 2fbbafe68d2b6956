//! The demo, shortened: nothing is damaged with Semel, and without it both kinds of damage show.

use std::process::Command;

use serde_json::Value;

/// Runs the demo; its last line is one object.
fn demo(options: &[&str]) -> Value {
    let ran = Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(["demo", "--json"])
        .args(options)
        .output()
        .expect("the demo runs");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let stdout = String::from_utf8(ran.stdout).expect("text");
    let last = stdout.lines().last().expect("a last line");
    serde_json::from_str(last).expect("one object")
}

fn count(outcome: &Value, name: &str) -> u64 {
    outcome[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} in {outcome}"))
}

#[test]
fn with_semel_every_payment_is_made_exactly_once() {
    let outcome = demo(&["--kills", "8"]);
    assert_eq!(count(&outcome, "double_effects"), 0, "{outcome}");
    assert_eq!(count(&outcome, "lost_effects"), 0, "{outcome}");
    assert_eq!(count(&outcome, "unresolved"), 0, "{outcome}");
    assert_eq!(count(&outcome, "kills"), 8);
    assert_eq!(count(&outcome, "effects"), count(&outcome, "distinct"));
    assert!(
        count(&outcome, "requests") > count(&outcome, "distinct"),
        "{outcome}"
    );
    assert!(count(&outcome, "replayed") > 0, "{outcome}");
}

#[test]
fn without_semel_payments_are_made_twice_and_lost() {
    let outcome = demo(&["--unguarded", "--kills", "8"]);
    assert!(count(&outcome, "double_effects") > 0, "{outcome}");
    assert!(count(&outcome, "lost_effects") > 0, "{outcome}");
}
