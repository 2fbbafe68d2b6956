//! Calls that are sent together, and which of them must be sent again.

use std::time::Duration;

use redis::{Cmd, RedisError, RedisResult, Value};
use semel_core::{Error, Kind, Result};

use crate::error::{from_redis, is_passing, timed_out};
use crate::script::{Again, Call, Replicas};

/// Calls and what has become of them.
pub(crate) struct Batch {
    calls: Vec<Call>,
    answers: Vec<Option<Result<Value>>>,
    /// The calls without an answer, each with whether the server needs the whole script.
    pub(crate) waiting: Vec<(usize, bool)>,
    last: Option<RedisError>,
}

impl Batch {
    pub(crate) fn new(calls: Vec<Call>) -> Self {
        Self {
            answers: calls.iter().map(|_| None).collect(),
            waiting: (0..calls.len()).map(|call| (call, false)).collect(),
            calls,
            last: None,
        }
    }

    /// What waits, and at its end the wait for replicas if there must be one.
    pub(crate) fn commands(&self, wait_replicas: u32, patience: Duration) -> (Vec<Cmd>, bool) {
        let command = |(call, whole): &(usize, bool)| self.calls[*call].command(*whole);
        let mut commands: Vec<Cmd> = self.waiting.iter().map(command).collect();
        let asked = self
            .waiting
            .iter()
            .any(|(call, _)| self.calls[*call].replicas != Replicas::Any);
        let waits = wait_replicas > 0 && asked;
        if waits {
            let patience_ms = u64::try_from(patience.as_millis())
                .unwrap_or(u64::MAX)
                .max(1);
            commands.push(
                redis::cmd("WAIT")
                    .arg(wait_replicas)
                    .arg(patience_ms)
                    .take(),
            );
        }
        (commands, waits)
    }

    /// Takes in what came back; true if what still waits should be sent at once.
    pub(crate) fn take_in(&mut self, sent: RedisResult<Vec<Value>>, wanted: Option<u32>) -> bool {
        let mut values = match sent {
            Ok(values) => values,
            Err(error) => {
                self.fail(error);
                return false;
            }
        };
        let short = wanted.and_then(|wanted| shortfall(values.pop(), wanted));
        let mut unknown_script = false;
        for ((call, whole), value) in std::mem::take(&mut self.waiting).into_iter().zip(values) {
            let answer = match value.extract_error() {
                Ok(_) if self.calls[call].replicas == Replicas::Must && short.is_some() => {
                    Err(short
                        .as_ref()
                        .map_or_else(|| timed_out("waiting", None), Error::duplicate))
                }
                Ok(value) => Ok(value),
                Err(error) if error.code() == Some("NOSCRIPT") && !whole => {
                    unknown_script = true;
                    self.waiting.push((call, true));
                    continue;
                }
                Err(error) if is_passing(&error, self.calls[call].again) => {
                    self.waiting.push((call, whole));
                    self.last = Some(error);
                    continue;
                }
                Err(error) => Err(from_redis("running a script", error)),
            };
            self.answers[call] = Some(answer);
        }
        unknown_script
    }

    /// When what waits is sent again; calls that go together agree on it.
    fn again(&self) -> Again {
        let first = self.waiting.first();
        first.map_or(Again::Always, |(call, _)| self.calls[*call].again)
    }

    fn fail(&mut self, error: RedisError) {
        let unknown_script = error.code() == Some("NOSCRIPT");
        if unknown_script {
            self.waiting.iter_mut().for_each(|(_, whole)| *whole = true);
        } else if !is_passing(&error, self.again()) {
            for (call, _) in std::mem::take(&mut self.waiting) {
                self.answers[call] = Some(Err(from_redis("running a script", error.clone())));
            }
        }
        self.last = Some(error);
    }

    /// What has no answer when the time is over gets the last error.
    pub(crate) fn into_answers(self) -> Vec<Result<Value>> {
        let last = self.last;
        let lost = || Err(timed_out("running a script", last.clone()));
        self.answers
            .into_iter()
            .map(|answer| answer.unwrap_or_else(lost))
            .collect()
    }
}

/// What to tell claims that too few replicas have.
fn shortfall(acks: Option<Value>, wanted: u32) -> Option<Error> {
    let found = match acks {
        Some(Value::Int(found)) => found,
        _ => 0,
    };
    (found < i64::from(wanted)).then(|| {
        let message = format!("redis, a claim must reach {wanted} replicas, found {found} in time");
        Error::new(Kind::Unavailable, message)
    })
}
