//! The rules against a reference that looks at the whole lane after every event, whatever the order of events and however small
//! the steps.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::inbox::order::{Baseline, GapThen, OnGap, OnTerminal};
use crate::inbox::state::{Cause, State};

const NOW: Timestamp = Timestamp::from_millis(1_000);

const fn by_sequence(baseline: Baseline, then: GapThen, on_terminal: OnTerminal) -> Order {
    Order::Sequence {
        baseline,
        on_gap: OnGap {
            deadline: Duration::from_secs(1),
            then,
        },
        on_terminal,
    }
}

const PATIENT: Order = by_sequence(Baseline::FirstSeen, GapThen::Hold, OnTerminal::Park);

/// What happens to a lane; numbers choose among the rows that it can happen to.
#[derive(Debug, Clone, Copy)]
enum Event {
    Arrive(u64),
    Complete,
    Fail,
    Retry(usize),
    Park(usize),
    Skip(usize),
    Rebuild(u64),
    Overdue(usize),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0_u64..10).prop_map(Event::Arrive),
        6 => Just(Event::Complete),
        2 => Just(Event::Fail),
        2 => any::<usize>().prop_map(Event::Retry),
        1 => any::<usize>().prop_map(Event::Park),
        1 => any::<usize>().prop_map(Event::Skip),
        1 => (0_u64..10).prop_map(Event::Rebuild),
        1 => any::<usize>().prop_map(Event::Overdue),
    ]
}

fn order() -> impl Strategy<Value = Order> {
    let terminal = prop_oneof![Just(OnTerminal::Park), Just(OnTerminal::Advance)];
    let then = prop_oneof![Just(GapThen::Hold), Just(GapThen::Advance)];
    let baseline = prop_oneof![Just(Baseline::FirstSeen), Just(Baseline::After(2))];
    prop_oneof![
        terminal
            .clone()
            .prop_map(|on_terminal| Order::Arrival { on_terminal }),
        (baseline, then, terminal).prop_map(|(b, then, t)| by_sequence(b, then, t)),
    ]
}

/// A lane whose rows are all in memory, and what ran in it.
struct World {
    order: Order,
    step: usize,
    window: Window,
    arrived: i64,
    /// Versions that ran to their end, in that order, and whether as a rebuild.
    ran: Vec<(Spot, bool)>,
}

impl World {
    fn new(order: Order, step: usize) -> Self {
        let mut window = Window::new(None);
        window.load_first([], true);
        Self {
            order,
            step,
            window,
            arrived: 0,
            ran: Vec::new(),
        }
    }

