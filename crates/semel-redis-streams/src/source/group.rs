//! The consumer group, and this reader's place in it.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::Value;
use semel_core::Result;
use semel_inbox::source::buffer::{Buffer, Waiting};
use semel_inbox::source::{OPEN_MAX, Partition};
use tokio::sync::Notify;
use tokio::time::Instant;
use uuid::Uuid;

use crate::entry::{self, Entry, Epoch, Found};
use crate::error::odd;
use crate::link::{Link, Script, arg};
use crate::url::{Address, Reading};

/// How the names of consumers begin that hold returned entries. The rest tells one life of a stream and its group from another.
const RETURNED: &str = "semel-returned-";
/// How the names of readers begin that the URL does not name.
const READER: &str = "semel-reader-";
/// After how much silence a reader that holds nothing is forgotten.
const SILENCE_MAX: Duration = Duration::from_secs(60 * 60);
/// The longest that the server waits for new entries.
pub(super) const BLOCK: Duration = Duration::from_secs(1);
/// How many entries are given back at once.
const LEAVE_MAX: u64 = 500;

/// The most deliveries of deleted entries that are remembered: as many as can be open and wait.
const ONLY_HERE_MAX: usize = 4 * OPEN_MAX;

/// The server counts idle time in whole milliseconds.
const ROUNDING: Duration = Duration::from_millis(2);

static JOIN: Script = Script::new(include_str!("../../scripts/join.lua"));
static LEAVE: Script = Script::new(include_str!("../../scripts/leave.lua"));

/// What the tasks and the calls of a source share.
pub(crate) struct Group {
    /// The source's name, for logs.
    pub(super) name: String,
    pub(crate) address: Arc<Address>,
    pub(crate) reading: Reading,
    /// This reader's name in the group.
    pub(super) me: String,
    pub(super) buffer: Buffer<Entry>,
    /// For reads that wait, so that nothing waits behind them.
    pub(super) reads: Link,
    /// For everything else.
    pub(crate) calls: Link,
    /// Locked while a read is at the server, so that closing can wait for its end. An async mutex on purpose: it is held across the read.
    pub(super) at_server: tokio::sync::Mutex<()>,
    /// Held alone while deliveries are extended, and shared while others are answered. An extension may find that an entry was deleted, and an answer that
    /// the server gave after it is understood only once that is noted. An async lock on purpose: it is held across the call.
    pub(super) extending: tokio::sync::RwLock<()>,
    state: Mutex<State>,
    /// The claimer must look at [`Group::claim_at`].
    pub(super) hurry: Notify,
    /// How many entries were deleted while they were pending.
    lost: AtomicU64,
}

#[derive(Default)]
struct State {
    epoch: Option<Arc<Epoch>>,
    /// Where the group began for this process; it begins there again if it is made anew.
    began_at: Option<String>,
    /// When something that was returned here can be taken over.
    claims: BTreeSet<Instant>,
    /// Deliveries whose entries were deleted from the stream while this reader had them: they are nowhere but here. Id and number of deliveries.
    only_here: HashSet<(String, u32)>,
}

impl Group {
    pub(super) fn new(name: String, address: Address, reading: Reading) -> Self {
        let address = Arc::new(address);
        let me = reading.name.clone();
        let me = me.unwrap_or_else(|| format!("{READER}{}", Uuid::new_v4().simple()));
        Self {
            name,
            me,
            buffer: Buffer::new(Partition::new(address.stream.as_str())),
            reads: Link::new(address.clone(), BLOCK),
            calls: Link::new(address.clone(), Duration::ZERO),
            at_server: tokio::sync::Mutex::default(),
            extending: tokio::sync::RwLock::default(),
            address,
            reading,
            state: Mutex::default(),
            hurry: Notify::new(),
            lost: AtomicU64::new(0),
        }
    }

    /// The life that is read now; the group is made if it is not there.
    pub(super) async fn epoch(&self) -> Result<Arc<Epoch>> {
        let known = self.state().epoch.clone();
        match known {
            Some(epoch) => Ok(epoch),
            None => self.join().await,
        }
    }

    /// Makes sure that the group is there.
    pub(super) async fn join(&self) -> Result<Arc<Epoch>> {
        let reading = &self.reading;
        let from = self.state().began_at.clone();
        let from = from.unwrap_or_else(|| reading.from.clone());
        let fresh = format!("{RETURNED}{}", Uuid::new_v4().simple());
        let args = [
            arg(&reading.group),
            arg(&from),
            arg(u8::from(reading.create)),
            arg(RETURNED),
            arg(fresh),
            arg(READER),
            arg(SILENCE_MAX.as_millis()),
        ];
        let answer = self.calls.run("joining the group", &JOIN, &args).await?;
        let (is_new, returned, last) = joined(answer).ok_or_else(|| odd("the group"))?;
        let id = returned.trim_start_matches(RETURNED).to_owned();
        let epoch = Arc::new(Epoch { returned, id });
        let (source, group) = (&self.name, &reading.group);
        if is_new {
            tracing::info!(source, group, from, "a consumer group was created");
        }
        let mut state = self.state();
        let began_at = match reading.from.as_str() {
            "$" => last,
            from => from.to_owned(),
        };
        state.began_at.get_or_insert(began_at);
        state.epoch = Some(epoch.clone());
        Ok(epoch)
    }

