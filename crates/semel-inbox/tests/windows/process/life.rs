//! A process of this very program, listened to line by line and ended by SIGKILL.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Job;
use crate::workshop::PATIENCE;

/// The variable that makes a process of the same program a worker.
pub(super) const VARIABLE: &str = "SEMEL_WINDOWS_JOB";

/// A running worker; killed when dropped.
pub(crate) struct Life {
    child: Child,
    words: UnboundedReceiver<String>,
}

impl Life {
    pub(crate) fn begin(job: &Job) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new(program)
            .env(VARIABLE, serde_json::to_string(job).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, words) = unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Nobody listens to a worker that is no longer needed.
                let _ = sender.send(line);
            }
        });
        Self { child, words }
    }

    /// The next word of the worker.
    async fn hear(&mut self) -> String {
        let word = tokio::time::timeout(PATIENCE, self.words.recv()).await;
        let word = word.expect("a worker says something in time");
        word.expect("a worker lives until it is killed")
    }

    /// Where the worker's webhook is.
    pub(crate) async fn webhook(&mut self) -> String {
        let word = self.hear().await;
        let addr = word.strip_prefix("serves ").expect("it serves first");
        format!("http://{addr}/inbox/{}", crate::workshop::ORDERS)
    }

    /// Waits until the worker stands still, and kills it.
    pub(crate) async fn killed_at_its_window(mut self) {
        assert_eq!(self.hear().await, "at the window");
        self.killed();
    }

    /// Kills the worker where it is.
    pub(crate) fn killed(mut self) {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(signal, Some(9), "{status:?}");
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // Already dead at its window; otherwise nobody needs it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A worker's line to whoever started it, by one write.
pub(super) fn say(line: &str) {
    let written = std::io::stdout()
        .lock()
        .write_all(format!("{line}\n").as_bytes());
    written.unwrap();
}
