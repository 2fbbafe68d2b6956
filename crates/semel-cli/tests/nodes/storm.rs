//! Callers on all gateways at once, for many operations, while the gateways are killed one by one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use crate::caller::{Caller, Seen, Told};
use crate::fleet::{Fleet, NODES};

/// Operations at a time. Each has a caller on every gateway.
const LANES: usize = 8;
const KILL_EVERY: Duration = Duration::from_secs(1);

/// An operation and what each of its callers was told.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) key: String,
    pub(crate) told: Vec<Told>,
}

impl Operation {
    /// What it brought, as far as anybody was told.
    pub(crate) fn body(&self) -> Option<&str> {
        self.told.iter().find_map(Told::body)
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.told.contains(&Told::Unknown)
    }

    /// Whether two callers were told what cannot both be on record.
    pub(crate) fn disagrees(&self) -> bool {
        let mut bodies = self.told.iter().filter_map(Told::body);
        let replayed = self.told.iter().any(Told::is_replay);
        bodies.any(|body| Some(body) != self.body()) || (replayed && self.is_unknown())
    }
}

/// What a storm left behind.
#[derive(Debug)]
pub(crate) struct Storm {
    pub(crate) kills: usize,
    pub(crate) operations: Vec<Operation>,
    pub(crate) seen: Seen,
}

/// Kills a gateway every second, as long as `go_on` says so, which is asked before each kill with the
/// number of kills so far and with what callers saw.
pub(crate) fn rage(fleet: &mut Fleet<'_>, mut go_on: impl FnMut(usize, &Seen) -> bool) -> Storm {
    let (seen, started) = (Seen::default(), AtomicUsize::new(0));
    let over = AtomicBool::new(false);
    let caller = Caller::of(fleet, &seen);
    let lane = || {
        let mut done = Vec::new();
        while !over.load(Ordering::Relaxed) {
            let number = started.fetch_add(1, Ordering::Relaxed);
            done.push(operation(format!("op-{number}"), caller));
        }
        done
    };
    let mut kills = 0;
    let operations = thread::scope(|scope| {
        let lanes = [(); LANES].map(|()| scope.spawn(lane));
        // If this thread fails, the lanes end with it.
        let ending = Ending(&over);
        let mut at = Instant::now() + KILL_EVERY;
        loop {
            thread::sleep(at.saturating_duration_since(Instant::now()));
            at += KILL_EVERY;
            if !go_on(kills, &seen) {
                break;
            }
            fleet.replace(kills % NODES);
            kills += 1;
        }
        drop(ending);
        let done = lanes.map(|lane| lane.join().unwrap());
        done.into_iter().flatten().collect()
    });
    Storm {
        kills,
        operations,
        seen,
    }
}

/// One operation, asked for at all gateways at the same time.
fn operation(key: String, caller: Caller<'_>) -> Operation {
    let told = thread::scope(|scope| {
        let key = key.as_str();
        let calls = [0, 1, 2].map(|first| scope.spawn(move || caller.call(first, key)));
        calls.map(|call| call.join().unwrap()).into()
    });
    Operation { key, told }
}

/// Says that it is over when dropped.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
