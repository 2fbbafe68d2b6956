//! `semel inbox show`: everything about one message. Payloads are private: shown only if asked for.

mod contents;
mod history;
mod standing;

use semel_admin::view::{self, Payload};
use semel_core::inbox::{Cause, Detail, State};
use semel_core::{Identity, Key, Scope, Tenant, Timestamp};

use crate::commands::messages::{OpenInbox, command, not_found};
use crate::error::Result;
use crate::output::{self, fields};
use crate::text;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose message: NAME or NAME@VERSION; no version means 1
    consumer: Scope,

    /// Its id
    id: Key,

    /// On whose behalf
    #[arg(long, default_value = "public")]
    tenant: Tenant,

    /// Show the payload, header values, the outcome and the results of steps, which may be private
    #[arg(long)]
    payload: bool,

    /// Show what the handler answered to attempts that failed, which may hold personal data
    #[arg(long)]
    answers: bool,

    /// Write JSON: an object with `message`, `arrived`, `outcome`, `timeline`, `attempts` and `steps`
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, open: &OpenInbox) -> Result<()> {
    let identity = Identity::new(args.tenant.clone(), args.consumer.clone(), args.id.clone());
    let Some(detail) = open.inbox.message(identity.clone()).await? else {
        return Err(not_found(&identity, open));
    };
    let now = open.now();
    if args.json {
        let shown = |wanted| match wanted {
            true => Payload::Shown,
            false => Payload::Hidden,
        };
        let (payload, answers) = (shown(args.payload), shown(args.answers));
        return output::json(&view::inbox::Detail::of(&detail, payload, answers, now));
    }
    output::data(&text_of(&detail, args, now))?;
    if let Some(hint) = next_steps(&detail, open) {
        output::hint(&hint);
    }
    Ok(())
}

/// What an operator can do about a message that waits for a decision.
fn next_steps(detail: &Detail, open: &OpenInbox) -> Option<String> {
    let entry = &detail.entry;
    let mend = command(
        "inbox edit",
        &entry.identity,
        "--payload @FILE --reason WHY",
        open,
    );
    let command = |verb| command(verb, &entry.identity, "", open);
    let consumer = text::word(&entry.identity.scope().to_string());
    match (entry.state, entry.cause) {
        (State::Parked, Some(Cause::Gap | Cause::GapExpired)) => Some(format!(
            "it goes on by itself when the missing versions are there\n\
             which are missing:    semel inbox gaps {consumer}{}\n\
             go on without them:   {}\n\
             never run it:         {}",
            open.option(),
            command("inbox unpark"),
            command("inbox skip"),
        )),
        (State::Parked, Some(Cause::BehindFailed)) => Some(format!(
            "it goes on by itself when the message in front of it is dealt with\n\
             what is in front:     semel dlq list {consumer}{}{}\n\
             go on without it:     {}",
            entry.lane.as_ref().map_or(String::new(), |lane| format!(
                " --key {}",
                text::word(lane.as_str())
            )),
            open.option(),
            command("inbox unpark"),
        )),
        (State::Parked | State::FailedTerminal, _) => Some(format!(
            "nothing runs this until an operator decides\n\
             run it again:   {}\n\
             mend it first:  {mend}\n\
             never run it:   {}",
            command("inbox retry"),
            command("inbox skip"),
        )),
        _ => None,
    }
}

fn text_of(detail: &Detail, args: &Args, now: Timestamp) -> String {
    let payload = args.payload;
    let mut text = format!("{}\n", detail.entry.identity);
    text += &fields(&standing::fields(detail, now));
    text += "\ntimeline\n";
    text += &history::timeline(&detail.timeline());
    if !detail.attempts.is_empty() {
        text += "\nattempts that did not complete\n";
        text += &history::attempts(&detail.attempts, args.answers);
    }
    if !detail.steps.is_empty() {
        text += "\nsteps that are done\n";
        let width = detail.steps.iter().map(|step| step.name.len());
        let width = width.max().unwrap_or(0);
        for step in &detail.steps {
            let size = text::bytes(step.result.len() as u64);
            text += &format!("  {:width$}  {size}\n", text::printable(&step.name));
            if payload {
                text += &contents::indented(&step.result, 4);
            }
        }
    }
    if payload {
        text += &contents::private(detail);
    }
    text
}
