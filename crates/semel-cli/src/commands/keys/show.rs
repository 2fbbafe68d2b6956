//! `semel keys show`: everything about one record. Payloads are private: shown only if asked for.

use semel_admin::records::late::candidates;
use semel_admin::view::{self, Payload, status};
use semel_core::outcome::Settled;
use semel_core::{Body, Event, Identity, Outcome, Record, State, Timestamp, duration};
use semel_http::trace;

use super::find::{self, Absent, Found};
use super::history;
use super::missing::{self, Matches};
use super::standing::{summary, why};
use super::target::{self, Target};
use crate::error::Result;
use crate::output::{self, fields};
use crate::stores::{Opened, StoreArgs};
use crate::text;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: Target,

    /// Show header values and bodies, which may be private
    #[arg(long)]
    body: bool,

    /// Write JSON: an object with `record`, `outcome` and `history`, or with `matches` if there are several records
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, store: &StoreArgs) -> Result<()> {
    let opened = store.open_existing().await?;
    match find::search(&opened, &args.target).await? {
        Found::One(record) => args.one(&opened, store, &record).await,
        Found::Several(records) => args.several(&opened, store, &records),
        Found::Absent(absent) => args.absent(&opened, store, &absent),
    }
}

impl Args {
    async fn one(&self, opened: &Opened, store: &StoreArgs, record: &Record) -> Result<()> {
        let history = opened.store.history(record.identity.clone()).await?;
        self.print(&record.identity, Some(record), &history, opened)?;
        if let State::Unknown { .. } = record.state {
            output::hint(&next_steps(record, &history, store));
        }
        Ok(())
    }

    fn several(&self, opened: &Opened, store: &StoreArgs, records: &[Record]) -> Result<()> {
        let now = opened.now();
        match self.json {
            true => output::json(&Matches::of(records, now))?,
            false => missing::table(records, now).print()?,
        }
        Err(missing::show_which(&self.target, records, store))
    }

    /// An operation that is absent may still have a history to show.
    fn absent(&self, opened: &Opened, store: &StoreArgs, absent: &Absent) -> Result<()> {
        let now = opened.now();
        match (absent.past.as_slice(), self.json) {
            ([(identity, history)], _) => self.print(identity, None, history, opened)?,
            (_, true) => output::json(&Matches::none(absent, now))?,
            (_, false) => {}
        }
        Err(missing::not_found(&self.target, absent, store, now))
    }

    fn print(
        &self,
        identity: &Identity,
        record: Option<&Record>,
        history: &[Event],
        opened: &Opened,
    ) -> Result<()> {
        let seen = Seen {
            identity,
            record,
            history,
            payload: match self.body {
                true => Payload::Shown,
                false => Payload::Hidden,
            },
            now: opened.now(),
        };
        match self.json {
            true => output::json(&seen.json()),
            false => output::data(&seen.text()),
        }
    }
}

/// What an operator can do about an unknown record.
fn next_steps(record: &Record, history: &[Event], store: &StoreArgs) -> String {
    let command = |verb, options| target::command(verb, &record.identity, options, store);
    let mut text = format!(
        "unless its scope is set to rerun or to reconcile, it does not run again until it is decided\n\
         it did not happen:      {}\n\
         it did happen:          {}",
        command("release", ""),
        command("resolve", "--succeeded"),
    );
    if !candidates(record.fence, history).is_empty() {
        text += &format!("\ntake the late outcome:  {}", command("resolve", "--late"));
    }
    text
}

/// What the store says about an identity.
struct Seen<'a> {
    identity: &'a Identity,
    record: Option<&'a Record>,
    history: &'a [Event],
    payload: Payload,
    now: Timestamp,
}

