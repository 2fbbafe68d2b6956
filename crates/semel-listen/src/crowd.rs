//! All open connections, and which of them has idled longest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::load::Pulse;

/// The longest idle of so many are found at once, so that a flood of connections at the limit does not look at all of them for each.
const AT_ONCE: usize = 64;

/// All open connections.
#[derive(Debug, Default)]
pub(crate) struct Crowd(Mutex<Members>);

#[derive(Debug, Default)]
struct Members {
    next: u64,
    open: HashMap<u64, Member>,
    /// Those that have idled longest, and since when; the longest idle last.
    idlest: Vec<(Instant, u64)>,
}

#[derive(Debug)]
struct Member {
    pulse: Arc<Pulse>,
    leave: oneshot::Sender<()>,
}

impl Crowd {
    fn members(&self) -> MutexGuard<'_, Members> {
        // Its fields are whole after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection; the receiver hears when it must make room.
    pub(crate) fn join(&self, pulse: Arc<Pulse>) -> (u64, oneshot::Receiver<()>) {
        let (leave, leaves) = oneshot::channel();
        let mut members = self.members();
        let id = members.next;
        members.next += 1;
        members.open.insert(id, Member { pulse, leave });
        (id, leaves)
    }

    /// A connection has ended.
    pub(crate) fn part(&self, id: u64) {
        self.members().open.remove(&id);
    }

    /// Asks the connection without a request in flight that has been silent longest to make room; `false` if all are busy.
    pub(crate) fn make_room(&self) -> bool {
        let mut members = self.members();
        let Some(member) = members.take_idlest() else {
            return false;
        };
        let _ = member.leave.send(());
        true
    }
}

impl Members {
    fn take_idlest(&mut self) -> Option<Member> {
        for is_fresh in [false, true] {
            if is_fresh {
                self.look();
            }
            while let Some((since, id)) = self.idlest.pop() {
                let still = |member: &Member| member.pulse.idle_since() == Some(since);
                if self.open.get(&id).is_some_and(still) {
                    return self.open.remove(&id);
                }
            }
        }
        None
    }

    fn look(&mut self) {
        let open = self.open.iter();
        let mut idle: Vec<_> = open
            .filter_map(|(id, member)| Some((member.pulse.idle_since()?, *id)))
            .collect();
        let taken = idle.len().div_ceil(AT_ONCE);
        if taken < idle.len() {
            idle.select_nth_unstable(taken);
            idle.truncate(taken);
        }
        idle.sort_unstable_by(|a, b| b.cmp(a));
        self.idlest = idle;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::load::{Counters, InFlight};

    #[tokio::test(start_paused = true)]
    async fn the_connection_that_was_silent_longest_makes_room() {
        let (crowd, counters) = (Crowd::default(), Arc::new(Counters::default()));
        let mut leaving = Vec::new();
        for _ in 0..4 {
            let pulse = Pulse::new(counters.clone());
            let (id, leaves) = crowd.join(pulse.clone());
            leaving.push((id, pulse, leaves));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let busy = InFlight::enter(&leaving[0].1);
        drop(InFlight::enter(&leaving[1].1));
        crowd.part(leaving[3].0);
        let mut left = Vec::new();
        for expected in [Some(2), Some(1), None] {
            assert_eq!(crowd.make_room(), expected.is_some());
            let mut heard = (0..3).filter(|at| leaving[*at].2.try_recv().is_ok());
            assert_eq!(heard.next(), expected);
            left.extend(expected);
        }
        drop(busy);
        assert!(crowd.make_room(), "its request has ended");
        assert!(leaving[0].2.try_recv().is_ok());
    }
}
