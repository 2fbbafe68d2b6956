//! Decisions about many unknown records: first what they would be about, then, with a yes and a reason, the decisions.

use semel_admin::records::{self, Decision, Report, Selection};
use semel_admin::view;
use semel_core::duration;
use semel_core::store::Resolution;

use super::decide::Decider;
use super::list;
use super::standing::replayed;
use super::which::{self, Which};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::stores::{Opened, StoreArgs};
use crate::{output, text};

/// The most calls of one command; each decides about a thousand records at most.
const CALLS_MAX: usize = 1_000;

/// What is done to many.
pub(crate) struct Many<'a> {
    pub(crate) which: &'a Which,
    pub(crate) decider: &'a Decider,
    pub(crate) resolution: Resolution,
    /// The options that say what came of them, to be handed on.
    pub(crate) options: String,
}

impl Many<'_> {
    pub(crate) async fn run(&self, opened: &Opened, store: &StoreArgs) -> Result<()> {
        let selection = self.which.selection(opened.now());
        if self.which.is_dry() {
            let report = all(opened, &selection, None).await?;
            return self.forecast(&report, &selection, opened, store);
        }
        let decision = self.decision()?;
        let report = all(opened, &selection, Some(&decision)).await?;
        self.done(&report, &selection, opened)
    }

    fn verb(&self) -> &'static str {
        self.resolution.name()
    }

    fn decision(&self) -> Result<Decision> {
        let reason = self.decider.reason.clone().ok_or_else(|| {
            let message = "a decision about many records needs a reason, for the audit";
            Error::new(Exit::Usage, message).hint("add --reason WHY")
        })?;
        Ok(Decision {
            by: self.decider.by.actor()?,
            reason: Some(reason),
            resolution: self.resolution.clone(),
        })
    }

    fn forecast(
        &self,
        report: &Report,
        selection: &Selection,
        opened: &Opened,
        store: &StoreArgs,
    ) -> Result<()> {
        if self.which.json {
            return self.print_json(report, selection, opened);
        }
        if report.matched == 0 {
            output::note("no unknown record matches");
            return Ok(());
        }
        list::table(&report.sample, opened.now()).print()?;
        let rest = report.matched - report.sample.len() as u64;
        if rest > 0 {
            output::note(&format!("… and {} more", text::count(rest)));
        }
        output::note(&self.would(report));
        output::hint(&format!(
            "to do it: {}\nwhat becomes unknown after that moment is left alone",
            self.command(selection, store)
        ));
        Ok(())
    }

    /// What would come of it.
    fn would(&self, report: &Report) -> String {
        let count = text::plural(report.matched, "unknown record", "unknown records");
        let then = match &self.resolution {
            Resolution::Settle { outcome, retention } => format!(
                "duplicates would get {}, for {}",
                replayed(outcome),
                duration::show(retention.keep())
            ),
            _ => "the next requests with these keys would run".to_owned(),
        };
        let verb = self.verb();
        format!("dry run, nothing was changed: this would {verb} {count}; {then}")
    }

    /// The command that does what was shown.
    fn command(&self, selection: &Selection, store: &StoreArgs) -> String {
        let reason = self.decider.reason.as_ref();
        let reason = reason.map_or("WHY".to_owned(), |reason| text::word(reason.as_str()));
        format!(
            "semel keys {}{}{} --reason {reason} --yes{}",
            self.verb(),
            which::options(selection),
            self.options,
            store.option()
        )
    }

    fn done(&self, report: &Report, selection: &Selection, opened: &Opened) -> Result<()> {
        if self.which.json {
            self.print_json(report, selection, opened)?;
        } else if report.matched == 0 {
            output::note("no unknown record matches");
        } else {
            let what = match self.resolution {
                Resolution::Release => "released",
                _ => "resolved",
            };
            output::data(&text::counted(&[
                (what, report.changed, ""),
                ("left alone", report.refused, "they changed in the meantime"),
            ]))?;
        }
        if report.next.is_some() {
            output::hint("there are more; run the command again");
        }
        Ok(())
    }

    fn print_json(&self, report: &Report, selection: &Selection, opened: &Opened) -> Result<()> {
        let (dry, at) = (self.which.is_dry(), (selection.until, opened.now()));
        output::json(&view::Many::of(report, self.verb(), dry, at))
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
        let call = match decision {
            Some(decision) => records::decide(store, selection, decision, before).await,
            None => records::look(store, selection, before).await,
        };
        let next = call.map_err(|error| so_far(&report, error))?;
        report.add(next);
        if report.next.is_none() {
            break;
        }
    }
    Ok(report)
}

/// An error of a later call says what the earlier ones did.
fn so_far(report: &Report, error: semel_core::Error) -> Error {
    let error = Error::from(error);
    match report.changed {
        0 => error,
        changed => error.when(&format!(
            "{} were decided before",
            text::plural(changed, "record", "records")
        )),
    }
}
