//! Changes by hand.

use rusqlite::params;
use semel_core::inbox::operate::{OPERATE_MAX, SELECT_IDS_MAX};
use semel_core::inbox::{Action, Operation, Report};
use semel_core::{Error, Kind, Result};

use super::acts::{Act, Did};
use super::select::select;
use super::{rows, sql};
use crate::verbs::Session;

/// The most messages that one operation looks at.
const LOOKS_MAX: usize = 10 * OPERATE_MAX;
/// The longest reason, in bytes.
const REASON_BYTES_MAX: usize = 2_048;
/// How many identities a report names.
const SAMPLE: usize = 10;

/// Refuses operations that break the rules.
pub(super) fn check(operation: &Operation) -> Result<()> {
    let limit = |what: &str, max: usize, found: usize| match found > max {
        true => Err(Error::new(
            Kind::Limit,
            format!("{what} at most {max}, found {found}"),
        )),
        false => Ok(()),
    };
    let reason = operation.reason.as_deref().map_or(0, str::len);
    limit("the bytes of a reason are", REASON_BYTES_MAX, reason)?;
    let ids = operation.select.ids.len();
    limit("the ids of a selection are", SELECT_IDS_MAX, ids)
}

impl Session<'_> {
    /// Carries an operation out, with a line in the audit; or finds out what it would do.
    pub(super) fn operate(&mut self, operation: &Operation) -> Result<Report> {
        if !operation.dry_run {
            let report = self.carry_out(operation)?;
            self.audit(operation, report.changed)?;
            return Ok(report);
        }
        let (last_fence, notes) = (self.last_fence, std::mem::take(&mut self.inbox));
        let execute = |sql: &str| self.connection.execute_batch(sql).map_err(sql::failed);
        execute("SAVEPOINT semel_dry_run")?;
        let report = self.carry_out(operation);
        let execute = |sql: &str| self.connection.execute_batch(sql).map_err(sql::failed);
        execute("ROLLBACK TO semel_dry_run; RELEASE semel_dry_run")?;
        (self.last_fence, self.inbox) = (last_fence, notes);
        report
    }

    fn carry_out(&mut self, operation: &Operation) -> Result<Report> {
        let mut report = Report::default();
        if matches!(operation.action, Action::Replay { .. }) {
            report.gone = self.gone(operation)?;
            report.matched = report.gone;
        }
        let Some(of) = self.consumer(&operation.plan)? else {
            return Ok(report);
        };
        let mut selected = select(self.connection, operation, of.number, LOOKS_MAX + 1)?;
        report.more = selected.len() > LOOKS_MAX;
        selected.truncate(LOOKS_MAX);
        let mut act = Act::new(of, operation);
        for (number, state) in selected {
            if report.changed >= OPERATE_MAX as u64 {
                report.more = true;
                break;
            }
            report.matched += 1;
            let did = self.act(&mut act, number, state)?;
            self.tally(&act, &mut report, number, did)?;
        }
        for number in std::mem::take(&mut act.waiting) {
            let did = self.act_on_waiting(&act, number)?;
            self.tally(&act, &mut report, number, did)?;
        }
        self.set_lanes_going(&act)?;
        Ok(report)
    }

    fn tally(&self, act: &Act<'_>, report: &mut Report, number: i64, did: Did) -> Result<()> {
        match did {
            Did::Changed { conflict } => {
                report.changed += 1;
                report.conflicts += u64::from(conflict);
                if report.sample.len() < SAMPLE {
                    let consumer = &act.of.plan.consumer;
                    let (identity, _) = rows::named(self.connection, consumer, number)?;
                    report.sample.push(identity);
                }
            }
            Did::Nothing => report.skipped += 1,
            Did::Later => {}
        }
        Ok(())
    }

    fn audit(&self, operation: &Operation, changed: u64) -> Result<()> {
        sql::run(
            self.connection,
            "INSERT INTO semel_audit (at_ms, actor, verb, action, consumer, selection, changed, reason) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                self.now.as_millis(),
                operation.by.as_str(),
                operation.verb,
                operation.action.name(),
                operation.plan.consumer.to_string(),
                operation.select.describe(),
                changed,
                operation.reason,
            ],
        )
        .map(drop)
    }
}
