//! `semel encryption`: the data keys of tenants, wrapped anew or destroyed.

use clap::Subcommand;
use semel_core::store::Reason;
use semel_core::{Tenant, cache, duration};
use semel_seal::{Erased, RETIRES_FOR, Rotated, When};
use serde_json::json;

use crate::commands::by::By;
use crate::discovery::ConfigArg;
use crate::error::{Error, Result};
use crate::output;
use crate::stores::StoreArgs;
use crate::text;

/// How many records one step looks at.
const STEP: usize = 500;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Wrap the data keys of all tenants under the first key of encryption.keys, so that the others can go
    Rotate(RotateArgs),
    /// Destroy the data key of a tenant: all that was sealed under it is unreadable for good
    Erase(EraseArgs),
}

/// What a rotation prints.
#[derive(Debug, clap::Args)]
pub(crate) struct RotateArgs {
    /// Write JSON: an object with `tenants`, `wrapped`, `pending` and `locked`
    #[arg(long)]
    json: bool,

    /// Why, for the audit
    #[arg(long, value_name = "WHY", value_parser = reason)]
    reason: Option<Reason>,

    #[command(flatten)]
    by: By,
}

/// Whose key is destroyed, and why.
#[derive(Debug, clap::Args)]
pub(crate) struct EraseArgs {
    /// Whose key
    #[arg(long, value_name = "TENANT")]
    tenant: Tenant,

    /// Why, for the audit
    #[arg(long, value_name = "WHY", value_parser = reason)]
    reason: Reason,

    /// Do not ask
    #[arg(long)]
    yes: bool,

    /// Do not wait until no process seals under the key any more: only if none is running
    #[arg(long)]
    now: bool,

    #[command(flatten)]
    by: By,
}

fn reason(text: &str) -> semel_core::Result<Reason> {
    Reason::new(text)
}

pub(crate) async fn run(command: &Command, store: StoreArgs, config: &ConfigArg) -> Result<()> {
    let file = config.load()?;
    let store = config.announced(store, file.as_ref());
    match command {
        Command::Rotate(args) => rotate(args, &store).await,
        Command::Erase(args) => erase(args, &store).await,
    }
}

/// Step by step; a rotation that breaks off is begun again, and what is done already costs a look.
async fn rotate(args: &RotateArgs, store: &StoreArgs) -> Result<()> {
    let opened = store.open_existing().await?;
    let keys = opened.keys();
    let Some(first) = keys.keks().first().map(|kek| kek.id().to_owned()) else {
        let message = "there is no key to wrap with: the configuration file has no encryption.keys";
        return Err(Error::refused(message).hint("name the file with --config"));
    };
    // Before the first step, so that one that breaks off is in the audit, too.
    let by = args.by.actor()?;
    keys.note_rotation(&by, args.reason.as_ref()).await?;
    let mut all = Rotated::default();
    loop {
        let step = keys.rotate(all.next.take(), STEP).await?;
        all.tenants += step.tenants;
        all.wrapped += step.wrapped;
        all.pending += step.pending;
        all.locked.extend(step.locked);
        all.next = step.next;
        if all.next.is_none() {
            break;
        }
    }
    let locked: Vec<_> = all.locked.iter().map(Tenant::as_str).collect();
    if args.json {
        let said = json!({
            "tenants": all.tenants,
            "wrapped": all.wrapped,
            "pending": all.pending,
            "locked": locked,
        });
        output::json(&said)?;
    } else {
        let tenants = text::plural(all.tenants as u64, "tenant", "tenants");
        let wrapped = all.wrapped;
        output::data(&format!("{tenants}, {wrapped} wrapped anew under {first}"))?;
    }
    match locked.first() {
        None if all.pending > 0 => {
            let count = text::plural(all.pending as u64, "data key", "data keys");
            let message = format!("another process changed {count} at the same moment");
            Err(Error::refused(message).hint("run the command again before the old key goes"))
        }
        None => Ok(()),
        Some(tenant) => {
            let count = text::plural(locked.len() as u64, "tenant", "tenants");
            let message =
                format!("the data keys of {count} cannot be unwrapped, {tenant} among them");
            Err(Error::refused(message).hint("keep the key that wraps them in encryption.keys"))
        }
    }
}

async fn erase(args: &EraseArgs, store: &StoreArgs) -> Result<()> {
    let opened = store.open_existing().await?;
    let (tenant, by) = (&args.tenant, args.by.actor()?);
    if !args.yes {
        confirm(tenant)?;
    }
    let when = match args.now {
        true => When::Now,
        false => {
            let wait = duration::show(RETIRES_FOR);
            output::note(&format!(
                "a data key retires for {wait} before it is destroyed, so that no process seals under it any more"
            ));
            When::Retired
        }
    };
    match opened.keys().erase(tenant, &by, &args.reason, when).await? {
        Erased::NoKey => {
            let message = format!("tenant {tenant} has no data key: nothing of it is sealed");
            Err(Error::refused(message))
        }
        Erased::Forgotten { within } => {
            output::note(&format!(
                "destroyed the data key of {tenant}: all that was sealed under it is unreadable, and its records go on suppressing duplicates"
            ));
            let within = duration::show(within + cache::AGE_MAX);
            output::note(&format!(
                "processes that run forget the key within {within}; what was stored plain before encryption is still there"
            ));
            Ok(())
        }
    }
}

fn confirm(tenant: &Tenant) -> Result<()> {
    let question = format!(
        "Destroy the data key of {tenant}? Bodies, headers and payloads that were sealed under it are unreadable for good, \
         here and in backups, and its messages that have not run will not run."
    );
    match output::ask(&question) {
        Some(true) => Ok(()),
        Some(false) => Err(Error::refused("not confirmed; nothing was changed")),
        None => Err(Error::refused(
            "destroying a data key needs a yes, and there is no terminal to ask on; nothing was changed",
        )
        .hint("add --yes if you are sure")),
    }
}
