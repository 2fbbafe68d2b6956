//! Loading a record, deciding by the protocol, and making the change if the record is still what was loaded.
//!
//! The scripts of the happy path decide by themselves; everything unusual comes through here, so that
//! one state machine decides for all stores.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use semel_core::protocol::{Change, Step};
use semel_core::record::Claim;
use semel_core::store::remote::Nonce;
use semel_core::store::{AuditEntry, EVENTS_MAX, StoreObserver};
use semel_core::{Clock, Error, Fence, Identity, Kind, Record, Result, ServerClock, State};
use tokio::time::Instant;

use crate::connection::Link;
use crate::events;
use crate::keys::{Keys, Of};
pub(crate) use crate::load::Loaded;
use crate::load::Wanted;
use crate::records;
use crate::reply::{self, Reply, unexpected};
use crate::script::{APPLY, Again, Call, Replicas};

/// How often a change is decided again because the record had changed meanwhile.
const DECISIONS_MAX: usize = 64;
/// Stands for the fence that the server draws when a change is made.
pub(crate) const TO_BE_DRAWN: Fence = Fence::new(0);
// The script that writes events knows this number.
const _: () = assert!(EVENTS_MAX == 100);

/// What all verbs work with.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) link: Link,
    pub(crate) keys: Keys,
    pub(crate) clock: Arc<ServerClock>,
    pub(crate) watch: Option<Arc<dyn StoreObserver>>,
    pub(crate) history_keep: Duration,
}

/// Who asks for a change, and until when it makes sense.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// The nonce that a grant gets.
    pub(crate) nonce: Nonce,
    /// Nobody waits for the answer after this.
    pub(crate) deadline: Instant,
    /// When a change is sent again until then.
    pub(crate) again: Again,
    /// Which outcome the decision needs, beside its verdict.
    pub(crate) outcome: Wanted,
    /// Whether the change is made to the archived record of a claim.
    pub(crate) is_archived: bool,
}

impl Asked {
    /// A change whose grants, if any, need not be known again.
    pub(crate) fn until(deadline: Instant) -> Self {
        Self {
            nonce: Nonce::fresh(),
            deadline,
            again: Again::Always,
            outcome: Wanted::None,
            is_archived: false,
        }
    }
}

impl Engine {
    /// The replies of a call, one per item.
    pub(crate) fn replies(&self, answered: Result<Value>, items: usize) -> Result<Vec<Reply>> {
        let replies = reply::items(answered?)?;
        if replies.len() != items {
            return Err(unexpected());
        }
        if let Some(reply) = replies.first() {
            self.clock.heard(reply.now);
        }
        Ok(replies)
    }

    /// Calls a script about one item.
    pub(crate) async fn call(&self, call: Call, deadline: Instant) -> Result<Reply> {
        let answered = self.link.call(call, deadline).await;
        let mut replies = self.replies(answered, 1)?;
        replies.pop().ok_or_else(unexpected)
    }

    /// Calls a script once per bucket; the replies are in the order of the calls.
    pub(crate) async fn call_each(
        &self,
        calls: Vec<Call>,
        deadline: Instant,
    ) -> Result<Vec<Reply>> {
        self.call_apart(calls, deadline).await.into_iter().collect()
    }

    /// The same; a call that fails costs only its own bucket.
    pub(crate) async fn call_apart(
        &self,
        calls: Vec<Call>,
        deadline: Instant,
    ) -> Vec<Result<Reply>> {
        let answers = self.link.call_all(calls, deadline).await;
        let one = |answered| self.replies(answered, 1)?.pop().ok_or_else(unexpected);
        answers.into_iter().map(one).collect()
    }

    /// The time of the server at which nobody waits any more.
    pub(crate) fn deadline_ms(&self, deadline: Instant) -> i64 {
        let left = deadline.saturating_duration_since(Instant::now());
        self.clock.now().after(left).as_millis()
    }

    /// Decides by `verb` and makes the change, again if the record has changed meanwhile. `loaded` saves
    /// the first look. The fence is that of a grant.
    pub(crate) async fn decide<A>(
        &self,
        identity: &Identity,
        mut loaded: Option<Loaded>,
        asked: Asked,
        verb: impl Fn(&Loaded) -> Step<A>,
    ) -> Result<(A, Option<Fence>)> {
        for _ in 0..DECISIONS_MAX {
            let current = match loaded.take() {
                Some(loaded) => loaded,
                None => {
                    let one = std::slice::from_ref(identity);
                    let mut loaded = self.load(one, asked.deadline).await;
                    loaded.pop().ok_or_else(unexpected)??
                }
            };
            let current = self.with_outcome(identity, current, asked).await?;
            let step = verb(&current);
            if step.change == Change::None && step.events.is_empty() {
                return Ok((step.answer, None));
            }
            if let Some(fence) = self.apply(identity, &current, &step, asked).await? {
                self.tell_ended(identity, &step);
                return Ok((step.answer, fence));
            }
        }
        let message =
            format!("redis, a record changed {DECISIONS_MAX} times while it was decided about");
        Err(Error::new(Kind::Unavailable, message))
    }

    fn tell_ended<A>(&self, identity: &Identity, step: &Step<A>) {
        let Some(watch) = &self.watch else { return };
        for event in &step.events {
            if event.kind.is_lease_end() {
                let (identity, fence) = (identity.clone(), event.fence);
                watch.lease_ended(&Claim { identity, fence });
            }
        }
    }