    fn lane(&mut self) -> Lane<'_, Window> {
        self.window.lane(self.order, NOW).at_most(self.step)
    }

    fn rows(&self) -> Vec<Row> {
        let mut window = self.window.clone();
        let mut rows: Vec<Row> = window.first().unwrap().into_iter().collect();
        while let Some(row) = rows
            .last()
            .and_then(|last| window.after(last.spot).unwrap())
        {
            rows.push(row);
        }
        rows
    }

    fn moving(&self) -> Option<Row> {
        self.rows().into_iter().find(|row| row.is_due)
    }

    fn spot(&mut self, sequence: u64) -> Spot {
        self.arrived += 1;
        let sequence = matches!(self.order, Order::Sequence { .. }).then_some(sequence);
        let number = self.arrived;
        Spot { sequence, number }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrive(sequence) => self.arrive(sequence),
            Event::Complete => self.complete(),
            Event::Fail => self.fail(),
            Event::Retry(n) => self.retry(n),
            Event::Park(n) => self.by_hand(n, Some(Placed::parked(Cause::Operator))),
            Event::Skip(n) => self.by_hand(n, None),
            Event::Rebuild(sequence) => self.rebuild(sequence),
            Event::Overdue(n) => self.overdue(n),
        }
        self.keep_house();
    }

    fn arrive(&mut self, sequence: u64) {
        let spot = self.spot(sequence);
        let placed = self.lane().arrives(spot).unwrap();
        if placed.state == State::SkippedDuplicate {
            return;
        }
        let row = row(spot, placed, Rerun::No);
        self.window.set(row);
        self.lane().arrived(&row).unwrap();
    }

    fn complete(&mut self) {
        let Some(row) = self.moving() else { return };
        self.ran.push((row.spot, row.rerun == Rerun::Rebuild));
        self.window.remove(row.spot);
        self.lane().applied(row.spot).unwrap();
    }

    fn fail(&mut self) {
        let Some(row) = self.moving() else { return };
        let failed = row.placed(Placed {
            state: State::FailedTerminal,
            ..Placed::parked(Cause::Terminal)
        });
        self.window.set(failed);
        self.lane().stuck(&failed).unwrap();
    }

    fn retry(&mut self, n: usize) {
        let stuck = |row: &Row| {
            matches!(row.state, State::FailedTerminal | State::Parked) && !row.is_waiting()
        };
        let Some(row) = self.one(n, stuck) else {
            return;
        };
        if let Some(placed) = self.lane().takes_its_place(row.spot, row.rerun).unwrap() {
            self.window.set(row.placed(placed));
            self.lane().changed_by_hand(&[row.spot]).unwrap();
        }
    }

    /// Parks a row that does not run, or skips it.
    fn by_hand(&mut self, n: usize, parked: Option<Placed>) {
        let Some(row) = self.one(n, |row| !row.is_due && row.state != State::SkippedDuplicate)
        else {
            return;
        };
        let row = row.placed(parked.unwrap_or(Placed::skipped(Cause::Operator)));
        self.window.set(row);
        self.lane().changed_by_hand(&[row.spot]).unwrap();
    }

    fn rebuild(&mut self, sequence: u64) {
        let is_done = self.window.next().unwrap() > Some(Next(sequence));
        if !is_done || !matches!(self.order, Order::Sequence { .. }) {
            return;
        }
        let spot = self.spot(sequence);
        let placed = self.lane().takes_its_place(spot, Rerun::Rebuild).unwrap();
        let placed = placed.expect("a rebuild is never older");
        self.window.set(row(spot, placed, Rerun::Rebuild));
        self.lane().changed_by_hand(&[spot]).unwrap();
    }

    fn overdue(&mut self, n: usize) {
        if let Some(row) = self.one(n, |row| row.has_deadline) {
            self.lane().overdue(&row).unwrap();
        }
    }

    fn one(&self, n: usize, which: impl Fn(&Row) -> bool) -> Option<Row> {
        let rows: Vec<Row> = self.rows().into_iter().filter(which).collect();
        rows.get(n.checked_rem(rows.len())?).copied()
    }

    /// Goes on wherever an event left off, until nothing is left to do.
    fn keep_house(&mut self) {
        for _ in 0..1_000 {
            let rows = self.rows();
            let is_left = |change: &&Change| {
                change.deadline == Some(NOW) && !change.has_left && rows.contains(&change.row)
            };
            let left = self.window.changes().find(is_left).map(|change| change.row);
            let Some(row) = left else {
                return;
            };
            self.lane().overdue(&row).unwrap();
        }
        panic!("housekeeping does not come to an end: {:?}", self.rows());
    }
}

fn row(spot: Spot, placed: Placed, rerun: Rerun) -> Row {
    Row {
        spot,
        state: placed.state,
        cause: placed.cause,
        is_due: placed.is_due,
        has_deadline: placed.deadline.is_some(),
        rerun,
        received_at: NOW,
    }
}

/// What each row that waits should say, by a look at the whole lane.
fn reference(world: &World) -> Vec<(Spot, &'static str)> {
    let next = world
        .window
        .clone()
        .next()
        .unwrap()
        .map_or(0, |next| next.0);
    let (mut says, mut until, mut class) = (Vec::new(), next, "none");
    for row in world.rows() {
        let sequence = row.spot.sequence;
        let is_missing = sequence.is_some_and(|sequence| sequence > until.max(next));
        let is_passed = row.state == State::SkippedDuplicate
            || (is_dead(&row) && world.order.on_terminal() == OnTerminal::Advance);
        if is_passed {
            if !is_missing {
                until = until.max(sequence.map_or(0, |s| s + 1));
            }
            continue;
        }
        class = match (class, is_dead(&row)) {
            (_, true) => "blocked",
            _ if !row.is_waiting() => "open",
            ("blocked", false) => "blocked",
            ("gap", false) => "gap",
            _ if is_missing => "gap",
            _ => "open",
        };
        until = sequence.map_or(0, |s| s + 1);
        if row.is_waiting() {
            says.push((row.spot, class));
        }
    }
    says
}

fn is_dead(row: &Row) -> bool {
    matches!(row.state, State::FailedTerminal | State::Parked) && !row.is_waiting()
}

fn said(world: &World) -> Vec<(Spot, &'static str)> {
    let waiting = world.rows().into_iter().filter(Row::is_waiting);
    let word = |row: &Row| match row.class(world.order) {
        row::Class::Gap => "gap",
        row::Class::Blocked => "blocked",
        row::Class::Open | row::Class::Mark => "open",
    };
    waiting.map(|row| (row.spot, word(&row))).collect()
}

