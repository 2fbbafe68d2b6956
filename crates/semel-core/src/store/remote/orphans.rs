//! Orphaned claims: granted, or perhaps granted, to a caller that never learns of it.
//!
//! The caller went away before the answer came, or the answer was lost and the server did not come back in time.
//! Nothing runs under such a claim, but its lease would end as an unknown outcome. So it is given back in the
//! background, until that is done or its lease has ended.
//!
//! Claims are given back **each by itself**, or in groups that share a server: a shard that is away or a row that is
//! locked holds up its own and nothing else.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::{Nonce, Pauses};
use crate::error::Result;
use crate::identity::Identity;

/// The most orphaned claims that wait; any beyond are left to the end of their lease.
pub const ORPHANS_MAX: usize = 65_536;

/// The pauses before and between tries. There is one before the first, because the claim may just be on its way.
const PAUSES: Pauses = Pauses::new(Duration::from_millis(50), Duration::from_secs(5));

/// How long after the end of its lease a claim is still given back: it was perhaps granted later than it was sent.
const MARGIN: Duration = Duration::from_secs(5);

/// A claim that was sent, and that its caller knows nothing of.
#[derive(Debug, Clone)]
pub struct Orphan {
    /// Which operation.
    pub identity: Identity,
    /// Which claim of it.
    pub nonce: Nonce,
    /// How long its lease lasts once it is granted.
    pub lease: Duration,
    /// Until when it may still come true, if it has not been granted yet.
    pub arrives_until: Instant,
}

/// What a store does about an orphaned claim.
pub trait GiveBack: Send + Sync + 'static {
    /// Releases the claim with this nonce, if it was granted; what was claimed by others is left alone. A store that
    /// can keep a claim that is still on its way from coming true does so and says [`GivenBack::Done`].
    ///
    /// An error is tried again while the lease may last. One that is retryable is taken for a failure of the group.
    fn give_back(&self, orphan: &Orphan) -> impl Future<Output = Result<GivenBack>> + Send;

    /// Claims of one group are given back one after another, because a failure of one is a failure of all: those of a
    /// shard, where there are shards. By default each is a group by itself.
    fn group(&self, identity: &Identity) -> u64 {
        let digest = identity.digest().short();
        u64::from_le_bytes(std::array::from_fn(|at| digest[at]))
    }
}

/// What became of an orphaned claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenBack {
    /// It is released, or will never be granted.
    Done,
    /// It is not there, but may still be on its way.
    Absent,
}

/// The orphaned claims of a store.
pub struct Orphans<S> {
    shared: Arc<Shared<S>>,
}

struct Shared<S> {
    /// The store may end while claims wait.
    store: Weak<S>,
    /// How many are given back at the same time.
    turns: Semaphore,
    /// A std mutex, not an async one: it is held for queueing only, never over an await.
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    count: usize,
    /// Each group that is here has a task.
    groups: HashMap<u64, VecDeque<Ending>>,
}

/// An orphan, and when to leave it to itself.
struct Ending(Orphan, Instant);

impl<S> fmt::Debug for Orphans<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Orphans({} wait)", self.shared.lock().count)
    }
}

impl<S> Shared<S> {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // The queues are whole after every statement, so a poisoned lock protects nothing.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Clone for Orphans<S> {
    fn clone(&self) -> Self {
        let shared = self.shared.clone();
        Self { shared }
    }
}

impl<S: GiveBack> Orphans<S> {
    /// None yet. At most `turns_max` of them are given back at the same time.
    pub fn new(store: &Arc<S>, turns_max: usize) -> Self {
        let shared = Shared {
            store: Arc::downgrade(store),
            turns: Semaphore::new(turns_max.max(1)),
            waiting: Mutex::default(),
        };
        let shared = Arc::new(shared);
        Self { shared }
    }

    /// Claims that are about to be sent. They are orphans unless their caller [hears](Unheard::heard).
    pub fn unheard(&self, claims: Vec<Orphan>) -> Unheard<S> {
        let orphans = self.clone();
        Unheard { orphans, claims }
    }

