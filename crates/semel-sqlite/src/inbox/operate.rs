//! Changes by hand: select, change each message as the core decides, set the lanes right, and a line in the audit.

use std::collections::BTreeMap;

use rusqlite::params;
use semel_core::inbox::decide::{Decision, Facts, Run, Stay, decide, decide_waiting};
use semel_core::inbox::lanes::{Placed, Rerun, Spot};
use semel_core::inbox::operate::{OPERATE_MAX, SELECT_IDS_MAX};
use semel_core::inbox::{Action, Cause, Operation, Report, State};
use semel_core::{Error, Kind, Result};

use super::lanes::{self, LaneKey};
use super::notes::Consumer;
use super::rows::{self, Work};
use super::select::select;
use super::{records, sql};
use crate::verbs::Session;

/// The most messages that one operation looks at.
const LOOKS_MAX: usize = 10 * OPERATE_MAX;
/// The longest reason, in bytes.
const REASON_BYTES_MAX: usize = 2_048;
/// How many identities a report names.
const SAMPLE: usize = 10;

/// Refuses operations that break the rules.
pub(super) fn check(operation: &Operation) -> Result<()> {
    operation.check_edit()?;
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

/// An operation under way.
struct Acting<'a> {
    of: Consumer<'a>,
    operation: &'a Operation,
    report: Report,
    /// Messages that wait for others: they come last, because the others may set them free.
    waiting: Vec<i64>,
    /// Spots that have changed, by tenant and lane.
    touched: BTreeMap<(String, String), Vec<Spot>>,
}

/// Where a message belongs by its consumer's plan.
struct Home {
    tenant: String,
    lane: Option<(String, Option<u64>)>,
    /// Whether its contents were erased.
    is_erased: bool,
}

impl Home {
    fn key<'b>(&'b self, of: Consumer<'b>, number: i64) -> Option<(LaneKey<'b>, Spot)> {
        let (name, sequence) = self.lane.as_ref()?;
        let (tenant, sequence) = (self.tenant.as_str(), *sequence);
        Some((LaneKey { of, tenant, name }, Spot { sequence, number }))
    }
}

