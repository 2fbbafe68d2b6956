//! The loop: start a worker, deliver messages, kill it, and again; then let everything finish.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::job::{Job, Kind, id_of, kind_of};
use super::word::{Life, Word, word_of};
use super::{Open, Opened, Point, Verdict, verdict};
use crate::dice::Dice;

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
/// Everything ends within this, or the run has failed.
const PATIENCE: Duration = Duration::from_secs(20);
/// A life that nobody stopped ends when nothing was heard for so long: a few leases.
const SILENCE: Duration = Duration::from_millis(400);

/// What happened, as the source and the operator saw it.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) kills: usize,
    pub(super) kills_at: HashMap<Point, usize>,
    pub(super) delivered: BTreeSet<String>,
    pub(super) acked: BTreeSet<String>,
    pub(super) done: BTreeSet<String>,
    pub(super) replayed: BTreeSet<String>,
}

/// Kills workers `kills` times and says whether the rules held.
pub(super) fn prove(kills: usize, seed: u64, open: Open<Opened>) -> Verdict {
    let name = format!("semel-inbox-{:016x}", crate::dice::fresh_seed());
    let dir = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&dir).expect("a temporary directory");
    let mut supervisor = Supervisor {
        job: Job { dir },
        dice: Dice::new(seed),
        account: Account::default(),
    };
    for point in Point::ALL {
        supervisor.one_death_at(point);
    }
    while supervisor.account.kills < kills {
        supervisor.one_life();
    }
    supervisor.finish();
    let verdict = verdict::judge(&supervisor.job, &supervisor.account, open);
    if verdict.wrong.is_empty() {
        // What a failed run left behind is kept for whoever looks into it.
        let _ = std::fs::remove_dir_all(&supervisor.job.dir);
    }
    verdict
}

struct Supervisor {
    job: Job,
    dice: Dice,
    account: Account,
}

impl Supervisor {
    /// A worker is killed at `point`, which a fresh message reaches for certain: a run proves every
    /// point, however few its kills are.
    fn one_death_at(&mut self, point: Point) {
        let mut life = self.begin();
        let kind = match point {
            Point::DuringRetry => Kind::Retry,
            Point::AfterWrite => Kind::Late,
            _ => Kind::Plain,
        };
        let id = self.new_message(kind, false);
        if point == Point::DuringReplay {
            deliver(&mut life, &id, None);
            self.listen(&life, PATIENCE, |account| account.done.contains(&id));
            replay(&mut life, &id, Some(point));
        } else {
            deliver(&mut life, &id, Some(point));
        }
        let at = self.listen(&life, PATIENCE, |_| false);
        assert_eq!(at, Some(point), "{id} stands still where it was told to");
        self.bury(life, None, at);
    }

    /// A worker lives, works, and is killed: at a named point or at a random moment; at times
    /// beside a rival that is killed with it.
    fn one_life(&mut self) {
        let mut life = self.begin();
        let ids = self.deliveries();
        let mut stopped = false;
        for id in &ids {
            let stop = self.stop_for(id);
            stopped |= stop.is_some();
            deliver(&mut life, id, stop);
        }
        if self.dice.chance(30)
            && let Some(id) = self.any_done()
        {
            let stop = self.dice.chance(50).then_some(Point::DuringReplay);
            replay(&mut life, &id, stop);
        }
        let rival = self.dice.chance(30).then(|| self.rival(&ids));
        let moment = Duration::from_millis(self.dice.below(60));
        let all_done = |account: &Account| ids.iter().all(|id| account.done.contains(id));
        let at = match self.dice.below(100) {
            0..60 if stopped => self.listen(&life, SILENCE, |_| false),
            0..70 => self.listen(&life, SILENCE, all_done),
            // Some die while they open their store, the others while they work.
            70..75 => self.listen(&life, moment, |_| false),
            _ => self
                .await_ready(&life)
                .or_else(|| self.listen(&life, moment, |_| false)),
        };
        self.bury(life, rival, at);
    }

