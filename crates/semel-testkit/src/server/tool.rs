//! The workspace's own tool, called for `services`.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use super::exports::Exports;

const VARIABLE: &str = "SEMEL_TEST_XTASK";

/// The program that starts and stops servers.
#[derive(Debug, Clone)]
pub(super) struct Tool(PathBuf);

impl Tool {
    /// The program that the environment names, or the one that cargo built last.
    pub(super) fn find() -> Self {
        if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
            return Self(named.into());
        }
        let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/debug/xtask");
        let built = PathBuf::from(built);
        assert!(
            built.exists(),
            "{VARIABLE} is not set: run `cargo xtask test`, or `cargo build -p xtask` and then the test"
        );
        Self(built)
    }

    #[cfg(test)]
    pub(super) const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Runs `services` with `args`; what it exported. Panics with its words if it fails.
    pub(super) fn services(&self, args: &[&str]) -> Exports {
        let output = self.run(args);
        assert!(
            output.status.success(),
            "expected `services {}` to succeed, found {}: {}",
            args.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Exports::read(&String::from_utf8_lossy(&output.stdout))
    }

    /// The same for the end of a test, where a second panic would hide the first.
    pub(super) fn stop(&self, args: &[&str]) {
        if std::thread::panicking() {
            let _ = self.command(args).output();
        } else {
            self.services(args);
        }
    }

    fn run(&self, args: &[&str]) -> Output {
        let output = self.command(args).output();
        output.unwrap_or_else(|error| panic!("expected {:?} to run, found {error}", self.0))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.0);
        command.arg("services").args(args).stdin(Stdio::null());
        command
    }
}
