//! `semel inbox send`: receives one message, for scripts and for trying things out.

use std::path::PathBuf;

use semel_core::inbox::{Arrivals, Message, Receipt, State};
use semel_core::{Key, Scope, Tenant};
use semel_inbox::Consumer;
use semel_inbox::Rule;
use semel_inbox::source::Raw;
use serde::Serialize;

use crate::commands::input;
use crate::commands::messages::{OpenInbox, command};
use crate::error::{Error, Result};
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// To whom: NAME or NAME@VERSION; no version means 1
    consumer: Scope,

    /// Its id: the same id is the same message
    #[arg(long)]
    id: Key,

    /// What kind of event it is
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,

    /// The key that orders it among others: its lane
    #[arg(long, value_name = "LANE", alias = "lane")]
    key: Option<Key>,

    /// Its number in its lane
    #[arg(long, value_name = "N", requires = "key")]
    sequence: Option<u64>,

    /// A header, as NAME:VALUE; may be given many times
    #[arg(long, value_name = "NAME:VALUE", value_parser = input::header)]
    header: Vec<(String, String)>,

    /// On whose behalf
    #[arg(long, default_value = "public")]
    tenant: Tenant,

    /// The file with its payload; - reads it from stdin
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,

    /// The consumer may be one that neither a file nor the store has named so far
    #[arg(long)]
    new_consumer: bool,

    /// Write JSON: an object with `receipt` and `state`
    #[arg(long)]
    json: bool,
}

/// What became of the message.
#[derive(Debug, Serialize)]
struct Answer {
    receipt: &'static str,
    state: &'static str,
}

pub(crate) async fn run(args: &Args, open: &OpenInbox) -> Result<()> {
    if !args.new_consumer {
        open.must_take(&args.consumer).await?;
    }
    let (consumer, rule) = open.consumer(&args.consumer)?;
    let message = args.message(&consumer, &rule)?;
    let identity = message.identity().clone();
    let arrivals = Arrivals {
        plan: consumer.plan,
        messages: vec![message.clone()],
        positions: Vec::new(),
    };
    let receipts = open.inbox.receive(arrivals).await?;
    let receipt = *receipts.first().expect("one message has one receipt");
    if args.json {
        output::json(&answer(receipt))?;
    }
    match receipt {
        Receipt::Stored { state } => output::note(&format!("{identity}: {}", state.name())),
        Receipt::Duplicate { state, .. } => output::note(&format!(
            "{identity} was there already, and is {}; nothing was stored",
            state.name()
        )),
        Receipt::Conflict => {
            let beside = message.as_conflict();
            let message = format!(
                "{identity} was there already with another payload; this one is parked beside it"
            );
            let look = command("inbox show", beside.identity(), "", open);
            return Err(Error::refused(message).hint(format!("look at it: {look}")));
        }
    }
    Ok(())
}

const fn answer(receipt: Receipt) -> Answer {
    let (receipt, state) = match receipt {
        Receipt::Stored { state } => ("stored", state),
        Receipt::Duplicate { state, .. } => ("duplicate", state),
        Receipt::Conflict => ("conflict", State::Parked),
    };
    Answer {
        receipt,
        state: state.name(),
    }
}

impl Args {
    /// The message as it would be if it came by another door: with the fingerprint and the demands of its consumer.
    fn message(&self, consumer: &Consumer, rule: &Rule) -> Result<Message> {
        let fields = self.header.iter().cloned();
        let raw = Raw {
            id: Some(self.id.to_string()),
            tenant: Some(self.tenant.to_string()),
            kind: self.kind.clone(),
            lane: self.key.as_ref().map(Key::to_string),
            sequence: self.sequence,
            headers: fields
                .map(|(name, value)| (name, Some(value.into())))
                .collect(),
            payload: Some(input::read(&self.file, "payload")?.into()),
            ..Raw::default()
        };
        // What is said on the command line is not looked for elsewhere.
        let said = Rule {
            compare: rule.compare,
            ..Rule::default()
        };
        let message = said.message(consumer, &raw);
        message.map_err(|refusal| Error::refused(refusal.to_string()))
    }
}
