//! A caller that sends one request until it knows what became of it, to whichever gateway lives.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use crate::fleet::{Fleet, NODES, Unknown};
use crate::support::{Answer, PATIENCE, ask, field};

/// How long a caller waits before it tries again what cannot succeed at once.
const PAUSE: Duration = Duration::from_millis(50);

/// What a caller knows in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    Done { body: String, replayed: bool },
    Unknown,
}

impl Told {
    pub(crate) fn body(&self) -> Option<&str> {
        match self {
            Self::Done { body, .. } => Some(body),
            Self::Unknown => None,
        }
    }

    pub(crate) const fn is_replay(&self) -> bool {
        matches!(self, Self::Done { replayed: true, .. })
    }
}

/// What callers saw on their way.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// No answer, or half of one.
    pub(crate) cut: AtomicUsize,
    /// 503: the store is away.
    pub(crate) away: AtomicUsize,
}

/// Somebody who knows all gateways.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller<'a> {
    addrs: [SocketAddr; NODES],
    unknown: Unknown,
    seen: &'a Seen,
}

impl<'a> Caller<'a> {
    pub(crate) const fn of(fleet: &Fleet<'_>, seen: &'a Seen) -> Self {
        Self {
            addrs: fleet.addrs(),
            unknown: fleet.unknown(),
            seen,
        }
    }

    /// Sends the request for `key` to gateway `first` and, if need be, to the others in turn.
    pub(crate) fn call(self, first: usize, key: &str) -> Told {
        let until = Instant::now() + PATIENCE;
        let turns = self.addrs.iter().cycle().skip(first);
        for addr in turns.take_while(|_| Instant::now() < until) {
            let answer = ask(*addr, "POST", "/pay", &[("Idempotency-Key", key)], "{}");
            let Some(answer) = answer.filter(is_whole) else {
                self.seen.cut.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            match understood(answer, self.unknown) {
                Meaning::Final(told) => return told,
                Meaning::Later => {}
                Meaning::Away => {
                    self.seen.away.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(PAUSE);
                }
            }
        }
        panic!("{key} comes to no end")
    }
}

enum Meaning {
    Final(Told),
    /// Ask again.
    Later,
    /// Ask again, after a pause.
    Away,
}

fn understood(answer: Answer, unknown: Unknown) -> Meaning {
    let is = |name: &str| answer.body.contains(&format!("urn:semel:problem:{name}\""));
    let comes_back = field(&answer.head, "Retry-After").is_some();
    match answer.status {
        201 => Meaning::Final(Told::Done {
            replayed: answer.is_replay(),
            body: answer.body,
        }),
        409 if is("in-progress") && comes_back => Meaning::Later,
        409 if is("outcome-unknown") => match unknown {
            Unknown::Hold => Meaning::Final(Told::Unknown),
            Unknown::Rerun => Meaning::Later,
        },
        503 if is("store-unavailable") && comes_back => Meaning::Away,
        _ => panic!("expected an answer that a caller can use, found {answer:?}"),
    }
}

/// A gateway that is killed may have sent a part of its answer.
fn is_whole(answer: &Answer) -> bool {
    let length = field(&answer.head, "Content-Length").map(|length| length.parse());
    length == Some(Ok(answer.body.len()))
}
