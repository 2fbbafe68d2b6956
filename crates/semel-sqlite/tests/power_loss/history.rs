//! One file through many power losses: each time a worker runs until the power fails, is killed, and the file is what a restart finds.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rusqlite::Connection;
use semel_powerloss::{Fault, Moment};
use semel_testkit::random::Random;
use tempfile::TempDir;

use crate::account::{Account, Word, word_of};
use crate::findings::judge;
use crate::job::{Job, Task, image, ledger, live, workplace};

/// The fences that the older file has drawn.
const FLOOR: u64 = 1_000;

/// What lies on the disk when the first worker starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Nothing: the file is created.
    Nothing,
    /// A file with the first schema: it is migrated.
    OldFile,
}

/// One file and what was acknowledged on it.
#[derive(Debug)]
pub(crate) struct History {
    dir: TempDir,
    random: Random,
    fault: Option<Fault>,
    lives: u64,
    pub(crate) account: Account,
    /// When the power failed.
    pub(crate) losses: Vec<Moment>,
    /// What should not be.
    pub(crate) wrong: Vec<String>,
}

impl History {
    pub(crate) fn begin(start: Start, seed: u64, fault: Option<Fault>) -> Self {
        let dir = workplace();
        let mut account = Account::default();
        if start == Start::OldFile {
            old_file(&live(dir.path()).join("semel.db")).expect("an older file can be made");
            account.floor = FLOOR;
        }
        Self {
            dir,
            random: Random::new(seed),
            fault,
            lives: 0,
            account,
            losses: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// A worker runs until the power fails at `moment`, at its `nth_max`-th time at most.
    pub(crate) fn live(&mut self, moment: Moment, nth_max: u64) {
        let job = Job {
            root: self.dir.path().to_owned(),
            task: Task::Serve(self.account.next),
            moment,
            nth: 1 + self.random.below(nth_max),
            seed: self.random.below(u64::MAX),
            fault: self.fault,
        };
        self.lives += 1;
        fs::create_dir(image(&job.root)).expect("a directory can be made");
        let lost = self.listen(start(&job));
        let at = format!("life {}, {} {}", self.lives, moment.name(), job.nth);
        let Some(lost) = lost else {
            self.wrong
                .push(format!("{at}: the worker ended before the power failed"));
            return;
        };
        self.losses.push(lost);
        fs::remove_dir_all(live(&job.root)).expect("the files can be removed");
        fs::rename(image(&job.root), live(&job.root)).expect("the image can be moved");
        let copy = copy_of(&live(&job.root), &job.root.join("check"));
        let wrong = judge(&copy, &self.account, &ledger(&job.root));
        self.wrong
            .extend(wrong.iter().map(|wrong| format!("{at}: {wrong}")));
    }

    /// Notes what a worker says until its power fails, and kills it then.
    fn listen(&mut self, mut worker: Child) -> Option<Moment> {
        let mut lost = None;
        let stdout = worker.stdout.take().expect("standard output is piped");
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            match word_of(&line) {
                Word::Lost(moment) => {
                    lost = Some(moment);
                    worker.kill().expect("a worker can be killed");
                }
                Word::Known(name, step) => self.wrong.extend(self.account.note(name, step)),
            }
        }
        worker.wait().expect("a worker ends");
        lost
    }
}

/// Starts this very program as a worker.
pub(crate) fn start(job: &Job) -> Child {
    let program = std::env::current_exe().expect("the program knows where it is");
    let (variable, words) = job.words();
    let mut command = Command::new(program);
    command.env(variable, words).stdout(Stdio::piped());
    if job.fault.is_some() {
        // A worker on a damaged file panics, which is what its supervisor waits for.
        command.stderr(Stdio::null());
    }
    command.spawn().expect("a worker starts")
}

/// A copy of a directory: the judge recovers the log and closes the file, which the next worker is to do itself.
fn copy_of(from: &Path, to: &Path) -> PathBuf {
    let copy = || {
        if to.exists() {
            fs::remove_dir_all(to)?;
        }
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
        std::io::Result::Ok(())
    };
    copy().expect("a directory can be copied");
    to.to_owned()
}

/// A file as the first version of Semel left it.
fn old_file(path: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.execute_batch(include_str!("../../migrations/0001_records.sql"))?;
    let sql =
        "INSERT INTO semel_meta (name, value) VALUES ('schema_version', 1), ('fence_floor', ?1)";
    connection.execute(sql, [FLOOR])?;
    connection.close().map_err(|(_, error)| error)
}
