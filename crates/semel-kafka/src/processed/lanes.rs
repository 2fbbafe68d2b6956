//! Which messages may run now: those of one key one after another, and one at a time of each id.
//!
//! There is no IO here.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use semel_core::Key;
use semel_core::inbox::Message;

use super::ids::Digest;

/// A message that is to run.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// The delivery that it came with.
    pub(super) delivery: u64,
    pub(super) partition: i32,
    pub(super) digest: Digest,
    pub(super) fingerprint: [u8; 8],
    pub(super) message: Arc<Message>,
}

impl Job {
    /// A delivery may hold several messages.
    const fn name(&self) -> (u64, Digest) {
        (self.delivery, self.digest)
    }

    fn lane(&self) -> Option<(i32, Key)> {
        let lane = self.message.lane()?;
        Some((self.partition, lane.clone()))
    }
}

/// A lane: who has it, and what waits behind.
#[derive(Debug)]
struct Busy {
    holder: (u64, Digest),
    behind: VecDeque<Job>,
}

/// An id: which message has it, and what came with the same id meanwhile.
#[derive(Debug)]
struct HeldId {
    delivery: u64,
    fingerprint: [u8; 8],
    behind: Vec<Job>,
}

/// What became of a message that was taken in.
#[derive(Debug)]
pub(super) enum Added {
    /// It is ready, or waits for another.
    Waits,
    /// Its own delivery has the id already, with the same content or not. It must not wait: the delivery is acknowledged only as a whole.
    Repeats { is_equal: bool, job: Job },
}

/// What waits and what runs.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    ready: VecDeque<Job>,
    /// The lanes in which a message is ready or runs.
    busy: HashMap<(i32, Key), Busy>,
    /// The ids that are ready, wait, run, or are done but not yet acknowledged.
    held: HashMap<Digest, HeldId>,
    /// What runs, by delivery and id.
    running: HashSet<(u64, Digest)>,
}

impl Lanes {
    /// Takes a message in; one whose id another delivery holds waits for that.
    pub(super) fn add(&mut self, job: Job) -> Added {
        if let Some(held) = self.held.get_mut(&job.digest) {
            if held.delivery == job.delivery {
                let is_equal = held.fingerprint == job.fingerprint;
                return Added::Repeats { is_equal, job };
            }
            held.behind.push(job);
            return Added::Waits;
        }
        let held = HeldId {
            delivery: job.delivery,
            fingerprint: job.fingerprint,
            behind: Vec::new(),
        };
        self.held.insert(job.digest, held);
        self.queue(job);
        Added::Waits
    }

    fn queue(&mut self, job: Job) {
        let Some(lane) = job.lane() else {
            self.ready.push_back(job);
            return;
        };
        match self.busy.get_mut(&lane) {
            Some(busy) => busy.behind.push_back(job),
            None => {
                let (holder, behind) = (job.name(), VecDeque::new());
                self.busy.insert(lane, Busy { holder, behind });
                self.ready.push_back(job);
            }
        }
    }

    /// The next message that may run, if fewer than this run.
    pub(super) fn start(&mut self, running_max: usize) -> Option<Job> {
        if self.running.len() >= running_max {
            return None;
        }
        let job = self.ready.pop_front()?;
        self.running.insert(job.name());
        Some(job)
    }

    /// A message does not run any more: the next of its lane may. Its id is still held.
    pub(super) fn ended(&mut self, job: &Job) {
        self.running.remove(&job.name());
        let Some(lane) = job.lane() else {
            return;
        };
        // A partition that was lost meanwhile has lanes of others.
        let busy = self.busy.get_mut(&lane);
        let Some(busy) = busy.filter(|busy| busy.holder == job.name()) else {
            return;
        };
        match busy.behind.pop_front() {
            Some(next) => {
                busy.holder = next.name();
                self.ready.push_back(next);
            }
            None => drop(self.busy.remove(&lane)),
        }
    }

    /// An id is held no more, because it is acknowledged or was lost: what came with it meanwhile is to be looked at again.
    pub(super) fn let_go(&mut self, digest: &Digest) -> Vec<Job> {
        let held = self.held.remove(digest);
        held.map(|held| held.behind).unwrap_or_default()
    }

    /// Partitions are lost: what waits of them is forgotten. What runs goes on, and holds its id until it ends. Messages of other partitions that
    /// waited for an id that was forgotten are to be looked at again.
    #[must_use]
    pub(super) fn lose(&mut self, partitions: &[i32]) -> Vec<Job> {
        let is_lost = |job: &Job| partitions.contains(&job.partition);
        let ready = self.ready.drain(..);
        let (mut dropped, ready): (Vec<Job>, Vec<Job>) = ready.partition(is_lost);
        self.ready = ready.into();
        self.busy.retain(|(partition, _), busy| {
            let is_lane_lost = partitions.contains(partition);
            if is_lane_lost {
                dropped.extend(busy.behind.drain(..));
            }
            !is_lane_lost
        });
        for held in self.held.values_mut() {
            held.behind.retain(|job| !is_lost(job));
        }
        let free = dropped.iter().flat_map(|job| self.let_go(&job.digest));
        free.collect()
    }

