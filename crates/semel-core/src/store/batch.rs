//! The items of one call and their answers.

use smallvec::SmallVec;

use super::BATCH_MAX;
use crate::error::{Error, Kind, Result};

/// The items of a call, or their answers. A single one, which is the usual call, needs no allocation.
pub type Batch<T> = SmallVec<[T; 1]>;

/// A batch of one.
pub fn one<T>(item: T) -> Batch<T> {
    SmallVec::from_buf([item])
}

/// The answer to a batch of one. A store that answers one item with two answers has broken the contract.
pub fn only<A>(answers: Batch<Result<A>>) -> Result<A> {
    let mut answers = answers.into_iter();
    match (answers.next(), answers.next()) {
        (Some(answer), None) => answer,
        _ => Err(Error::new(
            Kind::Internal,
            "a store must give one answer per item",
        )),
    }
}

/// All answers, or the first error, for callers that cannot use a part of them.
pub fn all<A>(answers: Batch<Result<A>>) -> Result<Vec<A>> {
    answers.into_iter().collect()
}

/// The answers to a call of `len` items that failed as a whole.
pub fn each_fails<A>(len: usize, error: &Error) -> Batch<Result<A>> {
    (0..len).map(|_| Err(error.duplicate())).collect()
}

/// Puts `rest`, in its order, where `answers` has none yet.
pub fn merge<A>(
    answers: Batch<Option<Result<A>>>,
    rest: impl IntoIterator<Item = Result<A>>,
) -> Batch<Result<A>> {
    let mut rest = rest.into_iter();
    let missing = || Error::new(Kind::Internal, "a store must give one answer per item");
    let filled = answers
        .into_iter()
        .map(|answer| answer.or_else(|| rest.next()));
    filled
        .map(|answer| answer.unwrap_or_else(|| Err(missing())))
        .collect()
}

/// Refuses batches above [`BATCH_MAX`]; stores call it first in every verb.
pub fn check_batch(len: usize) -> Result<()> {
    if len > BATCH_MAX {
        let message = format!("a batch has at most {BATCH_MAX} items, found {len}");
        return Err(Error::new(Kind::Limit, message));
    }
    Ok(())
}