    /// What the source delivers: what was not acknowledged, a few new ones, and now and then one that is done.
    fn deliveries(&mut self) -> Vec<String> {
        let open = self.account.delivered.difference(&self.account.acked);
        let mut ids: Vec<String> = open.take(AT_ONCE).cloned().collect();
        while ids.len() < AT_ONCE {
            let kind = [Kind::Plain, Kind::Retry, Kind::Late][self.pick(3)];
            let in_lane = self.dice.chance(50);
            ids.push(self.new_message(kind, in_lane));
        }
        if self.dice.chance(50) {
            ids.extend(self.any_done().filter(|id| !ids.contains(id)));
        }
        ids
    }

    /// Where a message is to stand still, if anywhere: at a point that it can reach.
    fn stop_for(&mut self, id: &str) -> Option<Point> {
        let point = LIKELY[self.pick(LIKELY.len())];
        let is_done = self.account.done.contains(id);
        let reached = match point {
            Point::DuringRetry => !is_done && kind_of(id) == Kind::Retry,
            _ => !is_done,
        };
        (reached && self.dice.chance(25)).then_some(point)
    }

    fn any_done(&mut self) -> Option<String> {
        let count = self.account.done.len();
        let place = (count > 0).then(|| self.pick(count))?;
        self.account.done.iter().nth(place).cloned()
    }

    fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.dice.below(count as u64)).unwrap_or(0)
    }

    fn new_message(&mut self, kind: Kind, in_lane: bool) -> String {
        let id = id_of(self.account.delivered.len(), kind, in_lane);
        self.account.delivered.insert(id.clone());
        id
    }

    fn begin(&self) -> Life {
        Life::begin(&self.job.words(), word_of)
    }

    /// A second worker that gets the same messages at the same time: duplicates across processes.
    fn rival(&self, ids: &[String]) -> Life {
        let mut rival = self.begin();
        for id in ids {
            deliver(&mut rival, id, None);
        }
        rival
    }

    fn bury(&mut self, life: Life, rival: Option<Life>, at: Option<Point>) {
        for dead in std::iter::once(life).chain(rival) {
            self.account.kills += 1;
            for word in dead.kill() {
                self.note(word);
            }
        }
        if let Some(point) = at {
            *self.account.kills_at.entry(point).or_default() += 1;
        }
    }

    /// Waits until the worker serves.
    fn await_ready(&mut self, life: &Life) -> Option<Point> {
        loop {
            match life.hear(PATIENCE).expect(LIVES)? {
                Word::Ready => return None,
                Word::At(point) => return Some(point),
                word => self.note(word),
            }
        }
    }

    /// Listens until a message stands still at a point, enough is said, or nothing is heard for `patience`.
    fn listen(
        &mut self,
        life: &Life,
        patience: Duration,
        enough: impl Fn(&Account) -> bool,
    ) -> Option<Point> {
        while !enough(&self.account) {
            match life.hear(patience).expect(LIVES)? {
                Word::At(point) => return Some(point),
                word => self.note(word),
            }
        }
        None
    }

    fn note(&mut self, word: Word) {
        let account = &mut self.account;
        match word {
            Word::Acked(id) => drop(account.acked.insert(id)),
            Word::Done(id) => drop(account.done.insert(id)),
            Word::Replaying(id) => drop(account.replayed.insert(id)),
            Word::Ready | Word::At(_) | Word::Drained => {}
        }
    }

    /// One last life without a kill: everything that was delivered is acknowledged and dealt with.
    fn finish(&mut self) {
        let mut life = self.begin();
        let open = self.account.delivered.difference(&self.account.acked);
        for id in open {
            deliver(&mut life, id, None);
        }
        life.tell("drain");
        loop {
            match life.hear(PATIENCE).expect(LIVES) {
                Some(Word::Drained) => return,
                Some(word) => self.note(word),
                None => panic!("a worker found no end"),
            }
        }
    }
}

const LIVES: &str = "a worker lives until it is killed";

/// Delivers a message, to stand still at `stop` if there is one.
fn deliver(life: &mut Life, id: &str, stop: Option<Point>) {
    life.tell(&format!("deliver {id} {}", stop.map_or("-", Point::name)));
}

/// Has a message replayed, to stand still at `stop` if there is one.
fn replay(life: &mut Life, id: &str, stop: Option<Point>) {
    life.tell(&format!("replay {id} {}", stop.map_or("-", Point::name)));
}
