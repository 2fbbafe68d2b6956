//! What a worker says.

use super::Point;

/// What a worker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// The store is open and operations are served.
    Ready,
    /// An operation stands still at a point.
    At(Point),
    /// The caller was told that it is done.
    Done(String),
    /// The caller was told that its outcome is unknown.
    Held(String),
    /// The caller was told to ask again.
    Again(String),
}

/// One life of a worker process, from its start to its end by SIGKILL.
pub(super) type Life = crate::child::Life<Word>;

pub(super) fn word_of(line: &str) -> Word {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["ready"] => Word::Ready,
        ["at", _, point] => Word::At(Point::from_name(point).expect("a known point")),
        ["done", operation] => Word::Done(operation.to_owned()),
        ["held", operation] => Word::Held(operation.to_owned()),
        ["again", operation] => Word::Again(operation.to_owned()),
        _ => panic!("a worker said {line:?}"),
    }
}
