//! `semel keys reconcile`: the provider says what became of an unknown operation, or of many.
//!
//! The reconcile URLs and their credentials are the gateway's, so the process that serves the routes is asked, at its admin side;
//! this program opens no store.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::Style;
use semel_admin::When;
use semel_admin::view::{ReconcileReport, ReconcileScope, Reconciled};
use semel_core::Timestamp;
use serde_json::{Value, json};

use super::decide::Decider;
use super::target::Target;
use super::which::{self, Which};
use crate::commands::ask::{self, Address};
use crate::discovery::ConfigArg;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output::{self, Table};
use crate::stores::StoreArgs;
use crate::text;

/// Where many are asked about.
const MANY: &str = "/api/v1/records/reconcile-many";
/// How long one call may take: longer than the process takes at most.
const PATIENCE: Duration = Duration::from_secs(90);
/// The most calls of one command; each asks about at most 256 records.
const CALLS_MAX: usize = 1_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    decider: Decider,

    /// The admin side of the process that serves the routes: HOST:PORT, http://…, https://… or unix:PATH
    /// [default: admin.listen of the configuration file, or 127.0.0.1:7071]
    #[arg(long, value_name = "URL")]
    admin: Option<String>,

    /// The authorities that vouch for the admin side, as a PEM file, instead of this machine's; one that the configuration file serves on this
    /// machine is known by its own certificate
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args, store: &StoreArgs, config: &ConfigArg) -> Result<()> {
    if store.is_said() {
        let message = "semel keys reconcile takes no --store: it asks the process that serves the routes, and that has its store";
        return Err(Error::new(Exit::Usage, message).hint("name its admin side with --admin"));
    }
    let door = Door::find(args, config)?;
    match args.which.one() {
        Some(target) => one(args, &door, &target).await,
        None => many(args, &door).await,
    }
}

/// The admin side that is asked.
struct Door {
    address: Address,
    token: Option<semel_policy::value::Secret>,
}

impl Door {
    fn find(args: &Args, config: &ConfigArg) -> Result<Self> {
        let (addresses, token) = ask::whom(args.admin.as_slice(), args.ca.as_deref(), config)?;
        let address = addresses
            .into_iter()
            .next()
            .ok_or_else(|| Error::new(Exit::Usage, "expected an admin side to ask, found none"))?;
        Ok(Self { address, token })
    }

    async fn call(&self, body: &Value) -> Result<ReconcileReport> {
        let (address, token) = (&self.address, self.token.as_ref());
        let (status, answer) = ask::post(address, MANY, token, body, PATIENCE).await?;
        match (status, ask::detail(&answer)) {
            (200, _) => serde_json::from_slice(&answer).map_err(|error| {
                let message =
                    format!("{address} does not answer as an admin side of this Semel: {error}");
                Error::refused(message)
            }),
            (404 | 405, _) => Err(Error::refused(format!(
                "the process at {address} is no admin side of Semel that asks providers"
            ))),
            (400 | 409, Some(detail)) => Err(Error::refused(detail)),
            _ => Err(ask::unanswered(address, status, &answer)),
        }
    }
}

/// What is meant, as the process is told.
struct Question<'a> {
    args: &'a Args,
    is_dry: bool,
    until: Option<String>,
}

impl Question<'_> {
    fn body(&self, before: Option<&str>) -> Result<Value> {
        let which = &self.args.which;
        let key = which.key.as_ref().or(which.only_key.as_ref());
        let reason = self.args.decider.reason.as_ref();
        let reason = match (reason, self.is_dry) {
            (Some(reason), _) => reason.as_str(),
            (None, true) => "dry run",
            (None, false) => return Err(needs_reason()),
        };
        let given = which.older_than.map(|when| match when {
            When::At(moment) => moment.to_string(),
            // Counted from the clock of the process.
            When::Ago(ago) => format!("{}ms", ago.as_millis()),
        });
        Ok(json!({
            "all": true,
            "tenant": which.within.tenant.as_ref().map(ToString::to_string),
            "scope": which.within.scope.as_ref().map(ToString::to_string),
            "key": key.map(ToString::to_string),
            "method": which.method.as_ref().map(ToString::to_string),
            "older_than": self.until.clone().or(given),
            "dry_run": self.is_dry,
            "before": before,
            "by": self.args.decider.by.name()?.as_str(),
            "reason": reason,
        }))
    }

    /// Call after call, to the end.
    async fn all(&self, door: &Door) -> Result<ReconcileReport> {
        let mut sum = door.call(&self.body(None)?).await?;
        for _ in 1..CALLS_MAX {
            let Some(before) = sum.next.take() else {
                break;
            };
            let next = door.call(&self.body(Some(&before))?).await;
            let next = next.map_err(|error| so_far(&sum, error))?;
            add(&mut sum, next);
        }
        Ok(sum)
    }
}

