//! Runs named steps one after another, times them, and sums them up.
//!
//! It knows nothing about what a step does.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::output::note;

/// The steps of one run so far, in order.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<Done>,
}

struct Done {
    name: &'static str,
    ok: bool,
    took: Duration,
}

impl Steps {
    /// Runs one step; its error names it.
    pub(crate) fn run<T>(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        note(&format!("==> {name}"));
        let begun = now();
        let result = step();
        let took = begun.elapsed();
        let verdict = verdict(result.is_ok());
        note(&format!("<== {name}: {verdict} in {}", seconds(took)));
        self.record(name, took, result)
    }

    fn record<T>(&mut self, name: &'static str, took: Duration, result: Result<T>) -> Result<T> {
        let ok = result.is_ok();
        self.done.push(Done { name, ok, took });
        result.map_err(|error| match error {
            Error::Failed(why) => Error::Failed(format!("step `{name}` failed: {why}")),
            usage @ Error::Usage(_) => usage,
        })
    }

    /// A table of the steps that ran, and their total.
    pub(crate) fn summary(&self) -> String {
        let mut table = String::from("\nstep             result      time\n");
        for done in &self.done {
            row(&mut table, done.name, verdict(done.ok), done.took);
        }
        let ok = self.done.iter().all(|done| done.ok);
        let total = self.done.iter().map(|done| done.took).sum();
        row(&mut table, "total", verdict(ok), total);
        table
    }
}

fn row(table: &mut String, name: &str, result: &str, took: Duration) {
    // Writing into a string cannot fail.
    let _ = writeln!(table, "{name:<16} {result:<6} {:>9}", seconds(took));
}

fn verdict(ok: bool) -> &'static str {
    if ok { "ok" } else { "FAILED" }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[expect(
    clippy::disallowed_methods,
    reason = "steps are timed for a person; nothing is decided by it"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_step_is_named_in_its_error_and_in_the_summary() {
        let mut steps = Steps::default();
        let took = Duration::from_millis(1234);
        steps.record("first", took, Ok(())).unwrap();
        let result = Err::<(), _>(Error::failed("no luck"));
        let error = steps.record("second", took, result).unwrap_err();
        assert!(matches!(error, Error::Failed(why) if why == "step `second` failed: no luck"));
        let expected = "
step             result      time
first            ok         1.2 s
second           FAILED     1.2 s
total            FAILED     2.5 s
";
        assert_eq!(steps.summary(), expected);
    }
}
