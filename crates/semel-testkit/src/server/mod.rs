//! Private servers for fault tests: stopped, paused, killed and restarted without anybody else noticing.
//!
//! They are started by the workspace's own tool, as the shared ones are: `cargo xtask test` names it in
//! `SEMEL_TEST_XTASK`. Calls here block their thread; tests that serve anything meanwhile need a
//! runtime with more than one.

mod disk;
mod exports;
mod processes;
mod tool;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

pub use disk::SmallDisk;

use exports::Exports;
use processes::Signal;
use tool::Tool;

/// Tells the servers of one process apart.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// A port of loopback that was free a moment ago, for a listener that a server gets by its settings.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("it listens").port()
}

/// A server of its own; it and its data are gone when dropped.
#[derive(Debug)]
pub struct Server {
    name: String,
    slot: String,
    tool: Tool,
    /// What the tool said last; a restart changes it.
    told: Mutex<Exports>,
}

impl Server {
    /// Starts the service `name` (`postgres`, `redis`, `redis-cluster`) with settings such as
    /// `max_connections=10`. Panics with the tool's words if it does not come up.
    pub fn start(name: &str, settings: &[&str]) -> Self {
        Self::start_by(Tool::find(), name, settings)
    }

    fn start_by(tool: Tool, name: &str, settings: &[&str]) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let slot = format!("run-{}-{number}", std::process::id());
        let mut args = vec!["up", name, "--slot", &slot];
        args.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let told = Mutex::new(tool.services(&args));
        let name = name.to_owned();
        Self {
            name,
            slot,
            tool,
            told,
        }
    }

    /// Where clients connect to; it holds a password, so it is not for logs.
    pub fn url(&self) -> String {
        self.told().url().to_owned()
    }

    /// The processes that were started; not their children.
    pub fn pids(&self) -> Vec<u32> {
        self.told().pids()
    }

    /// The directory with the server's data and logs.
    pub fn home(&self) -> PathBuf {
        self.told().home()
    }

    /// Stops the clock for every process of the server (SIGSTOP): connections stay open and nobody
    /// answers.
    pub fn pause(&self) {
        processes::freeze(&self.pids());
    }

    /// Lets a paused server go on (SIGCONT).
    pub fn resume(&self) {
        let all = processes::with_descendants(&self.pids());
        processes::send(Signal::Continue, &all);
    }

    /// Kills every process of the server (SIGKILL) and returns when they are gone. Nothing is flushed;
    /// the data stays.
    pub fn kill(&self) {
        processes::kill(&self.pids());
    }

    /// Starts the server again on its data and with its settings, whether it runs or was killed. It may
    /// have other processes then, and keeps its address.
    pub fn restart(&self) {
        let args = ["restart", &self.name, "--slot", &self.slot];
        let told = self.tool.services(&args);
        self.told().update(told);
    }

    fn told(&self) -> MutexGuard<'_, Exports> {
        self.told.lock().expect("nobody panics while holding this")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A paused process would not hear that it is to end.
        self.resume();
        self.tool.stop(&["down", &self.name, "--slot", &self.slot]);
    }
}

#[cfg(test)]
mod tests;
