//! `semel keys erase`: the contents of a record, or of many, go; the records stay.

use clap::ArgGroup;
use semel_admin::When;
use semel_admin::records::{self, Decision, Report, Selection};
use semel_admin::view;
use semel_core::store::{Resolution, StateFilter};
use semel_core::{Key, Record, State, Timestamp};

use super::decide::{Decider, caches_forget_in, decide};
use super::find::{self, Found};
use super::list;
use super::missing;
use super::standing::clause;
use super::target::{Target, Within};
use super::which;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::stores::{Opened, StoreArgs};
use crate::{output, text};

/// The most calls of one command; each erases the contents of a thousand records at most.
const CALLS_MAX: usize = 100_000;

#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("which").args(["key", "all"]).required(true))]
pub(crate) struct Args {
    /// The key, as the caller sent it
    key: Option<Key>,

    #[command(flatten)]
    within: Within,

    /// Of all settled and archived records that the filters leave; without --yes this only says which
    #[arg(long)]
    all: bool,

    /// With --all: only what was settled so long ago, such as 30d, or before a moment (RFC 3339)
    #[arg(
        long,
        value_name = "DURATION",
        requires = "all",
        conflicts_with = "key"
    )]
    older_than: Option<When>,

    /// With --all: only say what would be erased, which is so without --yes, too
    #[arg(long, requires = "all", conflicts_with_all = ["yes", "key"])]
    dry_run: bool,

    /// Do it without asking
    #[arg(long)]
    yes: bool,

    /// With --all: write the counts as JSON
    #[arg(long, requires = "all", conflicts_with = "key")]
    json: bool,

    #[command(flatten)]
    decider: Decider,
}

pub(crate) async fn run(args: &Args, store: &StoreArgs) -> Result<()> {
    let opened = store.open_existing().await?;
    match args.key.clone() {
        Some(key) => {
            let within = args.within.clone();
            args.one(&Target { key, within }, &opened, store).await
        }
        None => args.many(&opened, store).await,
    }
}

impl Args {
    async fn one(&self, target: &Target, opened: &Opened, store: &StoreArgs) -> Result<()> {
        let (current, archived) = match find::search(opened, target).await? {
            Found::Absent(absent) if !absent.archived.is_empty() => {
                let archived = find::all_archived(opened, target).await?;
                missing::must_be_of_one(target, &archived, opened.now())?;
                (None, archived)
            }
            _ => {
                let record = target.find(opened, store).await?;
                must_be_settled(&record, opened)?;
                let archived = find::all_archived(opened, &Target::of(&record.identity)).await?;
                (Some(record), archived)
            }
        };
        let records: Vec<&Record> = current.as_deref().into_iter().chain(&archived).collect();
        if !self.yes {
            confirm(&records, opened.now())?;
        }
        for record in &records {
            let resolution = Resolution::EraseContents;
            decide(opened, store, record, &self.decider, resolution).await?;
            let (identity, fence) = (&record.identity, record.fence);
            output::note(&format!("erased the contents of {identity}, fence {fence}"));
        }
        if current.is_some() {
            output::note("duplicates get the status without a body");
            output::note(&caches_forget_in());
        }
        Ok(())
    }

    fn selection(&self, now: Timestamp) -> Selection {
        let until = self.older_than.map_or(now, |when| when.at(now));
        Selection {
            state: StateFilter::Settled,
            tenant: self.within.tenant.clone(),
            scope: self.within.scope.clone(),
            key: None,
            method: None,
            until: until.min(now),
        }
    }

    const fn is_dry(&self) -> bool {
        self.dry_run || !self.yes
    }

    async fn many(&self, opened: &Opened, store: &StoreArgs) -> Result<()> {
        let selection = self.selection(opened.now());
        let decision = match self.is_dry() {
            true => None,
            false => Some(self.decision()?),
        };
        let report = all(opened, &selection, decision.as_ref()).await?;
        if self.json {
            let at = (selection.until, opened.now());
            return output::json(&view::Many::of(&report, "erase", self.is_dry(), at));
        }
        match (report.matched, self.is_dry()) {
            (0, _) => output::note("no settled or archived record with contents matches"),
            (_, true) => self.forecast(&report, &selection, opened, store)?,
            (_, false) => output::data(&text::counted(&[
                ("erased", report.changed, ""),
                ("left alone", report.refused, "they changed in the meantime"),
            ]))?,
        }
        if report.next.is_some() {
            output::hint("there are more; run the command again");
        }
        self.say_what_stays(report.unsettled, store);
        Ok(())
    }

