use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::clock::{ManualClock, SystemClock};

const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A process: its monotonic time, and the machine's wall clock that it read when it started.
#[derive(Debug)]
struct Process {
    monotonic: ManualClock,
    wall_ms: Arc<AtomicI64>,
}

impl Clock for Process {
    fn now(&self) -> Timestamp {
        self.monotonic.now()
    }

    fn wall(&self) -> Timestamp {
        Timestamp(self.wall_ms.load(Ordering::Relaxed))
    }
}

/// One machine with one store; what a store does is done to its few numbers.
#[derive(Debug)]
struct Machine {
    wall_ms: Arc<AtomicI64>,
    known: Known,
    lease_until: Timestamp,
}

impl Machine {
    /// A store that was written to at `START`, with a lease of a minute.
    fn new() -> Self {
        Self {
            wall_ms: Arc::new(AtomicI64::new(START.0)),
            known: Known {
                newest: Some(START),
                doubt: None,
                refused: None,
            },
            lease_until: START.after(MINUTE),
        }
    }

    fn step_wall(&self, ms: i64) {
        self.wall_ms.fetch_add(ms, Ordering::Relaxed);
    }

    fn start(&self) -> (Arc<Process>, SteadyClock) {
        let wall = Timestamp(self.wall_ms.load(Ordering::Relaxed));
        let process = Arc::new(Process {
            monotonic: ManualClock::at(wall),
            wall_ms: self.wall_ms.clone(),
        });
        (process.clone(), SteadyClock::new(process))
    }

    /// Time passes for the machine and this process.
    fn pass(&self, process: &Process, duration: Duration) {
        self.step_wall(ms(duration));
        process.monotonic.advance(duration);
    }

    /// A transaction that claims something.
    fn write(&mut self, clock: &SteadyClock) -> Correction {
        let correction = clock.judge(self.known);
        match correction {
            Correction::None => {}
            Correction::Begin(doubt, moved) => {
                self.known.doubt = Some(doubt);
                self.lease_until = self.lease_until.after(moved);
            }
            Correction::Accept => self.known.doubt = None,
            Correction::Refuse(doubt) => {
                self.known.doubt = None;
                self.known.refused = Some(doubt.since);
                self.lease_until = self.lease_until.before(doubt.by);
            }
            Correction::Ignore => {}
        }
        self.known.newest = Some(clock.now());
        correction
    }
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap()
}

#[test]
fn a_restart_within_minutes_is_believed() {
    let mut machine = Machine::new();
    machine.step_wall(ms(JUMP_MAX));
    let (_, clock) = machine.start();
    assert_eq!(machine.write(&clock), Correction::None);
    assert_eq!(clock.now(), START.after(JUMP_MAX));
    assert_eq!(clock.grace(), Duration::ZERO);
}

#[test]
fn a_machine_that_was_off_for_a_week_goes_on_at_once_and_keeps_everything_for_one_more_day() {
    let mut machine = Machine::new();
    machine.step_wall(ms(DAY * 7));
    let (process, clock) = machine.start();
    let doubt = Doubt {
        by: DAY * 7,
        since: START.after(DAY * 7),
    };
    assert_eq!(machine.write(&clock), Correction::Begin(doubt, DAY * 7));
    assert_eq!(clock.now(), START.after(DAY * 7));
    assert_eq!(clock.grace(), DAY * 7);
    // What was alive when the machine went off is alive now, and ends after its term.
    assert_eq!(machine.lease_until.since(clock.now()), MINUTE);
    machine.pass(&process, DOUBT_FOR - MINUTE);
    assert_eq!(machine.write(&clock), Correction::None);
    machine.pass(&process, MINUTE);
    assert_eq!(machine.write(&clock), Correction::Accept);
    assert_eq!(clock.grace(), Duration::ZERO);
}

#[test]
fn a_clock_that_is_days_ahead_at_the_start_and_is_set_right_leaves_nothing_behind() {
    let mut machine = Machine::new();
    machine.step_wall(ms(DAY * 3));
    let (process, clock) = machine.start();
    assert!(matches!(machine.write(&clock), Correction::Begin(..)));
    machine.pass(&process, MINUTE);
    assert_eq!(machine.write(&clock), Correction::None);
    machine.step_wall(-ms(DAY * 3));
    assert!(matches!(machine.write(&clock), Correction::Refuse(_)));
    assert_eq!(clock.now(), START.after(MINUTE));
    assert_eq!(machine.lease_until, START.after(MINUTE));
    assert_eq!(machine.known.newest, Some(START.after(MINUTE)));
    // The process keeps the right time although its own anchor was wrong.
    machine.pass(&process, MINUTE);
    assert_eq!(machine.write(&clock), Correction::None);
    assert_eq!(clock.now(), START.after(MINUTE * 2));
}

#[test]
fn a_clock_that_was_set_right_while_no_process_ran_is_noticed_at_the_next_start() {
    let mut machine = Machine::new();
    machine.step_wall(ms(DAY * 3));
    let (_, clock) = machine.start();
    machine.write(&clock);
    machine.step_wall(ms(MINUTE) - ms(DAY * 3));
    let (_, clock) = machine.start();
    assert!(matches!(machine.write(&clock), Correction::Refuse(_)));
    assert_eq!(clock.now(), START.after(MINUTE));
    assert_eq!(machine.lease_until, START.after(MINUTE));
}

#[test]
fn a_doubt_outlives_the_process_that_began_it() {
    let mut machine = Machine::new();
    machine.step_wall(ms(DAY * 3));
    let (_, clock) = machine.start();
    machine.write(&clock);
    machine.step_wall(ms(MINUTE));
    let (_, clock) = machine.start();
    assert_eq!(machine.write(&clock), Correction::None);
    assert_eq!(clock.grace(), DAY * 3);
}

