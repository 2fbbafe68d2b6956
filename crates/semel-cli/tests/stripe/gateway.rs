//! The gateway: the real binary, killed and started again on the same store and port.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::process::{Process, free_port};
use crate::upstream::Upstream;

/// A killed gateway's claims are taken over when their lease has ended.
const LEASE: &str = "2s";
/// Longer than the lease, so that a call seldom has to be repeated just because it came too early.
const WAIT: &str = "5s";

const START_POLL: Duration = Duration::from_millis(20);
const START_POLLS_MAX: usize = 500;

/// Who decides about unknown outcomes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unknown {
    /// A person.
    Hold,
    /// Nobody: it is forwarded again.
    Rerun,
    /// The upstream's reconciler.
    Reconcile,
}

/// The gateway's process.
pub(crate) struct Gateway {
    dir: PathBuf,
    words: Vec<String>,
    port: u16,
    process: Process,
}

impl Gateway {
    /// Starts in front of `upstream` by options alone, on a fresh store in `dir`.
    pub(crate) fn by_options(dir: &Path, upstream: &Upstream) -> Self {
        let (port, admin) = (free_port(), free_port());
        let url = upstream.url();
        let line = format!(
            "gateway --upstream {url} --listen 127.0.0.1:{port} --store sqlite:semel.db \
             --profile stripe --unknown hold --admin 127.0.0.1:{admin}"
        );
        Self::start(dir, &line, port)
    }

    /// The same by a file, which can also say who decides about unknown outcomes, and how soon.
    pub(crate) fn by_file(dir: &Path, upstream: &Upstream, unknown: Unknown) -> Self {
        let port = free_port();
        fs::write(dir.join("semel.yaml"), config(port, upstream, unknown)).unwrap();
        Self::start(dir, "serve --config semel.yaml", port)
    }

    fn start(dir: &Path, line: &str, port: u16) -> Self {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let mut gateway = Self {
            dir: dir.to_owned(),
            process: start(dir, &words),
            words,
            port,
        };
        gateway.wait_until_it_listens();
        gateway
    }

    /// Where clients find it.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Ends the process with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts another on the same store and port.
    pub(crate) fn restart(&mut self) {
        self.process = start(&self.dir, &self.words);
        self.wait_until_it_listens();
    }

    /// What a command of the same binary on the same store prints.
    pub(crate) fn semel(&self, words: &[&str]) -> String {
        let output = semel(&self.dir).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn wait_until_it_listens(&mut self) {
        for _ in 0..START_POLLS_MAX {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            assert!(!self.process.has_ended(), "the gateway does not start");
            thread::sleep(START_POLL);
        }
        panic!("the gateway does not listen");
    }
}

impl Drop for Gateway {
    #[expect(clippy::print_stderr, reason = "whoever reads the failure needs it")]
    fn drop(&mut self) {
        if thread::panicking() {
            let log = fs::read_to_string(self.dir.join("gateway.log"));
            eprintln!("the gateway's log:\n{}", log.unwrap_or_default());
        }
    }
}

fn config(port: u16, upstream: &Upstream, unknown: Unknown) -> String {
    let url = upstream.url();
    let unknown = match unknown {
        Unknown::Hold => "hold".to_owned(),
        Unknown::Rerun => "rerun".to_owned(),
        Unknown::Reconcile => format!("{{ reconcile: \"{}\" }}", upstream.reconciler_url()),
    };
    format!(
        "store: sqlite:semel.db\n\
         admin: off\n\
         gateway:\n\
         \x20 listen: 127.0.0.1:{port}\n\
         \x20 upstream: {url}\n\
         \x20 profile: stripe\n\
         \x20 lease: {LEASE}\n\
         \x20 in_progress: {{ wait: {WAIT}, then: 409 }}\n\
         \x20 unknown: {unknown}\n"
    )
}

fn start(dir: &Path, words: &[String]) -> Process {
    let log = File::options()
        .append(true)
        .create(true)
        .open(dir.join("gateway.log"));
    let mut command = semel(dir);
    command.args(words).stderr(Stdio::from(log.unwrap()));
    Process::start("the gateway", command)
}

fn semel(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_semel"));
    command.current_dir(dir).env_clear().env("USER", "alice");
    command
}
