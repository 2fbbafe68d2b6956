//! What failed in the output of `cargo test`, for the end of a run: thousands of lines stand before it.
//!
//! It reads what libtest and cargo print and decides nothing: cargo's exit status does.

use std::collections::BTreeSet;
use std::fmt::Write;

/// The output of so many tests is repeated, and so many lines of each.
const SHOWN_MAX: usize = 20;
const LINES_MAX: usize = 30;

const SLOW: &str = " has been running for over 60 seconds";
/// What libtest and rustdoc put between the name of a test and its result.
const MODES: [&str; 3] = [" - should panic", " - compile fail", " - compile"];

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// What cargo runs now, in the words of its `Running` line.
    target: String,
    failed: Vec<Failed>,
    /// Where the failures of this target begin.
    begin: usize,
    /// The test whose output is read.
    printed: Option<usize>,
    /// Whether names of failed tests are listed.
    listing: bool,
    /// The tests that libtest called slow and that have not ended.
    slow: BTreeSet<String>,
    ended_badly: Vec<Target>,
}

#[derive(Debug)]
struct Failed {
    target: String,
    name: String,
    lines: Vec<String>,
}

/// A target that failed, by its `Running` line and by the arguments that run it again.
#[derive(Debug)]
struct Target {
    ran: String,
    args: String,
    /// How the process ended, if cargo says it.
    how: String,
}

impl Failures {
    /// Reads a line of libtest's.
    pub(super) fn stdout(&mut self, line: &str) {
        let header = line.strip_prefix("---- ");
        let header = header.and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(name) = header {
            (self.printed, self.listing) = (self.find(name), false);
        } else if line == "failures:" || line.starts_with("test result: ") {
            (self.printed, self.listing) = (None, line == "failures:");
        } else if let Some(at) = self.printed {
            self.failed[at].add(line);
        } else if let Some(name) = line.strip_prefix("    ").filter(|_| self.listing) {
            self.add(name);
        } else if let Some(test) = line.strip_prefix("test ") {
            self.test(test);
        } else if line.starts_with("running ") {
            (self.begin, self.listing) = (self.failed.len(), false);
            self.slow.clear();
        }
    }

    /// Reads a line of cargo's.
    pub(super) fn stderr(&mut self, line: &str) {
        let line = without_colours(line);
        let line = line.trim_start();
        let after = |prefix| line.strip_prefix(prefix);
        if let Some(target) = after("Running ").or_else(|| after("Doc-tests ")) {
            target.clone_into(&mut self.target);
        } else if let Some((_, args)) = line.split_once("test failed, to rerun pass `") {
            self.ended_badly.push(Target {
                ran: self.target.clone(),
                args: args.trim_end_matches('`').to_owned(),
                how: String::new(),
            });
        } else if let Some(process) = after("process didn't exit successfully: ")
            && let (Some((_, how)), Some(target)) =
                (process.rsplit_once(" ("), self.ended_badly.last_mut())
        {
            how.trim_end_matches(')').clone_into(&mut target.how);
        }
    }

    fn test(&mut self, line: &str) {
        if let Some(name) = line.strip_suffix(SLOW) {
            // With one thread the name stands there already, waiting for its result.
            let name = name.rsplit(" ... test ").next().unwrap_or(name);
            self.slow.insert(name.to_owned());
        } else if let Some((name, result)) = line.rsplit_once(" ... ") {
            let mode = MODES.iter().find_map(|mode| name.strip_suffix(mode));
            let name = mode.unwrap_or(name);
            self.slow.remove(name);
            if result == "FAILED" {
                self.add(name);
            }
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        (self.begin..self.failed.len()).find(|at| self.failed[*at].name == name)
    }

    fn add(&mut self, name: &str) {
        if self.find(name).is_none() {
            self.failed.push(Failed {
                target: self.target.clone(),
                name: name.to_owned(),
                lines: Vec::new(),
            });
        }
    }

    /// The tests that have not ended although they should have.
    pub(super) fn slow(&self) -> String {
        let names: Vec<&str> = self.slow.iter().map(String::as_str).collect();
        match names[..] {
            [] => format!("libtest named no slow test in {}", self.target),
            _ => format!("{} of {}", names.join(", "), self.target),
        }
    }

    /// The failed tests with the first lines of their output, and the targets that ended otherwise; nothing if all is well.
    pub(super) fn summary(&self) -> Option<String> {
        let mut said = String::new();
        let shown = self.failed.iter().filter(|failed| !failed.lines.is_empty());
        for failed in shown.take(SHOWN_MAX) {
            // Writing into a string cannot fail.
            let _ = writeln!(said, "\n---- {}\n{}", failed.name, failed.lines.join("\n"));
        }
        said.push('\n');
        for failed in &self.failed {
            let target = self.ended_badly.iter().find(|one| one.ran == failed.target);
            let target = target.map_or(&failed.target, |target| &target.args);
            let _ = writeln!(said, "failed: {} ({target})", failed.name);
        }
        for target in self.ended_badly.iter().filter(|one| !self.explains(one)) {
            let Target { args, how, .. } = target;
            let _ = writeln!(said, "failed: {args}: {how}");
        }
        (!said.trim().is_empty()).then_some(said)
    }

    /// Whether failed tests say all about a target that failed: libtest itself ends with 101 then.
    fn explains(&self, target: &Target) -> bool {
        let is_usual = matches!(target.how.as_str(), "" | "exit status: 101");
        is_usual && self.failed.iter().any(|failed| failed.target == target.ran)
    }
}

impl Failed {
    fn add(&mut self, line: &str) {
        let is_blank = line.trim().is_empty();
        if !is_blank && self.lines.len() < LINES_MAX {
            self.lines.push(line.to_owned());
        }
    }
}

fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain += part.split_once('m').map_or(part, |(_, rest)| rest);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of stderr begin with `!`.
    fn read(lines: &str) -> Failures {
        let mut failures = Failures::default();
        for line in lines.lines() {
            match line.strip_prefix('!') {
                Some(line) => failures.stderr(line),
                None => failures.stdout(line),
            }
        }
        failures
    }