impl Acting<'_> {
    fn by(&self) -> Option<&str> {
        Some(self.operation.by.as_str())
    }

    fn touch(&mut self, key: LaneKey<'_>, spot: Spot) {
        let lane = (key.tenant.to_owned(), key.name.to_owned());
        self.touched.entry(lane).or_default().push(spot);
    }

    fn stay(&mut self, why: Stay) {
        self.report.skipped += 1;
        match why {
            Stay::State => {}
            Stay::Settled => self.report.settled += 1,
            Stay::Older => self.report.older += 1,
            Stay::Waiting => self.report.waiting += 1,
            Stay::Gone => {
                self.report.skipped -= 1;
                self.report.gone += 1;
            }
        }
    }
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
        let mut acting = Acting {
            of,
            operation,
            report,
            waiting: Vec::new(),
            touched: BTreeMap::new(),
        };
        for (number, state) in selected {
            if acting.report.changed >= OPERATE_MAX as u64 {
                acting.report.more = true;
                break;
            }
            if !self.stood_still(operation, number, state)? {
                continue;
            }
            acting.report.matched += 1;
            self.act(&mut acting, number, state)?;
        }
        self.set_lanes_right(&mut acting)?;
        for number in std::mem::take(&mut acting.waiting) {
            self.act_on_waiting(&mut acting, number)?;
        }
        self.set_lanes_right(&mut acting)?;
        Ok(acting.report)
    }

    fn act(&mut self, acting: &mut Acting<'_>, number: i64, state: State) -> Result<()> {
        let action = acting.operation.action;
        let work = rows::work(self.connection, number)?;
        let home = self.home(acting.of, number)?;
        let facts = self.facts(acting, state, number, work.as_ref(), &home)?;
        match (decide(action, &facts), work) {
            (Decision::Stay(why), _) => acting.stay(why),
            (Decision::Later, _) => acting.waiting.push(number),
            (Decision::Replay(rerun), _) => {
                self.replay(acting, number, &home, rerun)?;
                self.tally(acting, number, None)?;
            }
            (Decision::Erase, work) => {
                self.erase_contents(number)?;
                let state = work.map_or(State::Completed, |work| work.state);
                self.keep_erased(acting, number, state)?;
                self.tally(acting, number, None)?;
            }
            (_, None) => acting.stay(Stay::State),
            (Decision::SkipAndErase, Some(work)) => {
                self.skip_by_hand(acting, &work)?;
                self.erase_contents(number)?;
                self.keep_erased(acting, number, State::SkippedDuplicate)?;
                self.tally(acting, number, work.cause)?;
            }
            (Decision::Run(run) | Decision::RunAtOnce(run), Some(work)) => {
                self.run_again(acting, &work, &home, run)?;
                self.keep_edit(number, acting.operation)?;
                self.tally(acting, number, work.cause)?;
            }
            (Decision::Park, Some(work)) => {
                self.put_by_hand(acting, number, Placed::parked(Cause::Operator))?;
                self.touch_lane_of(acting, &work);
                self.tally(acting, number, work.cause)?;
            }
            (Decision::Skip, Some(work)) => {
                self.skip_by_hand(acting, &work)?;
                self.tally(acting, number, work.cause)?;
            }
        }
        Ok(())
    }

    /// Does it to a message that waited for others when the operation began.
    fn act_on_waiting(&mut self, acting: &mut Acting<'_>, number: i64) -> Result<()> {
        let Some(work) = rows::work(self.connection, number)? else {
            acting.stay(Stay::State);
            return Ok(());
        };
        let home = self.home(acting.of, number)?;
        let facts = self.facts(acting, work.state, number, Some(&work), &home)?;
        match decide_waiting(acting.operation.action, &facts) {
            Decision::Run(run) => self.begin_anew(&work, run)?,
            Decision::RunAtOnce(run) => {
                self.begin_anew(&work, run)?;
                self.put_by_hand(acting, number, Placed::DUE)?;
                self.touch_lane_of(acting, &work);
            }
            Decision::Stay(why) => {
                acting.stay(why);
                return Ok(());
            }
            Decision::Later
            | Decision::Park
            | Decision::Skip
            | Decision::Erase
            | Decision::SkipAndErase
            | Decision::Replay(_) => {
                unreachable!("what waits for others runs or stays")
            }
        }
        self.tally(acting, number, work.cause)
    }

    fn facts(
        &mut self,
        acting: &Acting<'_>,
        state: State,
        number: i64,
        work: Option<&Work>,
        home: &Home,
    ) -> Result<Facts> {
        let rerun = match acting.operation.action {
            Action::Replay { .. } => Rerun::Replay,
            _ => work.map_or(Rerun::No, |work| rows::rerun_of(work.replay)),
        };
        let is_older = match home.key(acting.of, number) {
            Some((key, spot)) => self.in_lane(key, |mut lane| lane.is_past(spot, rerun))?,
            None => false,
        };
        Ok(Facts {
            state: work.map_or(state, |work| work.state),
            cause: work.and_then(|work| work.cause),
            rerun,
            attempts: work.map_or(0, |work| work.attempts),
            generation: work.map_or(0, |work| work.generation),
            is_settled: self.is_dealt_with(acting.of, number)?,
            is_older,
            is_named: !acting.operation.select.ids.is_empty(),
            is_erased: home.is_erased,
        })
    }

    fn tally(&self, acting: &mut Acting<'_>, number: i64, cause: Option<Cause>) -> Result<()> {
        acting.report.changed += 1;
        acting.report.conflicts += u64::from(cause == Some(Cause::Conflict));
        if acting.report.sample.len() < SAMPLE {
            let consumer = &acting.of.plan.consumer;
            let (identity, _) = rows::named(self.connection, consumer, number)?;
            acting.report.sample.push(identity);
        }
        Ok(())
    }

    fn set_lanes_right(&mut self, acting: &mut Acting<'_>) -> Result<()> {
        for ((tenant, name), mut spots) in std::mem::take(&mut acting.touched) {
            let key = LaneKey {
                of: acting.of,
                tenant: &tenant,
                name: &name,
            };
            spots.sort_unstable();
            self.in_lane(key, |lane| {
                lane.at_most(OPERATE_MAX).changed_by_hand(&spots)
            })?;
        }
        Ok(())
    }

    fn touch_lane_of(&self, acting: &mut Acting<'_>, work: &Work) {
        if let Some(key) = work.lane_key(acting.of) {
            acting.touch(key, work.spot());
        }
    }

    fn put_by_hand(&mut self, acting: &Acting<'_>, number: i64, placed: Placed) -> Result<()> {
        self.put(acting.of, number, placed, true)?;
        self.keep_transition(number, placed.state, Some(Cause::Operator), acting.by())
    }

    /// Who erased it, in its history.
    fn keep_erased(&mut self, acting: &Acting<'_>, number: i64, state: State) -> Result<()> {
        let detail = format!("{}: contents erased", acting.operation.by.as_str());
        self.keep_transition(number, state, Some(Cause::Operator), Some(&detail))
    }

    /// Retry and unpark: it takes its place again.
    fn run_again(
        &mut self,
        acting: &mut Acting<'_>,
        work: &Work,
        home: &Home,
        run: Run,
    ) -> Result<()> {
        self.begin_anew(work, run)?;
        let Some((key, spot)) = home.key(acting.of, work.number) else {
            self.put_by_hand(acting, work.number, Placed::DUE)?;
            // It may have stood in a lane that its consumer's plan no longer knows.
            self.touch_lane_of(acting, work);
            return lanes::leave(self.connection, work.number);
        };
        let rerun = rows::rerun_of(work.replay);
        let placed = self.in_lane(key, |mut lane| lane.takes_its_place(spot, rerun))?;
        sql::run(
            self.connection,
            "UPDATE semel_work SET lane = ?2, tenant = ?3, sequence = ?4 WHERE number = ?1",
            params![
                work.number,
                key.name,
                key.tenant,
                lanes::sql_sequence(spot.sequence)
            ],
        )?;
        self.put_by_hand(acting, work.number, placed.unwrap_or(Placed::WAITING))?;
        acting.touch(key, spot);
        Ok(())
    }

    /// Its attempts, its generation and its key are those with which it begins anew.
    fn begin_anew(&self, work: &Work, run: Run) -> Result<()> {
        sql::run(
            self.connection,
            "UPDATE semel_work SET attempts = ?2, generation = ?3, \
             first_ms = iif(?4, NULL, first_ms), key_generation = iif(?4, ?3, key_generation) \
             WHERE number = ?1",
            params![work.number, run.attempts, run.generation, run.new_key],
        )?;
        self.keep_generation(work.number, run.generation, run.new_key)
    }

    fn keep_generation(&self, number: i64, generation: u32, new_key: bool) -> Result<()> {
        if generation == 0 {
            return Ok(());
        }
        let sql = "INSERT INTO semel_generations (number, generation, key_generation) \
                   VALUES (?1, ?2, iif(?3, ?2, 0)) ON CONFLICT (number) DO UPDATE \
                   SET generation = excluded.generation, key_generation = max(key_generation, excluded.key_generation)";
        sql::run(self.connection, sql, params![number, generation, new_key]).map(drop)
    }

    fn skip_by_hand(&mut self, acting: &mut Acting<'_>, work: &Work) -> Result<()> {
        self.skip(acting.of, work, Cause::Operator, acting.by())?;
        // By sequence it stays as a mark until the lane has come to it.
        if work.sequence < 0 {
            lanes::leave(self.connection, work.number)?;
        }
        self.touch_lane_of(acting, work);
        Ok(())
    }

    /// Runs once more what was dealt with.
    fn replay(
        &mut self,
        acting: &mut Acting<'_>,
        number: i64,
        home: &Home,
        rerun: Rerun,
    ) -> Result<()> {
        let found = home.key(acting.of, number);
        let sql = "SELECT generation, key_generation FROM semel_generations WHERE number = ?1";
        let known = sql::one(self.connection, sql, params![number], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        let (generation, key_generation): (u32, u32) = known.unwrap_or_default();
        let generation = generation.saturating_add(1);
        sql::run(
            self.connection,
            "INSERT OR REPLACE INTO semel_work (number, consumer, state, fence, attempts, \
             generation, replay, changed_ms, sequence, lane, tenant, key_generation, first_ms) \
             VALUES (?1, ?2, 0, coalesce((SELECT fence FROM semel_work WHERE number = ?1), 0), \
             0, ?3, ?4, ?5, ?6, ?7, ?8, ?9, \
             (SELECT received_ms FROM semel_messages WHERE number = ?1))",
            params![
                number,
                acting.of.number,
                generation,
                rows::sql_rerun(rerun),
                self.now.as_millis(),
                lanes::sql_sequence(found.and_then(|(_, spot)| spot.sequence)),
                found.map(|(key, _)| key.name),
                found.map(|(key, _)| key.tenant),
                key_generation,
            ],
        )?;
        self.keep_generation(number, generation, false)?;
        let sql = "DELETE FROM semel_steps WHERE number = ?1";
        sql::run(self.connection, sql, params![number])?;
        let cause = Some(Cause::Replayed);
        self.keep_transition(number, State::Received, cause, acting.by())?;
        match found {
            Some((key, spot)) => {
                acting.touch(key, spot);
                Ok(())
            }
            None => self.put(acting.of, number, Placed::DUE, false),
        }
    }

    fn home(&self, of: Consumer<'_>, number: i64) -> Result<Home> {
        let sql = "SELECT tenant, lane, sequence, erased_ms IS NOT NULL FROM semel_messages WHERE number = ?1";
        let found = sql::one(self.connection, sql, params![number], |row| {
            let lane: Option<String> = row.get(1)?;
            Ok((row.get(0)?, lane, row.get(2)?, row.get(3)?))
        })?;
        let (tenant, lane, sequence, is_erased) = found.unwrap_or_default();
        let stands = lanes::stands(of.plan.order, lane.is_some(), sequence);
        let lane = lane.zip(stands);
        Ok(Home {
            tenant,
            lane,
            is_erased,
        })
    }

    /// Whether the record of a message is settled.
    fn is_dealt_with(&self, of: Consumer<'_>, number: i64) -> Result<bool> {
        let (identity, _) = rows::named(self.connection, &of.plan.consumer, number)?;
        let record = records::brief(self.connection, &identity)?;
        Ok(record.is_some_and(|record| record.is_settled(self.kept_since())))
    }

    fn audit(&self, operation: &Operation, changed: u64) -> Result<()> {
        self.note_audit(
            (
                operation.by.as_str(),
                operation.verb,
                operation.action.name(),
            ),
            &operation.plan.consumer,
            &operation.select.describe(),
            changed,
            operation.reason.as_deref(),
        )
    }
}