fn needs_reason() -> Error {
    let message = "asking a provider needs a reason, for the audit";
    Error::new(Exit::Usage, message).hint("add --reason WHY")
}

fn add(sum: &mut ReconcileReport, next: ReconcileReport) {
    sum.matched += next.matched;
    sum.with_reconciler += next.with_reconciler;
    sum.without_reconciler += next.without_reconciler;
    sum.settled += next.settled;
    sum.released += next.released;
    sum.still_unknown += next.still_unknown;
    sum.left_alone += next.left_alone;
    sum.records.extend(next.records);
    for scope in next.scopes {
        let same = |known: &&mut ReconcileScope| {
            (&known.scope, &known.url, &known.why) == (&scope.scope, &scope.url, &scope.why)
        };
        match sum.scopes.iter_mut().find(same) {
            Some(known) => known.records += scope.records,
            None => sum.scopes.push(scope),
        }
    }
    sum.next = next.next;
}

/// An error of a later call says what the earlier ones did.
fn so_far(sum: &ReconcileReport, error: Error) -> Error {
    match sum.settled + sum.released {
        0 => error,
        decided => error.when(&format!(
            "{} were decided before",
            text::plural(decided, "record", "records")
        )),
    }
}

/// Looks which record is meant, then asks about exactly that.
async fn one(args: &Args, door: &Door, target: &Target) -> Result<()> {
    if args.decider.reason.is_none() {
        return Err(needs_reason());
    }
    let look = Question {
        args,
        is_dry: true,
        until: None,
    };
    let found = look.all(door).await?;
    match (found.matched, found.scopes.as_slice()) {
        (0, _) => {
            let message = format!("no unknown record has {}", target.words());
            let hint = format!(
                "see how it stands: semel keys show {}",
                text::word(target.key.as_str())
            );
            return Err(Error::new(Exit::NotFound, message).hint(hint));
        }
        (1, [scope]) if scope.url.is_none() => return Err(nothing_to_ask(scope)),
        (1, _) => {}
        (several, _) => {
            let message = format!("{several} unknown records have {}", target.words());
            return Err(Error::new(Exit::Ambiguous, message).hint("name --scope and --tenant, too"));
        }
    }
    let ask = Question {
        args,
        is_dry: false,
        until: Some(found.until),
    };
    let asked = ask.all(door).await?;
    match asked.records.first() {
        Some(record) => ended(record),
        None => Err(Error::refused(format!(
            "{} changed in the meantime; nothing was asked",
            target.words()
        ))),
    }
}

fn nothing_to_ask(scope: &ReconcileScope) -> Error {
    let why = scope.why.as_deref().unwrap_or("it has no reconciler");
    Error::refused(format!(
        "nothing was asked or changed: {}",
        text::printable(why)
    ))
}

fn ended(record: &Reconciled) -> Result<()> {
    let identity = format!("{}/{}/{}", record.tenant, record.scope, record.key);
    let said = format!("{}: {}", text::printable(&identity), said(record));
    match record.state.as_str() {
        "settled" | "absent" => output::data(&said),
        _ => Err(Error::refused(said)),
    }
}

