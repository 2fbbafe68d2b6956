//! `semel check`: is this machine fit to run on this store? And with `--alerts`: does a running process need somebody?

mod alerts;
mod brokers;
mod clock;
mod file;
mod ids;
mod report;
mod starts;
mod tokens;
mod versions;

use std::path::{Path, PathBuf};

use semel_admin::Policies;
use semel_core::record::Claim;
use semel_core::store::RenewRequest;
use semel_core::{Fence, Identity, LeaseTerm, StoreExt};

use crate::discovery::{ConfigArg, ConfigPath};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serving;
use crate::stores::{Opened, StoreArgs};
use crate::{output, text};
use report::Report;

/// The most records of data keys that are looked at.
const KEYS_MAX: usize = 1_000;

/// What a check found, and what the next one needs.
type Found<T = ()> = Result<(String, T)>;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write JSON: an object with `ok` and `checks`
    #[arg(long)]
    json: bool,

    /// Ask a running process which alerts fire instead: the exit code is 5 if one does that is bad enough, and 69 if none was judged lately
    #[arg(long)]
    alerts: bool,

    /// With --alerts: how bad an alert must be for exit code 5; all that fire are shown
    #[arg(long, value_enum, default_value_t, requires = "alerts")]
    severity: alerts::AtLeast,

    /// With --alerts: the admin side of the process: HOST:PORT, http://…, https://… or unix:PATH
    /// [default: admin.listen of the configuration file, or 127.0.0.1:7071]
    #[arg(long, alias = "url", value_name = "URL", requires = "alerts")]
    admin: Option<String>,

    /// With --alerts: the authorities that vouch for the admin side, as a PEM file, instead of this machine's; one that the configuration file
    /// serves on this machine is known by its own certificate
    #[arg(long, value_name = "FILE", requires = "alerts")]
    ca: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args, store: StoreArgs, config: &ConfigArg) -> Result<()> {
    if args.alerts {
        let asked = (args.admin.as_deref(), args.ca.as_deref());
        return alerts::run(asked, args.severity, config, args.json).await;
    }
    let mut report = Report::default();
    let file = config.load()?;
    let store = config.announced(store, file.as_ref());
    if let (Some(file), Some(path)) = (&file, config.path()) {
        report.add("config", Ok((valid(&path, file), ())));
        match args.json {
            true => report.warn("config", semel_policy::warnings(file)),
            false => output::data(&format!("{}\n", semel_policy::explain(file)))?,
        }
        report.add("start", starts::check(file));
        report.warn("tokens", tokens::warnings(file));
        if let Some(inbox) = inbox(file, &store) {
            report.add("inbox", inbox);
        }
        if serving::served(file).is_ok() {
            brokers::check(&mut report, file).await?;
        }
    }
    check_store(&mut report, &store, file.as_ref()).await?;
    report.print(args.json)?;
    report.verdict()
}

fn valid(path: &ConfigPath, file: &semel_policy::File) -> String {
    let shown = path.as_path().display();
    match semel_policy::warnings(file).len() as u64 {
        0 => format!("{shown} is valid"),
        count => {
            let points = text::plural(count, "point", "points");
            format!("{shown} is valid, with {points} to think about")
        }
    }
}

/// Whether messages have a home, if the file has consumers at all.
fn inbox(file: &semel_policy::File, store: &StoreArgs) -> Option<Found> {
    let (consumers, targets) = match serving::served(file) {
        Ok((0, 0)) => return None,
        Ok(served) => served,
        Err(error) => return Some(Err(error)),
    };
    let consumers = text::plural(consumers as u64, "consumer", "consumers");
    let targets = text::plural(targets as u64, "target", "targets");
    let found = format!("{consumers} and {targets} of intents");
    Some(match serving::needs_inbox(file) {
        Ok(true) => {
            let found = format!("{found}, stored in {}", store.shown());
            store.must_have_inbox().map(|()| (found, ()))
        }
        Ok(false) => Ok((format!("{found}, whose processed ids are in topics"), ())),
        Err(error) => Err(error),
    })
}