    /// The stream or its group was deleted: what was delivered of it is lost.
    pub(super) fn lose(&self, epoch: &Epoch) {
        let mut state = self.state();
        if state.epoch.as_deref() != Some(epoch) {
            return;
        }
        state.epoch = None;
        state.only_here.clear();
        drop(state);
        let (source, group) = (&self.name, &self.reading.group);
        tracing::warn!(
            source,
            group,
            "the stream or its consumer group was deleted; what was open is lost, and what comes is new"
        );
        self.buffer.lose();
    }

    /// Gives back everything that this reader's name still holds, so that any reader may take it at once. What was deleted from the stream
    /// cannot be given back.
    pub(super) async fn leave(&self) -> Result<()> {
        let only_here = std::mem::take(&mut self.state().only_here);
        self.lost(only_here.len() as u64);
        let Some(epoch) = self.state().epoch.clone() else {
            return Ok(());
        };
        let args = [
            arg(&self.reading.group),
            arg(&self.me),
            arg(&epoch.returned),
            arg(self.reading.idle.as_millis()),
            arg(LEAVE_MAX),
        ];
        loop {
            let answer = self.calls.run("giving entries back", &LEAVE, &args).await?;
            let answer = entry::list(answer).unwrap_or_default();
            let mut counts = answer.iter().filter_map(entry::number);
            let (held, lost) = (counts.next(), counts.next());
            self.lost(lost.unwrap_or_default());
            if held.is_none_or(|count| count < LEAVE_MAX) {
                return Ok(());
            }
        }
    }

    /// Puts entries into the buffer, unless the group was lost meanwhile: then they come again.
    pub(super) fn deliver(&self, epoch: &Arc<Epoch>, found: Vec<Found>) {
        let waiting = found.into_iter().map(|found| Waiting {
            inside: Entry {
                id: found.id.clone(),
                count: found.count,
                epoch: epoch.clone(),
            },
            raw: found.raw(&self.address.stream, epoch, &self.reading.fields),
            until: None,
        });
        let waiting = waiting.collect();
        if self.is_current(epoch) {
            self.buffer.push(waiting);
        }
    }

    /// Whether deliveries of this life can still be answered.
    pub(super) fn is_current(&self, epoch: &Epoch) -> bool {
        self.state().epoch.as_deref() == Some(epoch)
    }

    /// Something that was returned can be taken over after this time.
    pub(super) fn hurry(&self, delay: Duration) {
        let mut state = self.state();
        // What finds no room here is found by the usual pass.
        if state.claims.len() < OPEN_MAX {
            state.claims.insert(Instant::now() + delay + ROUNDING);
        }
        drop(state);
        self.hurry.notify_one();
    }

    /// When something that was returned here can be taken over.
    pub(super) fn claim_at(&self) -> Option<Instant> {
        self.state().claims.first().copied()
    }

    /// Everything that could be taken over by now is being looked for.
    pub(super) fn claims(&self, now: Instant) {
        self.state().claims.retain(|at| *at > now);
    }

    /// The entry of this delivery was deleted from the stream; the message itself is here. Whether there is room to remember that.
    pub(super) fn keep_here(&self, entry: &Entry) -> bool {
        let mut state = self.state();
        let has_room = state.only_here.len() < ONLY_HERE_MAX;
        if has_room {
            state.only_here.insert((entry.id.clone(), entry.count));
        }
        has_room
    }

    /// Whether this delivery is nowhere but here.
    pub(super) fn is_only_here(&self, entry: &Entry) -> bool {
        let state = self.state();
        // Most streams are never trimmed that short, and need no key to be made.
        !state.only_here.is_empty() && state.only_here.contains(&(entry.id.clone(), entry.count))
    }

    /// This delivery was acknowledged or given up; whether it was nowhere but here.
    pub(super) fn let_go(&self, entry: &Entry) -> bool {
        let mut state = self.state();
        let key = (entry.id.clone(), entry.count);
        state.only_here.remove(&key)
    }

    /// Entries were deleted while they were pending: their messages are lost.
    pub(super) fn lost(&self, count: u64) {
        if count == 0 {
            return;
        }
        let total = self.lost.fetch_add(count, Ordering::Relaxed) + count;
        let source = &self.name;
        tracing::warn!(
            source,
            count,
            total,
            "entries were deleted or trimmed before they were acknowledged; their messages are lost"
        );
    }

    pub(crate) fn lost_count(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole after every statement, so a poisoned lock protects nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn joined(answer: Value) -> Option<(bool, String, String)> {
    let mut parts = entry::list(answer)?.into_iter();
    let is_new = entry::number(&parts.next()?)? == 1;
    Some((
        is_new,
        entry::text(parts.next()?)?,
        entry::text(parts.next()?)?,
    ))
}