/// What was answered, and what came of it.
fn said(record: &Reconciled) -> String {
    let why = || text::printable(record.why.as_deref().unwrap_or("no reason is given"));
    match record.state.as_str() {
        "settled" => {
            let status = record
                .status
                .map_or(String::new(), |status| format!(", status {status}"));
            let bytes = text::bytes(record.body_bytes.unwrap_or_default());
            let verdict = record.verdict.as_deref().unwrap_or("settled");
            format!("it happened and is on record: {verdict}{status}, {bytes}")
        }
        "absent" => "it did not happen and is released: the next request runs".to_owned(),
        "unknown" => format!("still unknown, nothing was changed: {}", why()),
        _ => format!("left alone: {}", why()),
    }
}

async fn many(args: &Args, door: &Door) -> Result<()> {
    let question = Question {
        args,
        is_dry: args.which.is_dry(),
        until: None,
    };
    let report = question.all(door).await?;
    if args.which.json {
        return output::json(&report);
    }
    if report.matched == 0 {
        output::note("no unknown record matches");
    } else if question.is_dry {
        forecast(args, &report)?;
    } else {
        answers(&report)?;
    }
    if report.next.is_some() {
        output::hint("there are more; run the command again");
    }
    Ok(())
}

fn forecast(args: &Args, report: &ReconcileReport) -> Result<()> {
    let mut table = Table::new(["SCOPE", ">RECORDS", "RECONCILER"]);
    for scope in &report.scopes {
        let asked = match (&scope.url, &scope.why) {
            (Some(url), _) => text::printable(url),
            (None, why) => format!(
                "none: {}",
                text::printable(why.as_deref().unwrap_or_default())
            ),
        };
        let name = text::printable(&scope.scope);
        table.row(Style::new(), [name, text::count(scope.records), asked]);
    }
    table.print()?;
    let count = text::plural(report.with_reconciler, "unknown record", "unknown records");
    output::note(&format!(
        "dry run, nothing was asked: this would ask about {count}"
    ));
    if report.with_reconciler > 0 {
        let command = command(args, report)?;
        output::hint(&format!(
            "to do it: {command}\nwhat becomes unknown after that moment is left alone"
        ));
    }
    Ok(())
}

/// The command that does what was shown.
fn command(args: &Args, report: &ReconcileReport) -> Result<String> {
    let reason = args.decider.reason.as_ref();
    let reason = reason.map_or("WHY".to_owned(), |reason| text::word(reason.as_str()));
    let until: When = report.until.parse()?;
    let mut selection = args.which.selection(Timestamp::from_millis(0));
    selection.until = until.at(Timestamp::from_millis(0));
    let admin = args.admin.as_ref();
    let admin = admin.map_or(String::new(), |admin| {
        format!(" --admin {}", text::word(admin))
    });
    let ca = args.ca.as_ref();
    let ca = ca.map_or(String::new(), |ca| {
        format!(" --ca {}", text::word(&ca.display().to_string()))
    });
    let options = which::options(&selection);
    Ok(format!(
        "semel keys reconcile{options} --reason {reason} --yes{admin}{ca}"
    ))
}

fn answers(report: &ReconcileReport) -> Result<()> {
    let mut table = Table::new(["KEY", "SCOPE", "TENANT", "ANSWER"]);
    for record in &report.records {
        let cells = [&record.key, &record.scope, &record.tenant].map(|text| text::cell(text));
        let [key, scope, tenant] = cells;
        table.row(Style::new(), [key, scope, tenant, said(record)]);
    }
    if !report.records.is_empty() {
        table.print()?;
    }
    for scope in report.scopes.iter().filter(|scope| scope.url.is_none()) {
        let why = scope.why.as_deref().unwrap_or_default();
        let count = text::plural(scope.records, "record", "records");
        output::note(&format!("{count} left alone: {}", text::printable(why)));
    }
    output::note(&text::counted(&[
        ("settled", report.settled, "they happened"),
        ("released", report.released, "they did not happen"),
        (
            "still unknown",
            report.still_unknown,
            "the provider could not tell",
        ),
        (
            "left alone",
            report.left_alone,
            "they changed in the meantime",
        ),
        ("without a reconciler", report.without_reconciler, ""),
    ]));
    Ok(())
}
