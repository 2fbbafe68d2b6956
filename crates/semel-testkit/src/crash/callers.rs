//! Who asks for operations: what they asked for, and what they were told.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::Point;
use crate::killing::{Life, Lives, PATIENCE, Plot, Point as _};

/// Operations that one worker has at a time.
const AT_ONCE: usize = 6;
/// Where workers are told to stand still: late points more often, because the first operation
/// to reach its point ends the life, and early points are reached first.
const LIKELY: [Point; 10] = [
    Point::BeforeClaim,
    Point::AfterClaim,
    Point::AfterClaim,
    Point::DuringRun,
    Point::DuringRun,
    Point::AfterEffect,
    Point::AfterEffect,
    Point::AfterEffect,
    Point::AfterSettle,
    Point::AfterSettle,
];

/// What happened, as the callers saw it.
#[derive(Debug, Default)]
pub(super) struct Callers {
    pub(super) asked: BTreeSet<String>,
    pub(super) done: BTreeSet<String>,
    pub(super) held: BTreeSet<String>,
    /// Operations whose callers have not been told anything final.
    waiting: VecDeque<String>,
    /// Operations whose callers were told to ask again, since the last look.
    again: Vec<String>,
}

/// Asks for an operation, to stand still at `stop` if there is one.
fn ask(life: &mut Life<Point>, operation: &str, stop: Option<Point>) {
    let stop = stop.map_or("-", Point::name);
    life.tell(&format!("run {operation} {stop}"));
}

impl Callers {
    fn new_operation(&mut self) -> String {
        let number = self.asked.len();
        let kind = if number.is_multiple_of(2) {
            "plain"
        } else {
            "checked"
        };
        let name = format!("op-{number}-{kind}");
        self.asked.insert(name.clone());
        name
    }

    /// Listens until an operation stands still at a point, everything is said, or patience ends.
    fn listen(&mut self, life: &Life<Point>, patience: Duration) -> Option<Point> {
        self.again.clear();
        let all_said = |callers: &Self| callers.again.len() >= AT_ONCE.min(callers.waiting.len());
        life.listen(self, patience, all_said)
    }

    /// A second worker on the same operations at the same time: duplicates across processes.
    fn rival(&self, lives: &Lives<Point>) -> Life<Point> {
        let mut rival = lives.begin();
        for operation in self.waiting.iter().take(AT_ONCE) {
            ask(&mut rival, operation, None);
        }
        rival
    }
}

impl Plot for Callers {
    type Point = Point;

    fn note(&mut self, verb: &str, operation: String) {
        let told = match verb {
            "done" => &mut self.done,
            "held" => &mut self.held,
            "again" => return self.again.push(operation),
            _ => panic!("a worker said {verb:?}"),
        };
        self.waiting.retain(|waiting| *waiting != operation);
        told.insert(operation);
    }

    fn death_at(&mut self, lives: &mut Lives<Point>, point: Point) {
        let mut life = lives.begin();
        let name = self.new_operation();
        ask(&mut life, &name, Some(point));
        self.waiting.push_front(name);
        let at = self.listen(&life, PATIENCE);
        lives.bury(self, life, None, at);
    }

    fn life(&mut self, lives: &mut Lives<Point>) {
        let mut life = lives.begin();
        while self.waiting.len() < AT_ONCE {
            let name = self.new_operation();
            self.waiting.push_back(name);
        }
        for operation in self.waiting.iter().take(AT_ONCE) {
            let point = LIKELY[lives.pick(LIKELY.len())];
            let stop = lives.random.chance(25).then_some(point);
            ask(&mut life, operation, stop);
        }
        let rival = lives.random.chance(30).then(|| self.rival(lives));
        let moment = Duration::from_millis(lives.random.below(60));
        let at = match lives.random.below(100) {
            0..75 => self.listen(&life, PATIENCE),
            // Some die while they open their store, the others while they work.
            75..80 => self.listen(&life, moment),
            _ => {
                let at = life.await_ready(self);
                at.or_else(|| self.listen(&life, moment))
            }
        };
        lives.bury(self, life, rival, at);
    }

    fn finish(&mut self, lives: &mut Lives<Point>) {
        let mut life = lives.begin();
        self.again = self.waiting.iter().cloned().collect();
        life.finish(self, |callers, life| {
            for operation in callers.again.drain(..) {
                ask(life, &operation, None);
            }
            callers.waiting.is_empty()
        });
    }
}
