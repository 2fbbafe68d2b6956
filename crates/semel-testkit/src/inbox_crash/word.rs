//! What a worker says.

use super::Point;

/// What a worker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// The inbox is open and messages are served.
    Ready,
    /// A message stands still at a point.
    At(Point),
    /// The source was told about a message.
    Acked(String),
    /// A message's effect and outcome are written.
    Done(String),
    /// A message was set to be replayed.
    Replaying(String),
    /// Nothing is left to do, and nothing is scheduled.
    Drained,
}

/// One life of a worker process, from its start to its end by SIGKILL.
pub(super) type Life = crate::child::Life<Word>;

/// What a line means.
pub(super) fn word_of(line: &str) -> Word {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["ready"] => Word::Ready,
        ["at", _, point] => Word::At(Point::from_name(point).expect("a known point")),
        ["acked", id] => Word::Acked(id.to_owned()),
        ["done", id] => Word::Done(id.to_owned()),
        ["replaying", id] => Word::Replaying(id.to_owned()),
        ["drained"] => Word::Drained,
        _ => panic!("a worker said {line:?}"),
    }
}
