//! The loop: start a worker, give it operations, kill it, and again; then let everything finish.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use semel_core::OnUnknown;

use super::life::{Life, Word, word_of};
use super::worker::Job;
use super::{Open, Point, Verdict, verdict};
use crate::dice::Dice;

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
/// Everything ends within this, or the run has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// What happened, as the callers saw it.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) kills: usize,
    pub(super) kills_at: HashMap<Point, usize>,
    pub(super) asked: BTreeSet<String>,
    pub(super) done: BTreeSet<String>,
    pub(super) held: BTreeSet<String>,
}

/// Kills workers `kills` times under `policy` and says whether the rules held.
pub(super) fn prove(policy: OnUnknown, kills: usize, seed: u64, open: Open) -> Verdict {
    let dir = std::env::temp_dir().join(format!(
        "semel-crash-{}-{:016x}",
        policy.name(),
        crate::dice::fresh_seed()
    ));
    std::fs::create_dir_all(&dir).expect("a temporary directory");
    let job = Job { dir, policy };
    let mut supervisor = Supervisor {
        dice: Dice::new(seed ^ policy.name().len() as u64),
        waiting: VecDeque::new(),
        account: Account::default(),
        job,
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
    /// Operations whose callers have not been told anything final.
    waiting: VecDeque<String>,
    account: Account,
}

/// Asks for an operation, to stand still at `stop` if there is one.
fn ask(life: &mut Life, operation: &str, stop: Option<Point>) {
    let stop = stop.map_or("-", Point::name);
    life.tell(&format!("run {operation} {stop}"));
}

impl Supervisor {
    fn begin(&self) -> Life {
        Life::begin(&self.job.words(), word_of)
    }

    /// A worker lives, works, and is killed: at a named point or at a random moment; at times
    /// beside a rival that is killed with it.
    fn one_life(&mut self) {
        let mut life = self.begin();
        while self.waiting.len() < AT_ONCE {
            let name = self.new_operation();
            self.waiting.push_back(name);
        }
        for operation in self.waiting.iter().take(AT_ONCE) {
            let point = LIKELY[usize::try_from(self.dice.below(LIKELY.len() as u64)).unwrap_or(0)];
            let stop = self.dice.chance(25).then_some(point);
            ask(&mut life, operation, stop);
        }
        let rival = self.dice.chance(30).then(|| self.rival());
        let moment = Duration::from_millis(self.dice.below(60));
        let at = match self.dice.below(100) {
            0..75 => self.listen(&life, PATIENCE),
            // Some die while they open their store, the others while they work.
            75..80 => self.listen(&life, moment),
            _ => self
                .await_ready(&life)
                .or_else(|| self.listen(&life, moment)),
        };
        self.bury(life, rival, at);
    }

    /// A worker is killed at `point`, which a fresh operation reaches for certain: a run proves every
    /// point, however few its kills are.
    fn one_death_at(&mut self, point: Point) {
        let mut life = self.begin();
        let name = self.new_operation();
        ask(&mut life, &name, Some(point));
        self.waiting.push_front(name);
        let at = self.listen(&life, PATIENCE);
        self.bury(life, None, at);
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

    /// A second worker on the same operations at the same time: duplicates across processes.
    fn rival(&self) -> Life {
        let mut rival = self.begin();
        for operation in self.waiting.iter().take(AT_ONCE) {
            ask(&mut rival, operation, None);
        }
        rival
    }

    /// Waits until the worker serves.
    fn await_ready(&mut self, life: &Life) -> Option<Point> {
        loop {
            let heard = life.hear(PATIENCE);
            match heard.expect("a worker lives until it is killed")? {
                Word::Ready => return None,
                Word::At(point) => return Some(point),
                word => self.note(word),
            }
        }
    }

    /// Listens until an operation stands still at a point, everything is said, or patience ends.
    fn listen(&mut self, life: &Life, patience: Duration) -> Option<Point> {
        let mut said = 0;
        while said < AT_ONCE.min(self.waiting.len()) {
            match life
                .hear(patience)
                .expect("a worker lives until it is killed")
            {
                Some(Word::At(point)) => return Some(point),
                Some(Word::Again(_)) => said += 1,
                Some(word) => self.note(word),
                None => return None,
            }
        }
        None
    }

    fn new_operation(&mut self) -> String {
        let number = self.account.asked.len();
        let kind = if number.is_multiple_of(2) {
            "plain"
        } else {
            "checked"
        };
        let name = format!("op-{number}-{kind}");
        self.account.asked.insert(name.clone());
        name
    }

    fn note(&mut self, word: Word) {
        let (operation, told) = match word {
            Word::Done(operation) => (operation, &mut self.account.done),
            Word::Held(operation) => (operation, &mut self.account.held),
            Word::Ready | Word::At(_) | Word::Again(_) => return,
        };
        self.waiting.retain(|waiting| *waiting != operation);
        told.insert(operation);
    }

    /// One last life without a kill: every caller gets an answer.
    fn finish(&mut self) {
        let mut life = self.begin();
        let waiting: Vec<String> = self.waiting.iter().cloned().collect();
        for operation in &waiting {
            ask(&mut life, operation, None);
        }
        while !self.waiting.is_empty() {
            match life
                .hear(PATIENCE)
                .expect("a worker lives until it is killed")
            {
                Some(Word::Again(operation)) => ask(&mut life, &operation, None),
                Some(word) => self.note(word),
                None => panic!("no answer about {:?}", self.waiting),
            }
        }
    }
}
