//! `semel keys resolve`: an unknown operation happened, and this is its outcome.

use std::path::PathBuf;

use clap::ArgGroup;
use semel_core::store::Resolution;
use semel_core::{Fence, Headers, Identity, Outcome, Record, Retention, duration};

use super::decide::decide;
use super::late;
use super::release::must_be_unknown;
use super::standing::summary;
use super::target::Target;
use crate::commands::by::By;
use crate::commands::input;
use crate::error::Result;
use crate::output;
use crate::stores::{Opened, StoreArgs};

#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("verdict").args(["succeeded", "failed", "late"]).required(true))]
pub(crate) struct Args {
    #[command(flatten)]
    target: Target,

    /// It did what was asked
    #[arg(long)]
    succeeded: bool,

    /// It failed, and trying again would not change that
    #[arg(long)]
    failed: bool,

    /// It brought the late outcome in its history; a fence says which, if there are several
    #[arg(long, value_name = "FENCE", num_args = 0..=1, require_equals = true,
          conflicts_with_all = ["status", "header", "body", "body_file"])]
    late: Option<Option<u64>>,

    /// The HTTP status that duplicates get
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(200..=599))]
    status: Option<u16>,

    /// A header that duplicates get, as NAME:VALUE; may be given many times
    #[arg(long, value_name = "NAME:VALUE", value_parser = input::header)]
    header: Vec<(String, String)>,

    /// The body that duplicates get
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,

    /// The file with the body that duplicates get; - reads it from stdin
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    body_file: Option<PathBuf>,

    /// How long the outcome is kept
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = retention)]
    retention: Retention,

    #[command(flatten)]
    by: By,
}

pub(crate) async fn run(args: &Args, store: &StoreArgs) -> Result<()> {
    let opened = store.open_existing().await?;
    let record = args.target.find(&opened, store).await?;
    must_be_unknown(&record, opened.now(), "resolved", store)?;
    let outcome = match args.late {
        Some(fence) => adopted(&opened, &record, fence.map(Fence::new)).await?,
        None => args.outcome()?,
    };
    let said = said(&record.identity, &outcome, args.retention);
    let retention = args.retention;
    let resolution = Resolution::Settle { outcome, retention };
    decide(&opened, store, &record, &args.by, resolution).await?;
    output::note(&said);
    Ok(())
}

fn said(identity: &Identity, outcome: &Outcome, retention: Retention) -> String {
    format!(
        "resolved {identity}: duplicates get this outcome for {} ({})",
        duration::show(retention.keep()),
        summary(outcome)
    )
}

async fn adopted(opened: &Opened, record: &Record, asked: Option<Fence>) -> Result<Outcome> {
    let history = opened.store.history(record.identity.clone()).await?;
    late::choose(asked, record.fence, &history).cloned()
}

impl Args {
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