    const GOOD: &str = "!     Running tests/good.rs (target/debug/deps/good-1)\nrunning 1 test\ntest a ... ok\n\n\
                        test result: ok. 1 passed; 0 failed\n";
    const BAD: &str = "!\u{1b}[1m\u{1b}[92m     Running\u{1b}[0m tests/bad.rs (target/debug/deps/bad-2)\n\nrunning 3 tests\n\
                       test a ... FAILED\ntest b - should panic ... FAILED\ntest c ... ok\n\nfailures:\n\n---- a stdout ----\n\n\
                       thread 'a' panicked at src/x.rs:3:5:\nno luck\n\n---- b stdout ----\nnote: test did not panic\n\nfailures:\n    \
                       a\n    b\n\ntest result: FAILED. 1 passed; 2 failed\n!error: test failed, to rerun pass `-p x --test bad`\n";
    const KILLED: &str = "!     Running unittests src/lib.rs (target/debug/deps/killed-3)\nrunning 2 tests\ntest a ... FAILED\n\
                          !error: test failed, to rerun pass `-p x --lib`\n!\n!Caused by:\n\
                          !  process didn't exit successfully: `/t/killed-3 (x)` (signal: 6, SIGABRT: process abort signal)\n";
    const DOCS: &str = "!   Doc-tests x\nrunning 1 test\ntest src/lib.rs - x (line 3) - compile fail ... FAILED\n\nfailures:\n\n\
                        ---- src/lib.rs - x (line 3) stdout ----\nTest compiled successfully, but it's marked `compile_fail`.\n\nfailures:\n    \
                        src/lib.rs - x (line 3)\n!error: doctest failed, to rerun pass `-p x --doc`\n";

    #[test]
    fn failed_tests_and_their_output_are_found() {
        let table = [
            (GOOD, None),
            (
                BAD,
                Some(
                    "\n---- a\nthread 'a' panicked at src/x.rs:3:5:\nno luck\n\n---- b\nnote: test did not panic\n\n\
                     failed: a (-p x --test bad)\nfailed: b (-p x --test bad)\n",
                ),
            ),
            (
                KILLED,
                Some(
                    "\nfailed: a (-p x --lib)\nfailed: -p x --lib: signal: 6, SIGABRT: process abort signal\n",
                ),
            ),
            (
                DOCS,
                Some(
                    "\n---- src/lib.rs - x (line 3)\nTest compiled successfully, but it's marked `compile_fail`.\n\n\
                     failed: src/lib.rs - x (line 3) (-p x --doc)\n",
                ),
            ),
        ];
        for (lines, expected) in table {
            assert_eq!(read(lines).summary().as_deref(), expected, "{lines}");
        }
        let all = read(&[GOOD, BAD, GOOD, KILLED, DOCS].concat());
        let named = all.summary().unwrap();
        let named = named.lines().filter(|line| line.starts_with("failed: "));
        assert_eq!(named.count(), 5);
    }

    #[test]
    fn tests_that_libtest_calls_slow_are_named_until_they_end() {
        let begin = "!Running tests/a.rs (a-1)\nrunning 3 tests\n";
        let table = [
            ("", "libtest named no slow test in tests/a.rs (a-1)"),
            (
                "test b has been running for over 60 seconds\n",
                "b of tests/a.rs (a-1)",
            ),
            (
                "test c ... test c has been running for over 60 seconds\n",
                "c of tests/a.rs (a-1)",
            ),
            (
                "test b has been running for over 60 seconds\ntest b ... ok\n",
                "libtest named no slow test in tests/a.rs (a-1)",
            ),
        ];
        for (lines, expected) in table {
            assert_eq!(read(&format!("{begin}{lines}")).slow(), expected, "{lines}");
        }
    }

    #[test]
    fn output_is_cut_after_some_lines_and_some_tests() {
        let names: Vec<String> = (0..30).map(|number| format!("t{number}")).collect();
        let failed = names.iter().map(|name| format!("test {name} ... FAILED\n"));
        let line = "a line\n".repeat(50);
        let blocks = names
            .iter()
            .map(|name| format!("---- {name} stdout ----\n{line}"));
        let all: String = failed.chain(blocks).collect();
        let said = read(&all).summary().unwrap();
        let count = |start: &str| said.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!(
            ["failed: ", "---- ", "a line"].map(count),
            [30, SHOWN_MAX, SHOWN_MAX * LINES_MAX]
        );
    }
}