    /// Gives a claim back as soon as that can be done.
    pub fn add(&self, orphan: Orphan) {
        // Without a runtime the process is ending; without the store nothing can be done.
        let (Ok(runtime), Some(store)) = (Handle::try_current(), self.shared.store.upgrade())
        else {
            return;
        };
        let group = store.group(&orphan.identity);
        let ends = orphan.arrives_until.max(Instant::now()) + orphan.lease + MARGIN;
        let mut waiting = self.shared.lock();
        if waiting.count >= ORPHANS_MAX {
            return;
        }
        waiting.count += 1;
        let is_new = !waiting.groups.contains_key(&group);
        let orphans = waiting.groups.entry(group).or_default();
        orphans.push_back(Ending(orphan, ends));
        drop(waiting);
        if is_new {
            runtime.spawn(work(self.shared.clone(), group));
        }
    }
}

/// Gives back the claims of a group until none is left.
async fn work<S: GiveBack>(shared: Arc<Shared<S>>, group: u64) {
    let mut pauses = PAUSES;
    loop {
        sleep(pauses.take()).await;
        let orphans = match shared.lock().groups.get_mut(&group) {
            Some(orphans) => std::mem::take(orphans),
            None => return,
        };
        let taken = orphans.len();
        let left = pass(&shared, orphans).await;
        if left.len() < taken {
            pauses.reset();
        }
        let mut waiting = shared.lock();
        waiting.count -= taken - left.len();
        let Some(orphans) = waiting.groups.get_mut(&group) else {
            return;
        };
        orphans.extend(left);
        // From the same look on, so that the next call starts another task.
        if orphans.is_empty() || shared.store.strong_count() == 0 {
            let dropped = orphans.len();
            waiting.count -= dropped;
            waiting.groups.remove(&group);
            return;
        }
    }
}

/// Tries each once, and returns those that are left. A failure of the group ends the pass.
async fn pass<S: GiveBack>(shared: &Shared<S>, mut orphans: VecDeque<Ending>) -> VecDeque<Ending> {
    let mut again = VecDeque::new();
    while let Some(Ending(orphan, ends)) = orphans.pop_front() {
        let Some(store) = shared.store.upgrade() else {
            return VecDeque::new();
        };
        if Instant::now() >= ends {
            continue;
        }
        let turn = shared.turns.acquire().await;
        let given_back = store.give_back(&orphan).await;
        drop(turn);
        match given_back {
            Ok(GivenBack::Absent) if Instant::now() < orphan.arrives_until + MARGIN => {
                again.push_back(Ending(orphan, ends));
            }
            Err(error) if error.is_retryable() => {
                // The next pass begins with another one.
                orphans.push_back(Ending(orphan, ends));
                break;
            }
            Err(_) => again.push_back(Ending(orphan, ends)),
            Ok(GivenBack::Done | GivenBack::Absent) => {}
        }
    }
    orphans.append(&mut again);
    orphans
}

/// Claims whose caller has not heard of them. Dropped, they are orphans.
pub struct Unheard<S: GiveBack> {
    orphans: Orphans<S>,
    claims: Vec<Orphan>,
}

impl<S: GiveBack> Unheard<S> {
    /// The caller has heard what became of all of them.
    pub fn heard(mut self) {
        self.claims.clear();
    }

    /// The caller has its answers, one per claim. What failed may have been granted all the same, and is given back.
    pub fn heard_of<A>(mut self, answers: &[Result<A>]) {
        let mut answers = answers.iter();
        self.claims
            .retain(|_| answers.next().is_none_or(Result::is_err));
    }
}

impl<S: GiveBack> Drop for Unheard<S> {
    fn drop(&mut self) {
        for orphan in std::mem::take(&mut self.claims) {
            self.orphans.add(orphan);
        }
    }
}

impl<S: GiveBack> fmt::Debug for Unheard<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unheard({} claims)", self.claims.len())
    }
}

#[cfg(test)]
mod tests;
