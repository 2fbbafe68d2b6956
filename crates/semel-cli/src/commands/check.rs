//! `semel check`: is this machine fit to run on this store?

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use semel_core::record::Claim;
use semel_core::store::{Query, RenewRequest};
use semel_core::{Fence, Identity, LeaseTerm, StoreExt, Timestamp, duration};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serving::Source;
use crate::stores::{self, Opened, StoreArgs};
use crate::{output, text};

/// Older versions can damage a file whose log is started over while others read it.
const SQLITE_MIN: [u32; 3] = [3, 51, 3];
/// 2026-01-01: a machine whose clock stands before that has never been told the time.
const CLOCK_MIN: Timestamp = Timestamp::from_millis(1_767_225_600_000);
/// How far the newest claim may lie ahead, because other machines' clocks differ a little.
const CLOCK_AHEAD_MAX_MS: i64 = 1_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Check this configuration file first, and say in words what it does
    #[arg(long, value_name = "FILE", env = "SEMEL_CONFIG")]
    config: Option<PathBuf>,

    /// Write JSON: an object with `ok` and `checks`
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, store: StoreArgs) -> Result<()> {
    let mut report = Report::default();
    let mut store = store;
    if let Some(path) = &args.config {
        let file = Source::new(Some(path.clone()), Vec::new()).load()?;
        store = store.or(file.store.as_ref().map(|url| url.as_str()));
        report.add("config", Ok((config(path, &file), ())));
        if !args.json {
            output::data(&format!("{}\n", semel_policy::explain(&file)))?;
        }
    }
    check_store(&mut report, &store, args.config.is_some()).await;
    report.print(args.json)?;
    report.verdict()
}

fn config(path: &Path, file: &semel_policy::File) -> String {
    let shown = path.display();
    match semel_policy::warnings(file).len() as u64 {
        0 => format!("{shown} is valid"),
        count => {
            let points = text::plural(count, "point", "points");
            format!("{shown} is valid, with {points} to think about")
        }
    }
}

async fn check_store(report: &mut Report, store: &StoreArgs, may_be_new: bool) {
    report.add("sqlite", sqlite());
    let path = store.path().map(|path| (store.url().to_owned(), path));
    let Some(path) = report.add("url", path) else {
        return;
    };
    if may_be_new && !path.exists() {
        report.add("file", new_file(&path));
        return;
    }
    if report.add("file", file(&path)).is_some()
        && let Some(opened) = report.add("open", open(store))
    {
        report.add("read", read(&opened).await);
        report.add("write", write(&opened).await);
        report.add("clock", clock(&opened).await);
    }
}

/// A store that is to be made needs a directory to be in.
fn new_file(path: &Path) -> Result<(String, ())> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let shown = path.display();
    match directory.is_dir() {
        true => Ok((
            format!("{shown} does not exist yet, semel serve creates it"),
            (),
        )),
        false => Err(bad(format!("{} is not a directory", directory.display()))),
    }
}

/// One thing that was checked.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    found: String,
    advice: Option<String>,
}

#[derive(Debug, Default)]
struct Report {
    checks: Vec<Check>,
    exit: Option<Exit>,
}

impl Report {
    /// Notes what a check found, and hands on what the next one needs.
    fn add<T>(&mut self, name: &'static str, checked: Result<(String, T)>) -> Option<T> {
        let (ok, found, advice, value) = match checked {
            Ok((found, value)) => (true, found, None, Some(value)),
            Err(error) => {
                self.exit = self.exit.or(Some(error.exit()));
                let advice = error.advice().map(ToOwned::to_owned);
                (false, error.message().to_owned(), advice, None)
            }
        };
        self.checks.push(Check {
            name,
            ok,
            found,
            advice,
        });
        value
    }

