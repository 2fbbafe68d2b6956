//! `semel keys resolve`: an unknown operation happened, and this is its outcome; or many have.

use std::path::PathBuf;

use clap::ArgGroup;
use semel_core::store::Resolution;
use semel_core::{Fence, Headers, Outcome, Record, Retention, State, duration};

use super::decide::{Decider, caches_forget_in, decide};
use super::late;
use super::many::Many;
use super::release::must_be_unknown;
use super::standing::{clause, replayed};
use super::target;
use super::which::Which;
use crate::commands::input;
use crate::error::{Error, Result};
use crate::stores::{Opened, StoreArgs};
use crate::{output, text};

#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("verdict").args(["succeeded", "failed", "late"]).required(true))]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,

    /// It did what was asked
    #[arg(long)]
    succeeded: bool,

    /// It failed, and trying again would not change that
    #[arg(long)]
    failed: bool,

    /// It brought the late outcome in its history; a fence says which, if there are several
    #[arg(long, value_name = "FENCE", num_args = 0..=1, require_equals = true,
          conflicts_with_all = ["status", "header", "body", "body_file", "all"])]
    late: Option<Option<u64>>,

    /// Correct the outcome that an earlier decision put on record; it is kept as long as that one
    #[arg(long, conflicts_with_all = ["all", "retention"])]
    correct: bool,

    /// The HTTP status that duplicates get [default: 200 with --succeeded, 500 with --failed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(200..=599))]
    status: Option<u16>,

    /// A header that duplicates get, as NAME:VALUE; may be given many times
    #[arg(long, value_name = "NAME:VALUE", value_parser = input::header)]
    header: Vec<(String, String)>,

    /// The body that duplicates get [default: an empty one]
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,

    /// The file with the body that duplicates get; - reads it from stdin
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    body_file: Option<PathBuf>,

    /// How long the outcome is kept
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = retention)]
    retention: Retention,

    #[command(flatten)]
    decider: Decider,
}

pub(crate) async fn run(args: &Args, store: &StoreArgs) -> Result<()> {
    let opened = store.open_existing().await?;
    let Some(target) = args.which.one() else {
        let many = Many {
            which: &args.which,
            decider: &args.decider,
            resolution: args.settle(args.outcome()?),
            options: args.options(),
        };
        return many.run(&opened, store).await;
    };
    let record = target.find(&opened, store).await?;
    match args.correct {
        true => must_be_decided(&record, &opened, store)?,
        false => must_be_unknown(&record, opened.now(), "resolved", store)?,
    }
    let outcome = match args.late {
        Some(fence) => adopted(&opened, &record, fence.map(Fence::new)).await?,
        None => args.outcome()?,
    };
    if args.says_little() && !args.which.yes {
        confirm(&record, &outcome, &opened)?;
    }
    let said = args.said(&record, &outcome);
    let resolution = match args.correct {
        true => Resolution::Correct { outcome },
        false => args.settle(outcome),
    };
    decide(&opened, store, &record, &args.decider, resolution).await?;
    output::note(&said);
    if args.correct {
        output::note(&caches_forget_in());
    }
    Ok(())
}

/// Refuses to correct what no decision put on record.
fn must_be_decided(record: &Record, opened: &Opened, store: &StoreArgs) -> Result<()> {
    let identity = &record.identity;
    let refused = |why: &str| {
        let standing = clause(record, opened.now());
        Error::refused(format!("{identity} {standing}; {why}"))
    };
    let command = |verb, options| target::command(verb, identity, options, store);
    match &record.state {
        State::Settled(settled) if settled.resolved => Ok(()),
        State::Settled(_) => Err(refused(
            "the run itself put that on record, and only what a person decided can be corrected",
        )
        .hint(format!("to forget it: {}", command("purge", "")))),
        State::Running { .. } => Err(refused("there is nothing to correct yet")),
        State::Unknown { .. } => Err(refused("there is no outcome to correct yet").hint(format!(
            "leave out --correct: {}",
            command("resolve", "--succeeded")
        ))),
    }
}

/// An outcome that says little may not be what clients can read, so a person has seen what they will get.
fn confirm(record: &Record, outcome: &Outcome, opened: &Opened) -> Result<()> {
    let (identity, standing) = (&record.identity, clause(record, opened.now()));
    let get = replayed(outcome);
    let question =
        format!("{identity} {standing}.\nFrom now on duplicates get {get}. Put that on record?");
    match output::ask(&question) {
        Some(true) => Ok(()),
        Some(false) => Err(Error::refused("not confirmed; nothing was changed")),
        None => Err(Error::refused(format!(
            "without --status and --body duplicates get {get}; that needs a yes, and there is no \
             terminal to ask on; nothing was changed"
        ))
        .hint("say what clients get with --status and --body, or add --yes")),
    }
}

async fn adopted(opened: &Opened, record: &Record, asked: Option<Fence>) -> Result<Outcome> {
    let history = opened.store.history(record.identity.clone()).await?;
    late::choose(asked, record.fence, &history).cloned()
}

impl Args {
    const fn settle(&self, outcome: Outcome) -> Resolution {
        let retention = self.retention;
        Resolution::Settle { outcome, retention }
    }

    /// Whether neither a status nor a body was named.
    const fn says_little(&self) -> bool {
        self.late.is_none()
            && self.status.is_none()
            && self.body.is_none()
            && self.body_file.is_none()
    }

    fn said(&self, record: &Record, outcome: &Outcome) -> String {
        let (identity, get) = (&record.identity, replayed(outcome));
        let verdict = outcome.verdict.name();
        match &record.state {
            State::Settled(settled) => format!(
                "corrected {identity} as {verdict}: duplicates get {get}, until {}",
                settled.expires_at
            ),
            State::Running { .. } | State::Unknown { .. } => format!(
                "resolved {identity} as {verdict}: duplicates get {get}, for {}",
                duration::show(self.retention.keep())
            ),
        }
    }

    /// The options about the outcome, to be handed on.
    fn options(&self) -> String {
        let mut options = match self.failed {
            true => " --failed".to_owned(),
            false => " --succeeded".to_owned(),
        };
        let mut add = |name: &str, value: &str| {
            options += &format!(" --{name} {}", text::word(value));
        };
        if let Some(status) = self.status {
            add("status", &status.to_string());
        }
        for (name, value) in &self.header {
            add("header", &format!("{name}:{value}"));
        }
        if let Some(body) = &self.body {
            add("body", body);
        }
        if let Some(file) = &self.body_file {
            add("body-file", &file.to_string_lossy());
        }
        if self.retention != Retention::default() {
            add(
                "retention",
                &format!("{}ms", self.retention.keep().as_millis()),
            );
        }
        options
    }

    fn outcome(&self) -> Result<Outcome> {
        let body = match (&self.body, &self.body_file) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(path)) => input::read(path, "body")?,
            (None, None) => Vec::new(),
        };
        // Of more, the store would keep only the digest, and that is not what was asked for.
        let body = input::fits(body, "body")?;
        let mut outcome = match self.failed {
            true => Outcome::failed(body),
            false => Outcome::succeeded(body),
        };
        let fields = self.header.iter().cloned();
        outcome.status = self.status.unwrap_or(0);
        outcome.headers = Headers::new(fields.map(|(name, value)| (name, value.into())).collect())?;
        Ok(outcome)
    }
}

fn retention(text: &str) -> semel_core::Result<Retention> {
    Retention::delete_after(duration::parse(text)?)
}
