//! Runs the tests with their output passed on unchanged and read for what failed, and not for ever.

use std::io::{self, BufRead, BufReader, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::failures::Failures;
use crate::error::{Error, Result};
use crate::guard::Guard;

/// How long all tests may take. A test that hangs must not take the time of CI, which ends without a word.
const LIMIT: Duration = Duration::from_secs(60 * 60);
/// How long ended tests may take to be gone, and their output to be read.
const GRACE: Duration = Duration::from_secs(20);

/// What the tests printed, shared with the threads that read it.
#[derive(Clone, Default)]
pub(super) struct Watched(Arc<Mutex<Failures>>);

impl Watched {
    /// Runs the tests to their end, or to the limit.
    pub(super) fn run(&self, guard: &mut Guard, mut tests: Command) -> Result<()> {
        let (reading, read) = mpsc::channel();
        let pipe = || io::pipe().map_err(Error::when("make a pipe"));
        let ((out, stdout), (err, stderr)) = (pipe()?, pipe()?);
        tests.stdout(stdout).stderr(stderr);
        self.follow(out, io::stdout(), Failures::stdout, reading.clone());
        self.follow(err, io::stderr(), Failures::stderr, reading);
        let (in_time, ended) = within(LIMIT, |is_over| guard.run_unless(tests, is_over));
        // Not for ever: a process that a test left behind may hold the pipes.
        let _ = read.recv_timeout(GRACE);
        match in_time {
            true => ended,
            false => Err(Error::failed(format!(
                "the tests did not end within {} minutes; still running: {}",
                LIMIT.as_secs() / 60,
                self.failures().slow()
            ))),
        }
    }

    /// What failed, for the end of the run.
    pub(super) fn summary(&self) -> Option<String> {
        self.failures().summary()
    }

    /// Passes each line on and reads it, on a thread that ends with the pipe.
    fn follow(
        &self,
        pipe: io::PipeReader,
        mut to: impl Write + Send + 'static,
        look: fn(&mut Failures, &str),
        reading: Sender<()>,
    ) {
        let watched = self.clone();
        thread::spawn(move || {
            let _reading = reading;
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                // A reader that went away is no reason to end the tests.
                let _ = to.write_all(&line).and_then(|()| to.flush());
                let text = String::from_utf8_lossy(&line);
                look(&mut watched.failures(), text.trim_end());
                line.clear();
            }
        });
    }

    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `run` and says that it is over after `limit`, and once more a while later. Whether it ended in time, and how.
fn within<T>(limit: Duration, run: impl FnOnce(&AtomicBool) -> T) -> (bool, T) {
    let (running, ended) = mpsc::channel::<()>();
    let is_over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let timer = scope.spawn(move || {
            let is_late = |limit| ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            let waits = [limit, GRACE].into_iter();
            let late = waits.take_while(|wait| is_late(*wait));
            late.map(|_| is_over.store(true, Ordering::Relaxed)).count()
        });
        let result = run(is_over);
        drop(running);
        (timer.join().is_ok_and(|late| late == 0), result)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_said_to_be_over() {
        let wait = |is_over: &AtomicBool| {
            while !is_over.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            7
        };
        assert_eq!(within(Duration::from_millis(1), wait), (false, 7));
        assert_eq!(within(Duration::MAX, |_| 8), (true, 8));
    }
}
