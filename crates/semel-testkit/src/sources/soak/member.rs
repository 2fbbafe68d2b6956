//! A process with an engine: started, listened to, killed, or asked to leave.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use semel_inbox::Ack;
use semel_inbox::source::SourceView;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::{PATIENCE, Soak};

/// The variable that makes a process of the same program an engine.
const VARIABLE: &str = "SEMEL_SOAK_MEMBER";
const PAUSE: Duration = Duration::from_millis(20);
/// What a line about the source begins with. The test harness may have begun the line with words of its own.
const STATUS: &str = "source: ";

/// What a process is started for.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) ack: Ack,
    pub(super) url: String,
    pub(super) dir: PathBuf,
}

impl Job {
    /// The job of this process, if it was started as an engine.
    pub(super) fn from_environment() -> Option<Self> {
        let text = std::env::var(VARIABLE).ok()?;
        let mut words = text.splitn(3, ' ');
        let ack = match words.next()? {
            "received" => Ack::AfterReceive,
            _ => Ack::AfterEffect,
        };
        Some(Self {
            ack,
            url: words.next()?.to_owned(),
            dir: words.next()?.into(),
        })
    }
}

/// How the source of an engine stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status {
    delivered: u64,
    open: u64,
}

impl Status {
    pub(super) const fn of(view: &SourceView) -> Self {
        Self {
            delivered: view.delivered,
            open: view.open,
        }
    }

    /// Tells the supervisor, by one write.
    pub(super) fn say(self) {
        let line = format!("{STATUS}{} {}\n", self.delivered, self.open);
        // The supervisor is gone, and this process with it.
        let _ = std::io::stdout().lock().write_all(line.as_bytes());
    }

    fn read(line: &str) -> Option<Self> {
        let (_, numbers) = line.split_once(STATUS)?;
        let (delivered, open) = numbers.split_once(' ')?;
        Some(Self {
            delivered: delivered.parse().ok()?,
            open: open.parse().ok()?,
        })
    }
}

/// A running engine; killed when dropped.
pub(super) struct Member {
    child: Child,
    /// Nothing before its first word.
    status: watch::Receiver<Option<Status>>,
}

impl Member {
    /// Starts an engine. Every other one acknowledges after the effect: both ways are sound, and so is every change between them.
    pub(super) fn start(soak: &Soak, dir: &Path, url: &str, turn: usize) -> Self {
        let ack = ["received", "effect"][turn % 2];
        let program = std::env::current_exe().expect("the program knows where it is");
        let mut child = Command::new(program)
            .args(["--exact", soak.test, "--nocapture"])
            .env(VARIABLE, format!("{ack} {url} {}", dir.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("an engine starts");
        let stdout = child.stdout.take().expect("standard output is piped");
        let (told, status) = watch::channel(None);
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            for status in lines.filter_map(|line| Status::read(&line)) {
                told.send_replace(Some(status));
            }
        });
        Self { child, status }
    }

    /// Kills it with SIGKILL, wherever it is.
    pub(super) fn kill(mut self) {
        let ended = self.child.try_wait().expect("an engine can be waited for");
        assert!(
            ended.is_none(),
            "an engine lives until it is killed, found {ended:?}"
        );
        self.child.kill().expect("an engine can be killed");
        self.child.wait().expect("a killed engine ends");
    }

    /// Has it end well.
    pub(super) async fn leave(mut self) {
        drop(self.child.stdin.take());
        let until = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait().expect("an engine can be waited for") {
                Some(status) => return assert!(status.success(), "an engine ended with {status}"),
                None => assert!(Instant::now() < until, "an engine does not end"),
            }
            sleep(PAUSE).await;
        }
    }

    /// Waits until its source has delivered nothing for `time`, and nothing is open.
    pub(super) async fn until_quiet(&self, time: Duration) {
        let (mut last, mut since, until) = (
            *self.status.borrow(),
            Instant::now(),
            Instant::now() + PATIENCE,
        );
        while last.is_none_or(|status| status.open > 0) || since.elapsed() < time {
            assert!(
                Instant::now() < until,
                "the source does not come to rest: {last:?}"
            );
            sleep(PAUSE).await;
            let now = *self.status.borrow();
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // Already dead after `kill` and `leave`; otherwise nothing needs it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