#[test]
fn a_second_jump_keeps_the_longer_grace_until_the_first_is_accepted() {
    let mut machine = Machine::new();
    machine.step_wall(ms(DAY * 3));
    let (_, clock) = machine.start();
    machine.write(&clock);
    machine.step_wall(ms(MINUTE * 60));
    let (_, clock) = machine.start();
    let begun = machine.write(&clock);
    let doubt = Doubt {
        by: DAY * 3,
        since: START.after(DAY * 3),
    };
    assert_eq!(begun, Correction::Begin(doubt, MINUTE * 60));
    machine.step_wall(ms(DAY * 2));
    let (_, clock) = machine.start();
    machine.write(&clock);
    assert_eq!(clock.grace(), DAY * 2);
}

#[test]
fn a_doubt_that_was_rolled_back_is_begun_again() {
    let mut machine = Machine::new();
    machine.step_wall(ms(DAY));
    let (process, clock) = machine.start();
    let first = clock.judge(machine.known);
    assert!(matches!(first, Correction::Begin(..)));
    machine.pass(&process, MINUTE);
    assert_eq!(machine.write(&clock), first);
    // The minute that has passed meanwhile is no part of the jump.
    assert_eq!(machine.lease_until, clock.now());
    assert_eq!(machine.write(&clock), Correction::None);
    assert_eq!(clock.grace(), DAY);
}

#[test]
fn a_clock_that_is_set_back_or_ahead_while_a_process_runs_changes_nothing() {
    for step in [-ms(DAY), ms(DAY * 3)] {
        let mut machine = Machine::new();
        let (process, clock) = machine.start();
        machine.write(&clock);
        machine.step_wall(step);
        machine.pass(&process, MINUTE);
        assert_eq!(machine.write(&clock), Correction::None);
        assert_eq!(clock.now(), START.after(MINUTE));
    }
}

#[test]
fn a_clock_that_is_behind_the_store_goes_on_from_the_stores_time() {
    let mut machine = Machine::new();
    machine.step_wall(-ms(DAY * 30));
    let (process, clock) = machine.start();
    assert_eq!(machine.write(&clock), Correction::None);
    assert_eq!(clock.now(), START);
    machine.pass(&process, MINUTE);
    assert_eq!(clock.now(), START.after(MINUTE));
}

#[test]
fn of_two_processes_that_disagree_the_one_that_started_wrong_gives_way() {
    let mut machine = Machine::new();
    let (right_process, right) = machine.start();
    machine.write(&right);
    // The wall clock is wrong just while the second process starts.
    machine.step_wall(ms(DAY * 3));
    let (wrong_process, wrong) = machine.start();
    assert!(matches!(machine.write(&wrong), Correction::Begin(..)));
    machine.step_wall(-ms(DAY * 3));
    machine.pass(&right_process, MINUTE);
    wrong_process.monotonic.advance(MINUTE);
    assert!(matches!(machine.write(&right), Correction::Refuse(_)));
    assert_eq!(machine.lease_until, START.after(MINUTE));
    assert_eq!(machine.write(&wrong), Correction::None);
    for clock in [right, wrong] {
        assert_eq!(clock.now(), START.after(MINUTE));
        assert_eq!(clock.grace(), Duration::ZERO);
    }
}

#[test]
fn processes_that_ran_through_a_suspend_follow_one_that_started_after_it() {
    let mut machine = Machine::new();
    let (_, old) = machine.start();
    machine.write(&old);
    // The monotonic clock stands still while the machine is suspended.
    machine.step_wall(ms(DAY));
    let (_, new) = machine.start();
    assert!(matches!(machine.write(&new), Correction::Begin(..)));
    assert_eq!(machine.write(&old), Correction::None);
    assert_eq!((old.now(), old.grace()), (new.now(), DAY));
    assert_eq!(machine.lease_until.since(old.now()), MINUTE);
}

#[test]
fn a_time_that_another_program_wrote_is_ignored_unless_the_wall_clock_agrees() {
    for (wall, expected) in [(0, START), (ms(DAY), START.after(DAY))] {
        let mut machine = Machine::new();
        let (_, clock) = machine.start();
        machine.write(&clock);
        machine.known.newest = Some(START.after(DAY));
        machine.step_wall(wall);
        let correction = machine.write(&clock);
        assert_eq!(correction == Correction::Ignore, wall == 0);
        assert_eq!(clock.now(), expected);
    }
}

#[test]
fn time_goes_on_from_the_latest_known_instant() {
    let manual = Arc::new(ManualClock::at(Timestamp::from_millis(1_000)));
    let clock = SteadyClock::new(manual.clone());
    assert_eq!(clock.now().as_millis(), 1_000);
    let known = Known {
        newest: Some(Timestamp::from_millis(5_000)),
        doubt: None,
        refused: None,
    };
    assert_eq!(clock.judge(known), Correction::None);
    assert_eq!(clock.now().as_millis(), 5_000);
    manual.advance(Duration::from_millis(10));
    assert_eq!(clock.now().as_millis(), 5_010);
    manual.set(Timestamp::from_millis(0));
    assert_eq!(clock.now().as_millis(), 5_010);
    manual.advance(Duration::from_millis(7));
    assert_eq!(clock.now().as_millis(), 5_017);
}

#[test]
fn steady_time_does_not_run_ahead_of_its_clock_under_many_threads() {
    let system = Arc::new(SystemClock::new());
    let steady = SteadyClock::new(system.clone());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let begun = system.now();
                while system.now().since(begun) < Duration::from_millis(300) {
                    steady.now();
                }
            });
        }
    });
    assert!(steady.now() <= system.now());
}
