//! The loop: start a worker, give it something to do, kill it, and again; then let everything finish.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use super::point::Point;
use super::{Scene, child};
use crate::random::Random;

/// Everything ends within this, or the run has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// Why a worker that has ended by itself fails the run.
const LIVES: &str = "a worker lives until it is killed";

/// What a worker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word<P> {
    /// The store is open.
    Ready,
    /// Something stands still at a point.
    At(P),
    /// A verb and what it is about, if anything; what it means is the test's.
    Said(String, String),
}

/// One life of a worker process, from its start to its end by SIGKILL.
pub(crate) type Life<P> = child::Life<Word<P>>;

fn word_of<P: Point>(line: &str) -> Word<P> {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["ready"] => Word::Ready,
        ["at", _, point] => Word::At(P::from_name(point).expect("a known point")),
        [verb] => Word::Said(verb.to_owned(), String::new()),
        [verb, about] => Word::Said(verb.to_owned(), about.to_owned()),
        _ => panic!("a worker said {line:?}"),
    }
}

/// Who asks workers for something, and takes note of what they say.
pub(crate) trait Plot {
    /// Where workers can be told to stand still.
    type Point: Point;

    /// A worker said this.
    fn note(&mut self, verb: &str, about: String);

    /// Kills a worker at `point`, which something fresh reaches for certain: a run proves every point, however few its
    /// kills are.
    fn death_at(&mut self, lives: &mut Lives<Self::Point>, point: Self::Point);

    /// A worker lives, works, and is killed: at a named point or at a random moment.
    fn life(&mut self, lives: &mut Lives<Self::Point>);

    /// One last life without a kill: everything gets its answer.
    fn finish(&mut self, lives: &mut Lives<Self::Point>);
}

/// How often workers were killed.
#[derive(Debug)]
pub(crate) struct Kills<P> {
    /// In all.
    pub(crate) total: usize,
    at: HashMap<P, usize>,
}

impl<P: Point> Kills<P> {
    fn at(&self, point: P) -> usize {
        self.at.get(&point).copied().unwrap_or(0)
    }

    /// What is wrong with a run that never reached one of the points: it has proven less than it says.
    pub(crate) fn missing(&self) -> impl Iterator<Item = String> {
        let missing = P::all().iter().filter(|point| self.at(**point) == 0);
        missing.map(|point| format!("{} saw no kill", point.name()))
    }
}

impl<P: Point> fmt::Display for Kills<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "killed")?;
        for point in P::all() {
            write!(f, " {} {},", point.name(), self.at(*point))?;
        }
        let named: usize = self.at.values().sum();
        write!(f, " at random {}", self.total - named)
    }
}

/// The workers of one run.
pub(crate) struct Lives<P> {
    words: String,
    pub(crate) random: Random,
    pub(crate) kills: Kills<P>,
}

impl<P: Point> Lives<P> {
    /// Kills workers at every point and `kills` times in all, then lets everything finish.
    pub(crate) fn spend(
        scene: &Scene,
        seed: u64,
        kills: usize,
        plot: &mut impl Plot<Point = P>,
    ) -> Kills<P> {
        let mut lives = Self {
            words: scene.words(),
            random: Random::new(seed),
            kills: Kills {
                total: 0,
                at: HashMap::new(),
            },
        };
        for point in P::all() {
            plot.death_at(&mut lives, *point);
        }
        while lives.kills.total < kills {
            plot.life(&mut lives);
        }
        plot.finish(&mut lives);
        lives.kills
    }

    /// A new worker.
    pub(crate) fn begin(&self) -> Life<P> {
        Life::begin(&self.words, word_of)
    }

    /// One of `count`.
    pub(crate) fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.random.below(count as u64)).unwrap_or(0)
    }

    /// Kills a worker, with its rival if it has one, where it stood still or at this moment.
    pub(crate) fn bury(
        &mut self,
        plot: &mut impl Plot<Point = P>,
        life: Life<P>,
        rival: Option<Life<P>>,
        at: Option<P>,
    ) {
        for dead in std::iter::once(life).chain(rival) {
            self.kills.total += 1;
            for word in dead.kill() {
                noted(plot, word);
            }
        }
        if let Some(point) = at {
            *self.kills.at.entry(point).or_default() += 1;
        }
    }
}

/// Takes note of a word; where something stands still, if that is what it says.
fn noted<T: Plot>(plot: &mut T, word: Word<T::Point>) -> Option<T::Point> {
    match word {
        Word::Ready => {}
        Word::At(point) => return Some(point),
        Word::Said(verb, about) => plot.note(&verb, about),
    }
    None
}

impl<P: Point> Life<P> {
    /// Waits until the worker serves, or something stands still.
    pub(crate) fn await_ready(&self, plot: &mut impl Plot<Point = P>) -> Option<P> {
        loop {
            match self.hear(PATIENCE).expect(LIVES)? {
                Word::Ready => return None,
                word => {
                    if let Some(point) = noted(plot, word) {
                        return Some(point);
                    }
                }
            }
        }
    }

    /// Listens until something stands still at a point, enough is said, or nothing is heard for `patience`.
    pub(crate) fn listen<T: Plot<Point = P>>(
        &self,
        plot: &mut T,
        patience: Duration,
        enough: impl Fn(&T) -> bool,
    ) -> Option<P> {
        while !enough(plot) {
            let word = self.hear(patience).expect(LIVES)?;
            if let Some(point) = noted(plot, word) {
                return Some(point);
            }
        }
        None
    }

    /// Listens until enough is said; silence fails the run.
    pub(crate) fn finish<T: Plot<Point = P>>(
        &mut self,
        plot: &mut T,
        mut enough: impl FnMut(&mut T, &mut Self) -> bool,
    ) {
        while !enough(plot, self) {
            let word = self.hear(PATIENCE).expect(LIVES);
            noted(plot, word.expect("a worker that finds an end"));
        }
    }
}