/// Whether the data keys of tenants open, of as many as one look finds.
async fn check_keys(report: &mut Report, opened: &Opened) {
    let keys = opened.keys();
    if keys.keks().is_empty() {
        if let Err(error) = opened.must_have_keys().await {
            report.add::<()>("keys", Err(error));
        }
        return;
    }
    let found = match keys.check(KEYS_MAX).await {
        Ok(found) => found,
        Err(error) => {
            report.add::<()>("keys", Err(error.into()));
            return;
        }
    };
    let tenants = text::plural(found.tenants as u64, "tenant", "tenants");
    report.add(
        "keys",
        match found.locked.first() {
            None => Ok((format!("the data keys of {tenants} open"), ())),
            Some(tenant) => Err(Error::refused(format!(
                "the data key of tenant {tenant} does not open with any of encryption.keys"
            ))
            .hint("put the key that wraps it back, behind the first")),
        },
    );
}

/// A store that a configuration file names may be one that is yet to be made.
async fn check_store(
    report: &mut Report,
    store: &StoreArgs,
    config: Option<&semel_policy::File>,
) -> Result<()> {
    let file = store.file();
    if !matches!(file, Ok(None)) {
        report.add("sqlite", file::sqlite());
    }
    let Some(file) = report.add("url", file.map(|file| (store.shown(), file))) else {
        return Ok(());
    };
    let may_be_new = config.is_some();
    let is_ready = match file {
        Some(path) => check_file(report, &path, may_be_new),
        None => !may_be_new || check_tables(report, store).await,
    };
    if is_ready && let Some(opened) = report.add("open", open(store).await) {
        check_opened(report, &opened).await;
        check_keys(report, &opened).await;
        if let Some(config) = config {
            check_versions(report, &opened, config, &store.option()).await;
            check_unserved(report, &opened, &serving::policies(config)?).await;
        }
        if let Some(inbox) = &opened.inbox {
            match ids::warnings(&**inbox).await {
                Ok(warnings) => report.warn("ids", warnings),
                Err(error) => drop(report.add::<()>("ids", Err(error))),
            }
        }
    }
    Ok(())
}

/// Whether there is a file to be opened.
fn check_file(report: &mut Report, path: &Path, may_be_new: bool) -> bool {
    if may_be_new && !path.exists() {
        report.add("file", file::new(path));
        return false;
    }
    report.add("file", file::existing(path)).is_some()
}

/// Whether there are tables to be read.
async fn check_tables(report: &mut Report, store: &StoreArgs) -> bool {
    match store.has_tables().await {
        Ok(true) => true,
        Ok(false) => {
            let found = "the database answers; it has no tables yet, semel serve creates them";
            report.add("open", Ok((found.to_owned(), ())));
            false
        }
        Err(error) => {
            report.add::<()>("open", Err(error));
            false
        }
    }
}

async fn check_opened(report: &mut Report, opened: &Opened) {
    match opened.notes().await {
        Ok(notes) => report.notes(notes),
        Err(error) => {
            report.add::<()>("server", Err(error));
            return;
        }
    }
    report.add("read", read(opened).await);
    report.add("write", write(opened).await);
    report.add("clock", clock::check(opened).await);
}

/// Names operations that are open under another version than the file's.
async fn check_versions(
    report: &mut Report,
    opened: &Opened,
    config: &semel_policy::File,
    option: &str,
) {
    match versions::check(config, &*opened.store, option).await {
        Ok(warnings) => report.warn("scope", warnings),
        Err(error) => drop(report.add::<()>("scope", Err(error))),
    }
}

/// Names messages that nothing would run.
async fn check_unserved(report: &mut Report, opened: &Opened, policies: &Policies) {
    let Some(inbox) = &opened.inbox else {
        return;
    };
    match inbox.counts().await {
        Ok(counts) => {
            let stranded = counts.iter().filter(|counts| policies.strands(counts));
            report.warn("inbox", stranded.map(serving::unserved).collect());
        }
        Err(error) => drop(report.add::<()>("inbox", Err(error.into()))),
    }
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(Exit::Configuration, message)
}

async fn open(store: &StoreArgs) -> Found<Opened> {
    let opened = store.open_existing().await?;
    Ok(("the schema is one that this semel knows".to_owned(), opened))
}

async fn read(opened: &Opened) -> Found {
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
async fn write(opened: &Opened) -> Found {
    let claim = Claim {
        identity: probe()?,
        fence: Fence::new(0),
    };
    let lease = LeaseTerm::default();
    opened
        .store
        .renew_one(RenewRequest { claim, lease })
        .await?;
    let found = match opened.is_served() {
        true => "a write went through and changed nothing",
        false => "the write lock was taken and given back",
    };
    Ok((found.to_owned(), ()))
}

fn probe() -> Result<Identity> {
    Ok(Identity::parse("public", "semel-check", "probe")?)
}