    /// Records without an outcome are not erased, and those past their retention are in no list.
    fn say_what_stays(&self, unsettled: u64, store: &StoreArgs) {
        let (within, store) = (which::places(&self.within), store.option());
        if unsettled > 0 {
            let (count, verb) = match unsettled {
                1 => ("1 record is".to_owned(), "keeps what it holds"),
                many => (
                    format!("{} records are", text::count(many)),
                    "keep what they hold",
                ),
            };
            output::note(&format!("{count} running or unknown, and {verb}"));
            output::hint(&format!(
                "semel keys list --state unknown{within}{store} and --state running show them: decide what is unknown, wait for what runs, \
                 and erase again"
            ));
        }
        if !self.is_dry() {
            output::hint(&format!(
                "what is past its retention and not swept yet is not among these: semel keys purge --expired{store} sweeps it"
            ));
        }
    }

    fn decision(&self) -> Result<Decision> {
        let reason = self.decider.reason.clone().ok_or_else(|| {
            let message = "erasing the contents of many records needs a reason, for the audit";
            Error::new(Exit::Usage, message).hint("add --reason WHY")
        })?;
        Ok(Decision {
            by: self.decider.by.actor()?,
            reason: Some(reason),
            resolution: Resolution::EraseContents,
        })
    }

    fn forecast(
        &self,
        report: &Report,
        selection: &Selection,
        opened: &Opened,
        store: &StoreArgs,
    ) -> Result<()> {
        list::table(&report.sample, opened.now()).print()?;
        let rest = report.matched - report.sample.len() as u64;
        if rest > 0 {
            output::note(&format!("… and {} more", text::count(rest)));
        }
        let count = text::plural(report.matched, "record", "records");
        output::note(&format!(
            "dry run, nothing was changed: this would erase headers, body and request of {count} for good; \
             duplicates would get the status"
        ));
        let reason = self.decider.reason.as_ref();
        let reason = reason.map_or("WHY".to_owned(), |reason| text::word(reason.as_str()));
        output::hint(&format!(
            "to do it: semel keys erase{} --reason {reason} --yes{}\nwhat is settled after that moment is left alone",
            which::options(selection),
            store.option()
        ));
        Ok(())
    }
}

/// Call after call, to the end.
async fn all(
    opened: &Opened,
    selection: &Selection,
    decision: Option<&Decision>,
) -> Result<Report> {
    let mut report = Report::default();
    for _ in 0..CALLS_MAX {
        let (store, before) = (opened.store.as_ref(), report.next.take());
        let next = records::erase(store, selection, decision, before).await;
        let next = next.map_err(|error| match report.changed {
            0 => Error::from(error),
            changed => Error::from(error).when(&format!(
                "the contents of {} were erased before",
                text::plural(changed, "record", "records")
            )),
        })?;
        report.add(next);
        if report.next.is_none() {
            break;
        }
    }
    Ok(report)
}

fn must_be_settled(record: &Record, opened: &Opened) -> Result<()> {
    match &record.state {
        State::Settled(_) => Ok(()),
        State::Running { .. } | State::Unknown { .. } => {
            let standing = clause(record, opened.now());
            Err(Error::refused(format!(
                "{} {standing}; contents are erased of settled records only",
                record.identity
            ))
            .hint("wait until it is settled, or decide what came of it first"))
        }
    }
}

fn confirm(records: &[&Record], now: Timestamp) -> Result<()> {
    let line = |record: &&Record| format!("{} {}\n", record.identity, clause(record, now));
    let lines: String = records.iter().map(line).collect();
    let question =
        format!("{lines}Erase headers, body and request for good? Duplicates get the status then.");
    match output::ask(&question) {
        Some(true) => Ok(()),
        Some(false) => Err(Error::refused("not confirmed; nothing was changed")),
        None => Err(Error::refused(
            "erasing contents needs a yes, and there is no terminal to ask on; nothing was changed",
        )
        .hint("add --yes if you are sure")),
    }
}