/// If nothing runs, then because the first row that is no mark cannot.
fn stands_still_for_a_reason(world: &World) -> bool {
    if world.moving().is_some() {
        return true;
    }
    let mark = |row: &Row| row.class(world.order) == row::Class::Mark;
    let first = world.rows().into_iter().find(|row| !mark(row));
    first.is_none_or(|first| first.class(world.order) != row::Class::Open)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_row_says_what_a_look_at_the_whole_lane_says(
        order in order(), step in 1_usize..6, events in proptest::collection::vec(event(), 1..60)
    ) {
        let mut world = World::new(order, step);
        for event in events {
            world.happen(event);
            prop_assert_eq!(said(&world), reference(&world), "after {:?}: {:?}", event, world.rows());
            prop_assert!(stands_still_for_a_reason(&world), "after {:?}: {:?}", event, world.rows());
            prop_assert!(world.rows().iter().filter(|row| row.is_due).count() <= 1, "{:?}", world.rows());
        }
    }

    #[test]
    fn versions_run_in_their_order_whatever_happens(
        step in 1_usize..6, events in proptest::collection::vec(event(), 1..80)
    ) {
        let mut world = World::new(PATIENT, step);
        for event in events {
            world.happen(event);
        }
        let ran: Vec<u64> = world.ran.iter().filter(|(_, again)| !again).filter_map(|(spot, _)| spot.sequence).collect();
        prop_assert!(ran.windows(2).all(|pair| pair[0] < pair[1]), "{ran:?}");
    }

    #[test]
    fn a_part_of_a_lane_decides_as_the_whole_does(
        order in order(), events in proptest::collection::vec(event(), 1..40), arriving in 0_u64..10
    ) {
        let mut world = World::new(order, 1_000);
        for event in events {
            world.happen(event);
        }
        let spot = world.spot(arriving);
        let rows = world.rows();
        let whole = world.window.clone().lane(order, NOW).arrives(spot).unwrap();
        let mut part = Window::new(world.window.clone().next().unwrap());
        let mut size = 1;
        let found = loop {
            match part.clone().lane(order, NOW).arrives(spot) {
                Ok(placed) => break placed,
                Err(Beyond(at)) => load_around(&mut part, &rows, at, size),
            }
            size += 1;
            prop_assert!(size < 50);
        };
        prop_assert_eq!(whole, found);
    }
}

fn load_around(part: &mut Window, rows: &[Row], at: Spot, size: usize) {
    let before: Vec<Row> = rows.iter().filter(|row| row.spot < at).copied().collect();
    let after: Vec<Row> = rows.iter().filter(|row| row.spot > at).copied().collect();
    let (is_beginning, is_end) = (before.len() <= size, after.len() <= size);
    let before = before[before.len().saturating_sub(size)..].to_vec();
    part.load_around(
        at,
        before,
        is_beginning,
        after.into_iter().take(size),
        is_end,
    );
}

#[test]
fn a_lane_that_begins_at_zero_has_begun_before_zero_is_done() {
    let mut world = World::new(PATIENT, 10);
    for version in [0, 1, 5] {
        world.arrive(version);
    }
    let due: Vec<bool> = world.rows().iter().map(|row| row.is_due).collect();
    assert_eq!(due, [true, false, false]);
    assert_eq!(said(&world)[1].1, "gap");
    world.complete();
    assert_eq!(world.moving().unwrap().spot.sequence, Some(1));
}

#[test]
fn a_rebuild_of_an_old_version_leaves_the_lane_where_it_is() {
    let mut world = World::new(PATIENT, 10);
    for version in 10..=12 {
        world.arrive(version);
        world.complete();
    }
    world.rebuild(10);
    world.complete();
    world.arrive(13);
    assert_eq!(world.moving().unwrap().spot.sequence, Some(13));
}

#[test]
fn one_event_changes_a_bounded_number_of_rows() {
    let order = Order::Arrival {
        on_terminal: OnTerminal::Park,
    };
    let mut world = World::new(order, STEP_MAX);
    for _ in 0..10 * STEP_MAX {
        world.arrive(0);
    }
    world.fail();
    let parked = |world: &World| {
        world
            .rows()
            .iter()
            .filter(|row| row.state == State::Parked)
            .count()
    };
    assert_eq!(parked(&world), STEP_MAX);
    world.keep_house();
    assert_eq!(parked(&world), 10 * STEP_MAX - 1);
}

#[test]
fn what_a_person_takes_back_no_longer_runs() {
    let order = Order::Arrival {
        on_terminal: OnTerminal::Park,
    };
    let spot = |number| Spot {
        sequence: None,
        number,
    };
    let failed = row(spot(1), Placed::parked(Cause::Terminal), Rerun::No);
    // Run by name before its turn, and to be tried again.
    let retrying = Row {
        state: State::FailedRetryable,
        ..row(spot(2), Placed::DUE, Rerun::No)
    };
    let mut window = Window::new(None);
    window.load_first([failed, retrying], true);
    window.load_moving(retrying.spot);
    let events = [failed, retrying].map(script::Event::TakePlace);
    window.run(order, NOW, &events, STEP_MAX).unwrap();
    let due: Vec<i64> = window
        .changes()
        .filter(|c| c.row.is_due)
        .map(|c| c.row.spot.number)
        .collect();
    assert_eq!(due, [1]);
}
