//! Runs named steps one after another or two side by side, times them, and sums them up.
//!
//! It knows nothing about what a step does.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::output::note;

/// The steps of one run so far, in order.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<Done>,
    /// How long steps ran beside others.
    overlap: Duration,
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
        let (took, result) = timed(name, step);
        self.record(name, took, result)
    }

    /// Runs two steps side by side. When the first fails, the second is asked to end; its failure then says nothing new.
    pub(crate) fn run_both<A: Send, B>(
        &mut self,
        first: (&'static str, impl FnOnce() -> Result<A> + Send),
        second: (&'static str, impl FnOnce(&AtomicBool) -> Result<B>),
    ) -> Result<(A, B)> {
        let has_failed = AtomicBool::new(false);
        let run_first = || {
            let ended = timed(first.0, first.1);
            has_failed.store(ended.1.is_err(), Ordering::Relaxed);
            ended
        };
        let (ended, (second_took, second_result)) = thread::scope(|scope| {
            let beside = scope.spawn(run_first);
            let ended = timed(second.0, || second.1(&has_failed));
            (beside.join(), ended)
        });
        let panicked = |_| (Duration::ZERO, Err(Error::failed("its thread panicked")));
        let (first_took, first_result) = ended.unwrap_or_else(panicked);
        self.overlap += first_took.min(second_took);
        let first = self.record(first.0, first_took, first_result);
        let second = self.record(second.0, second_took, second_result);
        Ok((first?, second?))
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
        let total: Duration = self.done.iter().map(|done| done.took).sum();
        row(&mut table, "total", verdict(ok), total - self.overlap);
        table
    }
}

fn timed<T>(name: &str, step: impl FnOnce() -> Result<T>) -> (Duration, Result<T>) {
    note(&format!("==> {name}"));
    let begun = now();
    let result = step();
    let took = begun.elapsed();
    let verdict = verdict(result.is_ok());
    note(&format!("<== {name}: {verdict} in {}", seconds(took)));
    (took, result)
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

    #[test]
    fn of_two_steps_side_by_side_the_longer_one_counts_and_the_second_hears_of_a_failure() {
        let mut steps = Steps::default();
        let both = steps.run_both(("a", || Ok(1)), ("b", |_| Ok(2)));
        assert_eq!(both.unwrap(), (1, 2));
        let [a, b] = [0, 1].map(|step| steps.done[step].took);
        assert_eq!(steps.overlap, a.min(b));
        let heard = |has_failed: &AtomicBool| {
            while !has_failed.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            Err::<(), _>(Error::failed("was ended"))
        };
        let failed = || Err::<(), _>(Error::failed("no luck"));
        let error = steps.run_both(("c", failed), ("d", heard)).unwrap_err();
        assert_eq!(error.to_string(), "step `c` failed: no luck");
    }
}
