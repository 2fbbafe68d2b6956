//! `semel keys resolve`: an unknown operation happened, and this is its outcome.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::ArgGroup;
use semel_core::outcome::BODY_BYTES_MAX;
use semel_core::store::Resolution;
use semel_core::{Fence, Headers, Identity, Outcome, Record, Retention, duration};

use super::decide::{By, decide};
use super::late;
use super::release::must_be_unknown;
use super::standing::summary;
use super::target::Target;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::stores::{Opened, StoreArgs};
use crate::{output, text};

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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(100..=599))]
    status: Option<u16>,

    /// A header that duplicates get, as NAME:VALUE; may be given many times
    #[arg(long, value_name = "NAME:VALUE", value_parser = header)]
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
            (None, Some(path)) => read(path)?,
            (None, None) => Vec::new(),
        };
        // The store would keep only the digest, and that is not what was asked for.
        if body.len() > BODY_BYTES_MAX {
            let max = text::bytes(BODY_BYTES_MAX as u64);
            return Err(Error::refused(format!(
                "a body has at most {max}, found more"
            )));
        }
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

/// Reads a file up to one byte more than a body may have.
fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = BODY_BYTES_MAX as u64 + 1;
    let read = match path.as_os_str() == "-" {
        true => std::io::stdin().take(limit).read_to_end(&mut bytes),
        false => {
            std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
        }
    };
    let failed = |e| {
        Error::new(
            Exit::Io,
            format!("cannot read the body from {}: {e}", path.display()),
        )
    };
    read.map(|_| bytes).map_err(failed)
}

fn header(field: &str) -> Result<(String, String), String> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    match field.split_once(':') {
        Some((name, value))
            if !name.is_empty()
                && name.chars().all(is_token)
                && !value.contains(char::is_control) =>
        {
            Ok((name.to_owned(), value.trim().to_owned()))
        }
        _ => Err(format!("a header is written NAME:VALUE, found {field:?}")),
    }
}

fn retention(text: &str) -> semel_core::Result<Retention> {
    Retention::delete_after(duration::parse(text)?)
}
