//! Changes by hand: says what would change, asks where there may be much, does it, and says what became of it.

mod report;
mod stays;
mod unchanged;

use semel_admin::messages::Done;
use semel_admin::view::inbox as view;
use semel_core::inbox::{Action, Operation, Report, State};

use super::{OpenInbox, Select};
use crate::commands::by::By;
use crate::error::{Error, Result};
use crate::{output, text};
use report::{becomes, lines, sample};
use unchanged::unchanged;

/// The most bytes of a reason.
const REASON_BYTES_MAX: usize = 1_024;
/// How many rounds one command makes at most; each changes some thousands of messages at most.
const ROUNDS_MAX: usize = 10_000;

/// What every change by hand takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ChangeArgs {
    /// Why, for the audit
    #[arg(long, value_name = "WHY", value_parser = reason)]
    pub(crate) reason: Option<String>,

    #[command(flatten)]
    by: By,

    /// Only say what would change
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long)]
    yes: bool,

    /// Write the counts as JSON
    #[arg(long)]
    json: bool,
}

/// A reason for the audit.
pub(crate) fn reason(text: &str) -> Result<String, String> {
    match text {
        _ if text.len() > REASON_BYTES_MAX => {
            Err(format!("a reason has at most {REASON_BYTES_MAX} bytes"))
        }
        _ if text.contains(char::is_control) => {
            Err("a reason has no control characters".to_owned())
        }
        _ => Ok(text.to_owned()),
    }
}

/// What is to change, and how.
pub(crate) struct Change<'a> {
    pub(crate) select: &'a Select,
    /// Only in these states; all that the action is for, if there are none.
    pub(crate) states: Vec<State>,
    pub(crate) action: Action,
    /// The verb, for the audit.
    pub(crate) verb: &'static str,
}

impl ChangeArgs {
    /// Makes a change, or says what it would be.
    pub(crate) async fn apply(&self, open: &OpenInbox, change: Change<'_>) -> Result<()> {
        let select = change.select;
        let operation = self.operation(open, &change)?;
        open.check_order(&operation).await?;
        let asks = select.may_be_many() || is_irrevocable(change.action);
        if asks && !self.dry_run && !self.yes {
            let report = operate(open, dry(&operation), select.group()).await?.report;
            if report.changed > 0 {
                confirm(&operation, &report)?;
            }
        }
        let done = all(open, &operation, select.group()).await?;
        let report = &done.report;
        if report.changed == 0 && !select.may_be_many() {
            return Err(unchanged(open, &change, report).await?);
        }
        self.print(&operation, &done)?;
        if report.more {
            output::hint(more(change.action, report));
        } else if let Some(before) = done.unseen_before {
            output::hint(&format!(
                "older failures were not looked at: name those received before {before} with --until {before}"
            ));
        }
        Ok(())
    }

    fn operation(&self, open: &OpenInbox, change: &Change<'_>) -> Result<Operation> {
        Ok(Operation {
            plan: open.policies.plan(&change.select.consumer),
            select: change.select.selection(change.states.clone(), open.now()),
            action: change.action,
            by: self.by.actor()?,
            reason: self.reason.clone(),
            verb: change.verb,
            dry_run: self.dry_run,
            edit: None,
        })
    }

    fn print(&self, operation: &Operation, done: &Done) -> Result<()> {
        if self.json {
            return output::json(&view::Report::done(done, operation));
        }
        let report = &done.report;
        output::data(&lines(operation, report))?;
        for reason in stays::reasons(report) {
            output::note(&reason);
        }
        let some = sample(report);
        if report.matched == 0 {
            output::note("no message matches");
        } else if operation.dry_run && some.is_empty() {
            output::note("nothing was changed");
        } else if operation.dry_run {
            output::note(&format!("nothing was changed; this is about {some}"));
        }
        Ok(())
    }
}

fn dry(operation: &Operation) -> Operation {
    Operation {
        dry_run: true,
        ..operation.clone()
    }
}

async fn operate(open: &OpenInbox, operation: Operation, group: Option<&str>) -> Result<Done> {
    Ok(semel_admin::messages::operate(open.inbox.as_ref(), operation, group).await?)
}

/// Rounds until nothing is left of what stood there when the command began. A replayed message may be done and match again before the next round,
/// so replays are not repeated.
async fn all(open: &OpenInbox, operation: &Operation, group: Option<&str>) -> Result<Done> {
    let mut done = operate(open, operation.clone(), group).await?;
    let total = &mut done.report;
    let repeats = !operation.dry_run && !matches!(operation.action, Action::Replay { .. });
    let mut changed = 0;
    for _ in 1..ROUNDS_MAX {
        // A step that changed nothing would be repeated for ever.
        if !total.more || !repeats || total.changed == changed {
            break;
        }
        changed = total.changed;
        let next = operate(open, operation.clone(), group).await?;
        done.unseen_before = next.unseen_before;
        let next = next.report;
        total.matched += next.changed;
        total.changed += next.changed;
        total.conflicts += next.conflicts;
        // What stays is met again by every round.
        total.skipped = next.skipped;
        total.settled = next.settled;
        total.older = next.older;
        total.waiting = next.waiting;
        total.gone = next.gone;
        total.more = next.more;
    }
    Ok(done)
}

fn confirm(operation: &Operation, report: &Report) -> Result<()> {
    let consumer = &operation.plan.consumer;
    let at_least = if report.more { "more than " } else { "" };
    let messages = text::plural(report.changed, "message", "messages");
    let (would, some) = (becomes(operation.action, true), sample(report));
    let warning = warning(operation.action);
    let question =
        format!("{at_least}{messages} of {consumer} {would}, among them {some}{warning}. Go on?");
    match output::ask(&question) {
        Some(true) => Ok(()),
        Some(false) => Err(Error::refused("not confirmed; nothing was changed")),
        None => Err(Error::refused(format!(
            "{at_least}{messages} of {consumer} {would}{warning}; that needs a yes, and there is no terminal \
             to ask on; nothing was changed"
        ))
        .hint("look with --dry-run; add --yes if you are sure")),
    }
}

/// Whether nothing brings back what it does: it asks even about messages that were named.
const fn is_irrevocable(action: Action) -> bool {
    matches!(
        action,
        Action::Retry { new_key: true } | Action::EraseContents
    )
}

/// What a person should know before saying yes.
const fn warning(action: Action) -> &'static str {
    match action {
        Action::EraseContents => "; what is erased cannot be brought back",
        Action::Retry { new_key: true } => {
            "; the provider is given a new key and may do once more what it did before"
        }
        _ => "",
    }
}

const fn more(action: Action, report: &Report) -> &'static str {
    match action {
        Action::Replay { .. } => "there are more: replay them in parts, with --from and --until",
        _ if report.changed == 0 => {
            "there are more than one look finds: name a part of them, with --from and --until"
        }
        _ => "there are more; run the command again",
    }
}