    /// Makes a change; `None` if the record is no longer what it was decided on.
    pub(crate) async fn apply<A>(
        &self,
        identity: &Identity,
        current: &Loaded,
        step: &Step<A>,
        asked: Asked,
    ) -> Result<Option<Option<Fence>>> {
        let call = self.change_call(identity, current, step, asked);
        let mut reply = self.call(call, asked.deadline).await?;
        match reply.word.as_str() {
            "done" => {
                let fence = reply.bytes()?.filter(|fence| !fence.is_empty());
                let fence = fence.map(|fence| records::number(&fence)).transpose()?;
                Ok(Some(
                    fence.map(|number| self.keys.bucket(identity).fence(number)),
                ))
            }
            "changed" => Ok(None),
            "too late" => Err(too_late()),
            _ => Err(unexpected()),
        }
    }

    fn change_call<A>(
        &self,
        identity: &Identity,
        current: &Loaded,
        step: &Step<A>,
        asked: Asked,
    ) -> Call {
        let stored = current.stored.as_ref();
        let is_grant = matches!(step.change, Change::Grant(_));
        // What stays as it is, or goes, need not be sent.
        let after = match &step.change {
            Change::None | Change::Remove => None,
            change => change.clone().apply(current.record().cloned()),
        };
        let nonce = stored
            .filter(|_| !is_grant)
            .map_or(asked.nonce, |stored| stored.nonce);
        let needs_lease = matches!(step.change, Change::Extend { .. })
            || matches!((&step.change, current.record().map(|r| &r.state)), (Change::Settle(_), Some(State::Running { lease_until })) if *lease_until > current.now);
        let (mut name, score, archive) = change_parts(&step.change, current.record());
        if asked.is_archived {
            name = "erase-archived";
        }
        let deadline = is_grant.then(|| self.deadline_ms(asked.deadline).to_string());
        let value = after.map(|record| records::encode(&record, nonce, self.keys.bucket(identity)));
        let token_ms = self.link.timeout().as_millis() * 4;
        let mut call = Call::new(&APPLY)
            .again(asked.again)
            .replicas(if is_grant {
                Replicas::Must
            } else {
                Replicas::Waited
            })
            .keys(self.change_keys(identity, current))
            .arg(stored.map_or_else(Vec::new, |stored| stored.stamp.clone()))
            .arg(if needs_lease { "1" } else { "" })
            .arg(deadline.unwrap_or_default())
            .arg(name)
            .arg(value.unwrap_or_default())
            .arg(if archive { "1" } else { "" })
            .number(score)
            .number(token_ms)
            .number(self.keys.unit_us())
            .arg(
                step.audit
                    .as_ref()
                    .map(AuditEntry::encode)
                    .unwrap_or_default(),
            )
            .number(self.keys.audit_max());
        for event in &step.events {
            let drawn = is_grant && event.fence == TO_BE_DRAWN;
            let fence = if drawn {
                String::new()
            } else {
                format!("{:020}", event.fence.get())
            };
            call = call
                .arg(if events::is_late(event) {
                    "late"
                } else {
                    "history"
                })
                .arg(fence)
                .arg(events::encode(event));
        }
        call
    }

    fn change_keys(&self, identity: &Identity, current: &Loaded) -> [String; 14] {
        let bucket = self.keys.bucket(identity);
        let of = |what| self.keys.of(bucket, what);
        let fence = current
            .record()
            .map_or(bucket.fence(0), |record| record.fence);
        let token = Nonce::fresh().to_hex();
        [
            self.keys.record(identity),
            of(Of::Meta),
            of(Of::Running),
            of(Of::All),
            of(Of::Expiring),
            of(Of::Unknown),
            of(Of::UnknownByFence),
            self.keys.history(identity),
            self.keys.late(identity),
            of(Of::Histories),
            of(Of::Archived),
            self.keys.archives(bucket) + &records::fence_text(fence, bucket),
            self.keys.token(bucket, &String::from_utf8_lossy(&token)),
            of(Of::Audit),
        ]
    }
}

/// A change's name, the score of its record in the index that it goes to, and whether there is something to archive.
fn change_parts(change: &Change, current: Option<&Record>) -> (&'static str, i64, bool) {
    match change {
        Change::None => ("none", 0, false),
        Change::Grant(record) => {
            let score = match &record.state {
                State::Running { lease_until } => lease_until.as_millis(),
                State::Unknown { .. } | State::Settled(_) => 0,
            };
            let archive = matches!(current.map(|r| &r.state), Some(State::Settled(s)) if s.archive);
            ("grant", score, archive)
        }
        Change::Extend { lease_until } => ("extend", lease_until.as_millis(), false),
        Change::Unknown { since, .. } => ("unknown", since.as_millis(), false),
        Change::Settle(settled) => ("settle", settled.expires_at.as_millis(), settled.archive),
        Change::EraseContents(settled) => {
            ("erase", settled.expires_at.as_millis(), settled.archive)
        }
        Change::Remove => ("remove", 0, false),
    }
}

/// The server came to a claim after its caller had stopped waiting; nothing was granted.
pub(crate) fn too_late() -> Error {
    Error::new(
        Kind::Unavailable,
        "redis, the server came to the claim after its time was over",
    )
}