    fn print(&self, json: bool) -> Result<()> {
        #[derive(Serialize)]
        struct Json<'a> {
            ok: bool,
            checks: &'a [Check],
        }
        if json {
            return output::json(&Json {
                ok: self.exit.is_none(),
                checks: &self.checks,
            });
        }
        let line = |check: &Check| {
            let mark = if check.ok { '✓' } else { '✗' };
            let advice = check.advice.as_ref();
            let advice = advice.map_or(String::new(), |advice| format!("\n          → {advice}"));
            format!("{mark} {:<6}  {}{advice}", check.name, check.found)
        };
        output::data(&self.checks.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    fn verdict(&self) -> Result<()> {
        let Some(exit) = self.exit else {
            return Ok(());
        };
        let failed = self.checks.iter().filter(|check| !check.ok).count();
        let failed = text::plural(failed as u64, "check", "checks");
        Err(Error::new(exit, format!("{failed} failed")))
    }
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(Exit::Configuration, message)
}

fn sqlite() -> Result<(String, ())> {
    let version = stores::sqlite_version();
    let parts: Vec<u32> = version
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect();
    match parts.as_slice() >= SQLITE_MIN.as_slice() {
        true => Ok((format!("version {version}"), ())),
        false => Err(
            bad(format!("expected SQLite 3.51.3 or later, found {version}"))
                .hint("build semel with the SQLite that it brings along"),
        ),
    }
}

/// Looks at the file before SQLite does: closing it later would drop SQLite's locks.
fn file(path: &Path) -> Result<(String, ())> {
    let shown = path.display();
    let metadata = path.metadata().map_err(|error| {
        bad(format!("{shown} cannot be found: {error}")).hint(
            "a program that runs on the store creates it; --store or SEMEL_STORE names another",
        )
    })?;
    if !metadata.is_file() {
        return Err(
            bad(format!("{shown} is not a file")).hint("name a file in --store sqlite:PATH")
        );
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|error| {
            bad(format!("{shown} cannot be written: {error}"))
                .hint("give this user the right to write the file and its directory")
        })?;
    Ok((
        format!("{shown}, {}, can be written", text::bytes(metadata.len())),
        (),
    ))
}

fn open(store: &StoreArgs) -> Result<(String, Opened)> {
    let opened = store.open_existing()?;
    Ok(("the schema is one that this semel knows".to_owned(), opened))
}

async fn read(opened: &Opened) -> Result<(String, ())> {
    let stats = opened.store.stats().await?;
    opened.look_up(&probe()?).await?;
    let [running, unknown, settled] =
        [stats.running, stats.unknown, stats.settled].map(text::count);
    Ok((
        format!("{running} running, {unknown} unknown, {settled} settled"),
        (),
    ))
}

/// Renews a claim that nobody has: the whole way of a write, and nothing changes.
async fn write(opened: &Opened) -> Result<(String, ())> {
    let claim = Claim {
        identity: probe()?,
        fence: Fence::new(0),
    };
    let lease = LeaseTerm::default();
    opened
        .store
        .renew_one(RenewRequest { claim, lease })
        .await?;
    Ok(("the write lock was taken and given back".to_owned(), ()))
}

fn probe() -> Result<Identity> {
    Ok(Identity::parse("public", "semel-check", "probe")?)
}

async fn clock(opened: &Opened) -> Result<(String, ())> {
    let query = Query {
        limit: 1,
        ..Query::default()
    };
    let newest = opened.store.list(query).await?;
    let newest = newest.records.first().map(|record| record.claimed_at);
    judge_clock(opened.now(), newest).map(|found| (found, ()))
}

fn judge_clock(now: Timestamp, newest: Option<Timestamp>) -> Result<String> {
    let advice = "set the machine's clock, for example with NTP";
    if now < CLOCK_MIN {
        return Err(bad(format!("expected a date after {CLOCK_MIN}, found {now}")).hint(advice));
    }
    match newest {
        Some(newest) if newest.as_millis() - now.as_millis() > CLOCK_AHEAD_MAX_MS => {
            let ahead = duration::show(newest.since(now));
            Err(bad(format!(
                "it is {now} here, but the newest claim was made {ahead} later"
            ))
            .hint(advice))
        }
        _ => Ok(now.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_clock_is_sane_after_2026_and_not_behind_the_store() {
        let judged = |now: Timestamp, newest| judge_clock(now, newest).is_ok();
        let later = |seconds| CLOCK_MIN.after(Duration::from_secs(seconds));
        assert!(judged(later(5), None));
        assert!(judged(later(5), Some(later(5))));
        assert!(judged(later(5), Some(later(6))));
        assert!(!judged(later(5), Some(later(7))));
        assert!(!judged(Timestamp::from_millis(0), None));
    }

    #[test]
    fn this_build_has_a_good_sqlite() {
        assert!(sqlite().is_ok());
    }
}
