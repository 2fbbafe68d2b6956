//! Where messages come from: what it delivered, and what it and the operator were told.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Point;
use super::job::{Kind, id_of, kind_of};
use crate::killing::{Life, Lives, PATIENCE, Plot, Point as _};

/// Messages that are delivered to one worker.
const AT_ONCE: usize = 6;
/// Where messages are told to stand still: late points more often, because the first message
/// to reach its point ends the life, and early points are reached first.
const LIKELY: [Point; 16] = [
    Point::BeforeReceive,
    Point::BeforeAck,
    Point::AfterAck,
    Point::BeforeClaim,
    Point::AfterClaim,
    Point::AfterStep,
    Point::AfterStep,
    Point::AfterCall,
    Point::AfterCall,
    Point::AfterWrite,
    Point::AfterWrite,
    Point::DuringRetry,
    Point::DuringRetry,
    Point::DuringRetry,
    Point::AfterSend,
    Point::AfterSend,
];
/// A life that the supervisor did not stop ends when nothing was heard for so long: a few leases.
const SILENCE: Duration = Duration::from_millis(400);

/// What happened, as the source and the operator saw it.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) delivered: BTreeSet<String>,
    pub(super) acked: BTreeSet<String>,
    pub(super) done: BTreeSet<String>,
    pub(super) replayed: BTreeSet<String>,
    drained: bool,
}

impl Source {
    /// What the source delivers: what was not acknowledged, a few new ones, and now and then one that is done.
    fn deliveries(&mut self, lives: &mut Lives<Point>) -> Vec<String> {
        let open = self.delivered.difference(&self.acked);
        let mut ids: Vec<String> = open.take(AT_ONCE).cloned().collect();
        while ids.len() < AT_ONCE {
            let kind = [Kind::Plain, Kind::Retry, Kind::Late][lives.pick(3)];
            let in_lane = lives.random.chance(50);
            ids.push(self.new_message(kind, in_lane));
        }
        if lives.random.chance(50) {
            ids.extend(self.any_done(lives).filter(|id| !ids.contains(id)));
        }
        ids
    }

    /// Where a message is to stand still, if anywhere: at a point that it can reach.
    fn stop_for(&self, lives: &mut Lives<Point>, id: &str) -> Option<Point> {
        let point = LIKELY[lives.pick(LIKELY.len())];
        let is_done = self.done.contains(id);
        let reached = match point {
            Point::DuringRetry => !is_done && kind_of(id) == Kind::Retry,
            _ => !is_done,
        };
        (reached && lives.random.chance(25)).then_some(point)
    }

    fn any_done(&self, lives: &mut Lives<Point>) -> Option<String> {
        let count = self.done.len();
        let place = (count > 0).then(|| lives.pick(count))?;
        self.done.iter().nth(place).cloned()
    }

    fn new_message(&mut self, kind: Kind, in_lane: bool) -> String {
        let id = id_of(self.delivered.len(), kind, in_lane);
        self.delivered.insert(id.clone());
        id
    }
}

/// A second worker that gets the same messages at the same time: duplicates across processes.
fn rival(lives: &Lives<Point>, ids: &[String]) -> Life<Point> {
    let mut rival = lives.begin();
    for id in ids {
        tell(&mut rival, "deliver", id, None);
    }
    rival
}

/// Has a message delivered or replayed, to stand still at `stop` if there is one.
fn tell(life: &mut Life<Point>, verb: &str, id: &str, stop: Option<Point>) {
    life.tell(&format!("{verb} {id} {}", stop.map_or("-", Point::name)));
}

impl Plot for Source {
    type Point = Point;

    fn note(&mut self, verb: &str, id: String) {
        match verb {
            "acked" => drop(self.acked.insert(id)),
            "done" => drop(self.done.insert(id)),
            "replaying" => drop(self.replayed.insert(id)),
            "drained" => self.drained = true,
            _ => panic!("a worker said {verb:?}"),
        }
    }

    fn death_at(&mut self, lives: &mut Lives<Point>, point: Point) {
        let mut life = lives.begin();
        let kind = match point {
            Point::DuringRetry => Kind::Retry,
            Point::AfterWrite => Kind::Late,
            _ => Kind::Plain,
        };
        let id = self.new_message(kind, false);
        if point == Point::DuringReplay {
            tell(&mut life, "deliver", &id, None);
            life.listen(self, PATIENCE, |source| source.done.contains(&id));
            tell(&mut life, "replay", &id, Some(point));
        } else {
            tell(&mut life, "deliver", &id, Some(point));
        }
        let at = life.listen(self, PATIENCE, |_| false);
        assert_eq!(at, Some(point), "{id} stands still where it was told to");
        lives.bury(self, life, None, at);
    }

    fn life(&mut self, lives: &mut Lives<Point>) {
        let mut life = lives.begin();
        let ids = self.deliveries(lives);
        let mut stopped = false;
        for id in &ids {
            let stop = self.stop_for(lives, id);
            stopped |= stop.is_some();
            tell(&mut life, "deliver", id, stop);
        }
        if lives.random.chance(30)
            && let Some(id) = self.any_done(lives)
        {
            let stop = lives.random.chance(50).then_some(Point::DuringReplay);
            tell(&mut life, "replay", &id, stop);
        }
        let rival = lives.random.chance(30).then(|| rival(lives, &ids));
        let moment = Duration::from_millis(lives.random.below(60));
        let all_done = |source: &Self| ids.iter().all(|id| source.done.contains(id));
        let at = match lives.random.below(100) {
            0..60 if stopped => life.listen(self, SILENCE, |_| false),
            0..70 => life.listen(self, SILENCE, all_done),
            // Some die while they open their store, the others while they work.
            70..75 => life.listen(self, moment, |_| false),
            _ => {
                let at = life.await_ready(self);
                at.or_else(|| life.listen(self, moment, |_| false))
            }
        };
        lives.bury(self, life, rival, at);
    }

    /// Everything that was delivered is acknowledged and dealt with.
    fn finish(&mut self, lives: &mut Lives<Point>) {
        let mut life = lives.begin();
        for id in self.delivered.difference(&self.acked) {
            tell(&mut life, "deliver", id, None);
        }
        life.tell("drain");
        life.finish(self, |source, _| source.drained);
    }
}