    /// Whether something runs of these deliveries.
    pub(super) fn is_running(&self, deliveries: impl Fn(u64) -> bool) -> bool {
        self.running
            .iter()
            .any(|(delivery, _)| deliveries(*delivery))
    }

    /// Whether nothing runs.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_core::Identity;

    fn job(delivery: u64, partition: i32, id: u8, lane: Option<&str>) -> Job {
        let identity = Identity::parse("public", "c@1", &format!("m-{id}")).unwrap();
        let mut message = Message::new(identity, "").unwrap();
        if let Some(lane) = lane {
            message = message.with_lane(Key::new(lane).unwrap());
        }
        Job {
            delivery,
            partition,
            digest: [id; 16],
            fingerprint: [0; 8],
            message: Arc::new(message),
        }
    }

    fn add(lanes: &mut Lanes, job: Job) {
        assert!(matches!(lanes.add(job), Added::Waits));
    }

    fn started(lanes: &mut Lanes) -> Vec<u64> {
        std::iter::from_fn(|| lanes.start(9).map(|job| job.delivery)).collect()
    }

    #[test]
    fn messages_of_one_key_run_one_after_another() {
        let mut lanes = Lanes::default();
        for (delivery, lane) in [(1, Some("a")), (2, Some("a")), (3, Some("b")), (4, None)] {
            add(&mut lanes, job(delivery, 0, delivery as u8, lane));
        }
        add(&mut lanes, job(5, 1, 5, Some("a")));
        assert_eq!(
            started(&mut lanes),
            [1, 3, 4, 5],
            "each partition has its own"
        );
        lanes.ended(&job(1, 0, 1, Some("a")));
        assert_eq!(started(&mut lanes), [2]);
        lanes.ended(&job(2, 0, 2, Some("a")));
        add(&mut lanes, job(6, 0, 6, Some("a")));
        assert_eq!(started(&mut lanes), [6]);
    }

    #[test]
    fn an_id_is_held_until_it_is_let_go() {
        let mut lanes = Lanes::default();
        add(&mut lanes, job(1, 0, 7, None));
        add(&mut lanes, job(2, 0, 7, None));
        assert_eq!(started(&mut lanes), [1]);
        lanes.ended(&job(1, 0, 7, None));
        add(&mut lanes, job(3, 0, 7, None));
        assert_eq!(started(&mut lanes), [0; 0]);
        let behind: Vec<u64> = lanes.let_go(&[7; 16]).iter().map(|j| j.delivery).collect();
        assert_eq!(behind, [2, 3]);
    }

    #[test]
    fn a_delivery_does_not_wait_for_itself() {
        let mut lanes = Lanes::default();
        add(&mut lanes, job(1, 0, 7, None));
        let other = Job {
            fingerprint: [9; 8],
            ..job(1, 0, 7, None)
        };
        for (again, expected) in [(job(1, 0, 7, None), true), (other, false)] {
            match lanes.add(again) {
                Added::Repeats { is_equal, .. } => assert_eq!(is_equal, expected),
                Added::Waits => panic!("it waits for itself"),
            }
        }
        add(&mut lanes, job(2, 0, 7, None));
        assert_eq!(lanes.let_go(&[7; 16]).len(), 1);
    }

    #[test]
    fn what_waits_of_a_lost_partition_is_forgotten_and_what_runs_holds_its_id() {
        let mut lanes = Lanes::default();
        for (delivery, partition, lane) in [(1, 0, Some("a")), (2, 0, Some("a")), (3, 1, None)] {
            add(&mut lanes, job(delivery, partition, delivery as u8, lane));
        }
        add(&mut lanes, job(9, 1, 2, None));
        add(&mut lanes, job(8, 0, 2, None));
        assert_eq!(lanes.start(1).unwrap().delivery, 1);
        assert!(lanes.start(1).is_none(), "no more than so many run");
        let free: Vec<u64> = lanes.lose(&[0]).iter().map(|job| job.delivery).collect();
        assert_eq!(free, [9], "it waited for an id of the lost partition");
        assert!(lanes.is_running(|delivery| delivery == 1));
        add(&mut lanes, job(4, 0, 1, Some("a")));
        add(&mut lanes, job(5, 0, 2, Some("a")));
        assert_eq!(started(&mut lanes), [3, 5], "the first id still runs");
        add(&mut lanes, job(6, 0, 6, Some("a")));
        lanes.ended(&job(1, 0, 1, Some("a")));
        assert_eq!(started(&mut lanes), [0; 0], "its lane is another's now");
        assert_eq!(lanes.let_go(&[1; 16]).len(), 1);
    }
}
