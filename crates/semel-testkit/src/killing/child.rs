//! A process of this very program, listened to line by line and ended by SIGKILL.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The variable that makes a process of the same program a worker.
pub(crate) const VARIABLE: &str = "SEMEL_CRASH_WORKER";

/// A running worker; killed when dropped.
pub(crate) struct Life<W> {
    child: Child,
    words: Receiver<W>,
}

impl<W: Send + 'static> Life<W> {
    /// Starts this very program as a worker for `job`, whose lines mean what `word_of` says.
    pub(crate) fn begin(job: &str, word_of: fn(&str) -> W) -> Self {
        let program = std::env::current_exe().expect("the program knows where it is");
        let mut child = Command::new(program)
            .env(VARIABLE, job)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a worker starts");
        let stdout = child.stdout.take().expect("standard output is piped");
        let (sender, words) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(word_of(&line)).is_err() {
                    break;
                }
            }
        });
        Self { child, words }
    }

    /// Tells the worker something.
    pub(crate) fn tell(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("standard input is piped");
        writeln!(stdin, "{line}").expect("a live worker reads");
    }

    /// The next word, if there is one within `patience`; an error if the worker has ended.
    pub(crate) fn hear(&self, patience: Duration) -> Result<Option<W>, Ended> {
        match self.words.recv_timeout(patience) {
            Ok(word) => Ok(Some(word)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Ended),
        }
    }

    /// Kills the worker with SIGKILL; returns what it had said before.
    pub(crate) fn kill(mut self) -> Vec<W> {
        self.child.kill().expect("a worker can be killed");
        self.child.wait().expect("a killed worker ends");
        // The listening thread ends with the pipe, so this ends too.
        self.words.iter().collect()
    }
}

impl<W> Drop for Life<W> {
    fn drop(&mut self) {
        // Already dead after `kill`; otherwise nobody needs it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The worker ended by itself, which it never should.
#[derive(Debug)]
pub(crate) struct Ended;

/// A worker's line to whoever started it. One write per line, so that a line is heard whole or not at all.
pub(crate) fn say(line: &str) {
    let written = io::stdout()
        .lock()
        .write_all(format!("{line}\n").as_bytes());
    written.expect("the supervisor listens");
}