impl Seen<'_> {
    fn json(&self) -> view::Seen {
        view::Seen::of(self.record, self.history, self.payload, self.now)
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", self.identity);
        match self.record {
            Some(record) => text += &fields(&self.standing(record)),
            None => text += &fields(&[("state", "absent: the next request runs".to_owned())]),
        }
        if let Some(settled) = self.record.and_then(settled) {
            text += "\noutcome\n";
            text += &self.outcome(&settled.outcome);
        }
        if !self.history.is_empty() {
            text += "\nhistory\n";
            text += &history::lines(self.history);
        }
        if self.payload == Payload::Shown {
            text += &self.late_payloads();
        }
        text
    }

    fn standing(&self, record: &Record) -> Vec<(&'static str, String)> {
        let moment = |at| text::moment(at, self.now);
        let mut fields = vec![("state", record.state.name().to_owned())];
        let about = record.about.as_ref();
        fields.extend(about.map(|about| ("request", text::printable(about.as_str()))));
        match &record.state {
            State::Running { lease_until } => fields.push(("lease until", moment(*lease_until))),
            State::Unknown {
                since,
                cause,
                evidence,
            } => {
                fields.push(("because", why(*cause, evidence.as_ref())));
                fields.push(("since", moment(*since)));
            }
            State::Settled(settled) => {
                fields.push(("settled", moment(settled.at)));
                let then = if settled.archive {
                    "archived"
                } else {
                    "deleted"
                };
                fields.push((
                    "kept until",
                    format!("{}, then {then}", moment(settled.expires_at)),
                ));
                if settled.resolved {
                    let correct = "by a decision, which `semel keys resolve --correct` corrects";
                    fields.push(("decided", correct.to_owned()));
                }
                if settled.erased {
                    let erased = "on request: headers, the body, and what was asked; duplicates get the status";
                    fields.push(("erased", erased.to_owned()));
                }
                // What a person resolved took no time that anybody measured.
                if !settled.took.is_zero() {
                    fields.push(("took", duration::show(settled.took)));
                }
            }
        }
        fields.extend([
            ("claimed", moment(record.claimed_at)),
            ("attempt", record.attempt.to_string()),
            ("fence", record.fence.to_string()),
            ("fingerprint", text::hex(record.fingerprint.as_bytes())),
        ]);
        fields
    }

    fn outcome(&self, outcome: &Outcome) -> String {
        let mut found = vec![("verdict", outcome.verdict.name().to_owned())];
        found.extend(status(outcome).map(|status| ("status", status.to_string())));
        let names: Vec<_> = trace::answered_with(&outcome.headers)
            .map(|(name, _)| text::printable(name))
            .collect();
        if self.payload == Payload::Hidden && !names.is_empty() {
            found.push(("headers", names.join(", ")));
        }
        let ran = trace::ran_by(&outcome.headers);
        found.extend(ran.map(|ran| ("trace", ran.to_string())));
        let kept = match outcome.body {
            Body::Kept(_) => "",
            Body::Omitted { .. } => " (not kept)",
        };
        found.push(("body", format!("{}{kept}", text::bytes(outcome.body.len()))));
        let digest = outcome.body.digest().map(|digest| text::hex(&digest));
        found.extend(digest.map(|digest| ("blake3", digest)));
        let mut text = fields(&found);
        if self.payload == Payload::Shown {
            text += &payload(outcome);
        }
        text
    }

    fn late_payloads(&self) -> String {
        let late = self.history.iter().filter_map(|event| match &event.kind {
            semel_core::EventKind::LateOutcome(outcome) => Some((event, outcome)),
            _ => None,
        });
        late.map(|(event, outcome)| {
            format!(
                "\nlate outcome of fence {}: {}\n{}",
                event.fence,
                summary(outcome),
                payload(outcome)
            )
        })
        .collect()
    }
}

/// Header values and the body, as text where they are text.
fn payload(outcome: &Outcome) -> String {
    let mut text = String::new();
    let mut headers = trace::answered_with(&outcome.headers).peekable();
    if headers.peek().is_some() {
        text += "\n";
    }
    for (name, value) in headers {
        let (name, value) = (text::printable(name), String::from_utf8_lossy(value));
        text += &format!("  {name}: {}\n", text::printable(&value));
    }
    let Some(bytes) = outcome.body.kept().filter(|bytes| !bytes.is_empty()) else {
        return text;
    };
    let body = match std::str::from_utf8(bytes) {
        Ok(body) => text::printable(body),
        Err(_) => format!(
            "({} that are not text; --json writes them in hexadecimal)",
            text::bytes(bytes.len() as u64)
        ),
    };
    let indented = body.lines().map(|line| format!("  {line}\n"));
    text + "\n" + &indented.collect::<String>()
}

const fn settled(record: &Record) -> Option<&Settled> {
    match &record.state {
        State::Settled(settled) => Some(settled),
        State::Running { .. } | State::Unknown { .. } => None,
    }
}
