//! `semel inbox edit`: runs a message again that failed or is parked, with another payload beside the original.

use semel_admin::messages::{Wanted, current, diff};
use semel_admin::view::inbox as view;
use semel_core::inbox::{Detail, Operation, Report};
use semel_core::{Identity, Key, Scope, Tenant};

use crate::commands::by::By;
use crate::commands::input;
use crate::commands::messages::{OpenInbox, command, not_found, reason};
use crate::error::{Error, Result};
use crate::{output, text};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose message: NAME or NAME@VERSION; no version means 1
    consumer: Scope,

    /// Its id
    id: Key,

    /// On whose behalf
    #[arg(long, default_value = "public")]
    tenant: Tenant,

    /// The file with the new payload, with or without @ in front; - reads it from stdin [default: the payload stays]
    #[arg(long, value_name = "@FILE")]
    payload: Option<String>,

    /// The new content type
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,

    /// A header that takes the place of those with its name, as NAME:VALUE; may be given many times
    #[arg(long, value_name = "NAME:VALUE", value_parser = input::header)]
    header: Vec<(String, String)>,

    /// Give the provider a new key: it may refuse other contents under the key that it knows, and may do once more what it did before
    #[arg(long)]
    new_key: bool,

    /// Why, for the audit
    #[arg(long, value_name = "WHY", value_parser = reason)]
    reason: String,

    #[command(flatten)]
    by: By,

    /// Only say what would change
    #[arg(long)]
    dry_run: bool,

    /// Write JSON: an object with `report`, `version`, `before_bytes`, `after_bytes` and `after_blake3`
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, open: &OpenInbox) -> Result<()> {
    let identity = Identity::new(args.tenant.clone(), args.consumer.clone(), args.id.clone());
    let wanted = args.wanted()?;
    let Some(detail) = open.inbox.message(identity.clone()).await? else {
        return Err(not_found(&identity, open));
    };
    let plan = open.policies.plan(&args.consumer);
    let said = (args.by.actor()?, args.reason.clone());
    let operation = wanted.operation(&detail, plan, said, "inbox edit");
    let mut operation = operation.map_err(|error| Error::refused(error.to_string()))?;
    operation.dry_run = args.dry_run;
    open.check_order(&operation).await?;
    let report = open.inbox.operate(operation.clone()).await?;
    if report.changed == 0 {
        return Err(unchanged(&detail, &report, open));
    }
    if args.json {
        return output::json(&view::EditReport::of(&report, &operation, &detail));
    }
    args.print(&detail, &operation)?;
    let look = command("inbox show", &identity, "--payload", open);
    output::hint(&format!("look at it: {look}"));
    Ok(())
}

impl Args {
    fn wanted(&self) -> Result<Wanted> {
        let payload = match &self.payload {
            Some(path) => {
                let path = path.strip_prefix('@').unwrap_or(path);
                Some(input::read(path.as_ref(), "payload")?.into())
            }
            None => None,
        };
        let kind = self.content_type.iter();
        let kind = kind.map(|kind| ("Content-Type".to_owned(), kind.clone()));
        let fields = self.header.iter().cloned().chain(kind);
        Ok(Wanted {
            payload,
            headers: fields.map(|(name, value)| (name, value.into())).collect(),
            new_key: self.new_key,
        })
    }

    fn print(&self, before: &Detail, operation: &Operation) -> Result<()> {
        let (Some((old, _)), Some(edit)) = (current(before), &operation.edit) else {
            return Ok(());
        };
        let new = edit.payload();
        if old == new {
            output::note("the payload stays as it is");
        } else {
            let differs = diff(old, new).unwrap_or_default();
            output::data(&text::printable(&differs))?;
            output::note(&format!(
                "{} become {}; the original is kept",
                text::bytes(old.len() as u64),
                text::bytes(new.len() as u64)
            ));
        }
        output::note(match self.dry_run {
            true => "it would run again with this; nothing was changed",
            false => "it runs again with this",
        });
        Ok(())
    }
}

fn unchanged(before: &Detail, report: &Report, open: &OpenInbox) -> Error {
    let entry = &before.entry;
    let why = match (report.waiting, report.settled, report.older) {
        (0, 0, 0) if report.matched == 0 => "it has changed since it was looked at",
        (0, 0, 0) => "an edit is for FAILED_RETRYABLE, FAILED_TERMINAL and PARKED",
        (0, 0, _) => "its lane has gone past this version",
        (0, ..) => "another door or an earlier attempt settled its record",
        _ => "it waits for others of its lane, and can be edited when they are done",
    };
    let message = format!(
        "{} is {}: {why}; nothing was changed",
        entry.identity,
        entry.state.name()
    );
    let look = command("inbox show", &entry.identity, "", open);
    Error::refused(message).hint(format!("look at it: {look}"))
}
