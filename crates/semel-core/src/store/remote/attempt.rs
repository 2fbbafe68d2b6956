//! Trying again: a batch until it is answered, its parts after it failed, the culprit by itself.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Pauses;
use crate::error::{Error, Kind};
use crate::store::Batch;
use crate::store::batcher::Item;

/// How often items that met another transaction are tried again at once.
pub const COLLISIONS_MAX: usize = 20;

/// The pauses before items are tried again that had to wait for their server.
const PAUSES: Pauses = Pauses::new(Duration::from_millis(25), Duration::from_millis(200));

/// A verb of a store, as one round trip.
///
/// A batch in which nothing is wrong is one statement, script or batch call. What can be answered is answered, also
/// if something else in the batch fails. Asking twice must be safe for every item: a claim is known by its nonce,
/// and every other verb by its fence.
pub trait Attempt<I: Item>: Sync {
    /// Asks once. One result per item, in the order of the items.
    fn attempt(
        &self,
        items: &[&I],
    ) -> impl Future<Output = Batch<Result<I::Answer, Failure>>> + Send;
}

/// Why an item has no answer.
#[derive(Debug)]
pub struct Failure {
    /// What its caller hears if nothing helps.
    pub error: Error,
    /// What may help.
    pub remedy: Remedy,
    /// Whether the item may have been done all the same: it was sent, and no answer came.
    pub lost: bool,
}

/// What may help against a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// To ask again at once, up to [`COLLISIONS_MAX`] times: two transactions met, and one was rolled back.
    Again,
    /// To ask again once, on another connection: this server is not the right one, or no longer.
    Elsewhere,
    /// To ask again after a pause, while there is patience: the connection broke, or the server throttles.
    Later,
    /// The same, but only for an item that was lost before: nothing was sent this time, and the caller of an item that
    /// was never sent can be refused at once.
    LaterIfLost,
    /// To ask apart from the rest of the batch: something in it spoils it for all. Alone, nothing helps.
    Apart,
    /// Nothing.
    Nothing,
}

impl Failure {
    /// One for each item of a batch that failed as a whole.
    pub fn of_each<A>(self, len: usize) -> Batch<Result<A, Self>> {
        let Self {
            error,
            remedy,
            lost,
        } = self;
        let failure = || Self {
            error: error.duplicate(),
            remedy,
            lost,
        };
        (0..len).map(|_| Err(failure())).collect()
    }
}

/// Has a batch answered, within `patience` where waiting helps.
///
/// A batch that has to be taken apart is cut into about as many parts as each then has items, and a part that fails
/// again is asked item by item: one culprit in a thousand costs some sixty round trips, not a thousand. A failure
/// that is returned has `lost` set if any try of its item was lost.
pub async fn answered<I: Item + Sync, T: Attempt<I>>(
    attempt: &T,
    items: &[I],
    patience: Duration,
) -> Batch<Result<I::Answer, Failure>> {
    let mut trial = Trial {
        attempt,
        items,
        answers: items.iter().map(|_| None).collect(),
        lost: vec![false; items.len()],
        until: Instant::now() + patience,
    };
    let apart = trial.insist((0..items.len()).collect()).await;
    let part = apart.len().isqrt().max(1);
    for places in apart.chunks(part) {
        for culprit in trial.insist(places.to_vec()).await {
            trial.insist(vec![culprit]).await;
        }
    }
    trial.into_answers()
}

/// A batch, and what has become of its items.
struct Trial<'a, I: Item, T> {
    attempt: &'a T,
    items: &'a [I],
    answers: Vec<Option<Result<I::Answer, Failure>>>,
    lost: Vec<bool>,
    until: Instant,
}

/// What became of a round trip besides answers.
#[derive(Default)]
struct Open {
    /// To be asked again together.
    again: Vec<usize>,
    /// To be asked in smaller company.
    apart: Vec<usize>,
    pause: bool,
}

impl<I: Item + Sync, T: Attempt<I>> Trial<'_, I, T> {
    /// Asks for the items at `places` until nothing more can be done about them together. Returns those that must be
    /// asked apart.
    async fn insist(&mut self, mut places: Vec<usize>) -> Vec<usize> {
        let (mut apart, mut pauses, mut round) = (Vec::new(), PAUSES, 0);
        while !places.is_empty() {
            let asked: Vec<&I> = places.iter().map(|place| &self.items[*place]).collect();
            let results = self.attempt.attempt(&asked).await;
            debug_assert_eq!(results.len(), places.len(), "one result per item");
            let open = self.take_in(&places, results, round);
            apart.extend(open.apart);
            places = open.again;
            round += 1;
            if open.pause && !places.is_empty() {
                sleep(pauses.take()).await;
            }
        }
        apart
    }

    fn take_in(
        &mut self,
        places: &[usize],
        results: Batch<Result<I::Answer, Failure>>,
        round: usize,
    ) -> Open {
        let (alone, in_time) = (places.len() == 1, Instant::now() < self.until);
        let mut open = Open::default();
        for (place, result) in places.iter().copied().zip(results) {
            let Err(mut failure) = result else {
                self.answers[place] = Some(result);
                continue;
            };
            self.lost[place] |= failure.lost;
            let lost = self.lost[place];
            let again = match failure.remedy {
                Remedy::Again => round < COLLISIONS_MAX,
                Remedy::Elsewhere => round == 0 || (lost && in_time),
                Remedy::Later => in_time,
                Remedy::LaterIfLost => lost && in_time,
                Remedy::Apart if !alone => {
                    open.apart.push(place);
                    continue;
                }
                Remedy::Apart | Remedy::Nothing => false,
            };
            if again {
                open.pause |= failure.remedy != Remedy::Again && round > 0;
                open.again.push(place);
            } else {
                failure.lost = lost;
                self.answers[place] = Some(Err(failure));
            }
        }
        open
    }

    fn into_answers(self) -> Batch<Result<I::Answer, Failure>> {
        let unanswered = || Failure {
            error: Error::new(Kind::Internal, "a store must give one answer per item"),
            remedy: Remedy::Nothing,
            lost: true,
        };
        let answers = self.answers.into_iter();
        answers
            .map(|a| a.unwrap_or_else(|| Err(unanswered())))
            .collect()
    }
}

#[cfg(test)]
mod tests;
