//! Where one run takes place: a directory that all of its processes know.

use std::io::{self, BufRead};
use std::path::PathBuf;

use tokio::runtime::{Builder, Runtime};

use super::child::VARIABLE;
use crate::ledger::Ledger;

/// The directory of a run, and what its workers are started for.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) dir: PathBuf,
    /// One word.
    pub(crate) what: String,
}

impl Scene {
    /// A fresh directory.
    pub(crate) fn new(test: &str, what: &str) -> Self {
        let name = format!("semel-{test}-{what}-{:016x}", crate::random::fresh_seed());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).expect("a temporary directory");
        let what = what.to_owned();
        Self { dir, what }
    }

    /// What this process was started for, if it is a worker.
    pub(crate) fn from_environment() -> Option<Self> {
        let value = std::env::var(VARIABLE).ok()?;
        let (what, dir) = value.split_once(' ')?;
        Some(Self {
            dir: dir.into(),
            what: what.to_owned(),
        })
    }

    /// What a worker gets of this when it is started.
    pub(crate) fn words(&self) -> String {
        format!("{} {}", self.what, self.dir.display())
    }

    /// A name that no other run has: several may share one server.
    pub(crate) fn name(&self) -> String {
        let name = self.dir.file_name().expect("a run's directory has a name");
        name.to_string_lossy().into_owned()
    }

    /// Where effects are counted, outside of every process that could be killed.
    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::open(self.dir.join("ledger")).expect("the ledger opens")
    }

    /// The run is over. What a failed one left behind is kept for the engineer who looks into it.
    pub(crate) fn end(&self, failed: bool) {
        if !failed {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

/// The runtime of a worker, or of the findings.
pub(crate) fn runtime() -> Runtime {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime can be built")
}

/// What the supervisor tells a worker, word by word.
pub(crate) fn lines() -> impl Iterator<Item = Vec<String>> {
    io::stdin().lock().lines().map(|line| {
        let line = line.expect("the supervisor writes text");
        line.split(' ').map(str::to_owned).collect()
    })
}
