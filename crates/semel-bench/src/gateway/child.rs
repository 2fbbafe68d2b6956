//! A process of ours: started, waited for, ended.
//!
//! Each child ends when this process does, however that happens: a shell behind it waits for the end of a pipe
//! that only we hold open. The same pipe ends it in the ordinary case, so that there is one way only.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, Stdio};
use std::time::Duration;

use semel_core::{Error, Kind, Result};
use tokio::net::TcpStream;

use super::options::CommandLine;
use crate::machine::io;
use crate::timing::Stopwatch;

/// Becomes the command itself, so that its id is the one we know. What waits for the pipe ends the process by
/// that id, with the signal that `$0` names.
const SCRIPT: &str = r#"exec 3<&0
(cat <&3 >/dev/null; kill -s "$0" $$) &
exec "$@" 3<&- </dev/null"#;

const START_MAX: Duration = Duration::from_secs(30);
const END_MAX: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);
/// How much of what a failed child said is shown.
const LOG_BYTES_MAX: usize = 2000;

/// How a child is told to end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending {
    /// At once.
    Kill,
    /// By itself, because it has children of its own.
    Terminate,
}

/// A running child; ended when dropped.
#[derive(Debug)]
pub(super) struct Child {
    name: &'static str,
    process: Process,
    log: PathBuf,
}

impl Child {
    /// Starts it, and waits until it accepts connections at `listens`. What it says goes to a file in `dir`.
    pub(super) async fn start(
        name: &'static str,
        command: &CommandLine,
        ending: Ending,
        listens: SocketAddr,
        dir: &Path,
    ) -> Result<Self> {
        let log = dir.join(format!("{name}.log"));
        let process = spawn(command, ending, &log).map_err(io("starting a process"))?;
        let mut child = Self { name, process, log };
        child.accepts(listens).await?;
        Ok(child)
    }

    /// The id of the process.
    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    async fn accepts(&mut self, address: SocketAddr) -> Result<()> {
        let clock = Stopwatch::start();
        while TcpStream::connect(address).await.is_err() {
            let ended = self.process.try_wait().map_err(io("watching a process"))?;
            if let Some(status) = ended {
                return Err(self.failed(&format!("ended with {status}")));
            }
            if clock.elapsed() > START_MAX {
                return Err(self.failed(&format!("does not listen at {address}")));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    fn failed(&self, how: &str) -> Error {
        let said = std::fs::read(&self.log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said[said.len().saturating_sub(LOG_BYTES_MAX)..]);
        let message = format!("{} {how}\n{said}", self.name);
        Error::new(Kind::Unavailable, message.trim_end())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let clock = Stopwatch::start();
        while clock.elapsed() < END_MAX {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(POLL);
        }
        // It did not listen; this it cannot refuse.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(command: &CommandLine, ending: Ending, log: &Path) -> std::io::Result<Process> {
    let log = File::create(log)?;
    let signal = match ending {
        Ending::Kill => "KILL",
        Ending::Terminate => "TERM",
    };
    Command::new("sh")
        .args(["-c", SCRIPT, signal])
        .args(command)
        .stdin(Stdio::piped())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

/// Addresses on this machine that nobody listened at a moment ago, all different.
pub(super) fn free_addresses<const N: usize>() -> Result<[SocketAddr; N]> {
    let bind = |_| TcpListener::bind("127.0.0.1:0");
    let listeners: Vec<_> = (0..N)
        .map(bind)
        .collect::<std::io::Result<_>>()
        .map_err(io("looking for a free port"))?;
    let mut found = [SocketAddr::from(([127, 0, 0, 1], 0)); N];
    for (address, listener) in found.iter_mut().zip(&listeners) {
        *address = listener
            .local_addr()
            .map_err(io("looking for a free port"))?;
    }
    Ok(found)
}
