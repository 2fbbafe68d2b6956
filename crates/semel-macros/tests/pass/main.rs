//! What annotated functions do when they are called.
//!
//! The cases are modules of one ordinary test and not cases of trybuild: they are compiled once, with
//! the dependencies that are compiled anyway, and run like any other test.

mod failures;
mod fingerprints;
mod keys;
mod methods;
mod policies;
mod shapes;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use semel::{MemoryStore, Once};
use serde::{Deserialize, Serialize};

fn once() -> Once {
    Once::new(MemoryStore::new())
}

/// Counts how often an effect happened. It is an argument, so it has a form in JSON: always the same.
#[derive(Debug, Clone, Default)]
struct Effects(Arc<AtomicU32>);

impl Effects {
    fn happen(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Serialize for Effects {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

/// An error that can be stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Declined {
    Funds,
    Busy,
    TimedOut,
}

impl std::fmt::Display for Declined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}
