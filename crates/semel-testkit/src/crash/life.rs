//! One life of a worker process, from its start to its end by SIGKILL.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::Point;
use super::worker::Job;

/// What a worker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// The store is open and operations are served.
    Ready,
    /// An operation stands still at a point.
    At(Point),
    /// The caller was told that it is done.
    Done(String),
    /// The caller was told that its outcome is unknown.
    Held(String),
    /// The caller was told to ask again.
    Again(String),
}

/// A running worker; killed when dropped.
pub(super) struct Life {
    child: Child,
    words: Receiver<Word>,
}

impl Life {
    /// Starts this very program as a worker.
    pub(super) fn begin(job: &Job) -> Self {
        let (variable, value) = job.variable();
        let program = std::env::current_exe().expect("the program knows where it is");
        let mut child = Command::new(program)
            .env(variable, value)
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

    /// Asks for an operation, to stand still at `stop` if there is one.
    pub(super) fn ask(&mut self, operation: &str, stop: Option<Point>) {
        let stop = stop.map_or("-", Point::name);
        let stdin = self.child.stdin.as_mut().expect("standard input is piped");
        let written = writeln!(stdin, "run {operation} {stop}");
        written.expect("a live worker reads");
    }

    /// The next word, if there is one within `patience`; an error if the worker has ended.
    pub(super) fn hear(&self, patience: Duration) -> Result<Option<Word>, Ended> {
        match self.words.recv_timeout(patience) {
            Ok(word) => Ok(Some(word)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Ended),
        }
    }

    /// Kills the worker with SIGKILL; returns what it had said before.
    pub(super) fn kill(mut self) -> Vec<Word> {
        self.child.kill().expect("a worker can be killed");
        self.child.wait().expect("a killed worker ends");
        // The listening thread ends with the pipe, so this ends too.
        self.words.iter().collect()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // Already dead after `kill`; otherwise nobody needs it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The worker ended by itself, which it never should.
#[derive(Debug)]
pub(super) struct Ended;

fn word_of(line: &str) -> Word {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["ready"] => Word::Ready,
        ["at", _, point] => Word::At(Point::from_name(point).expect("a known point")),
        ["done", operation] => Word::Done(operation.to_owned()),
        ["held", operation] => Word::Held(operation.to_owned()),
        ["again", operation] => Word::Again(operation.to_owned()),
        _ => panic!("a worker said {line:?}"),
    }
}
