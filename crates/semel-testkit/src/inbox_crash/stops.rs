//! Where messages stand still.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Point;
use crate::child::say;

/// The points at which messages are to stand still, as the supervisor asked.
#[derive(Debug, Default)]
pub(super) struct Stops(Mutex<HashMap<String, Point>>);

impl Stops {
    /// The message stands still at this point.
    pub(super) fn set(&self, id: &str, point: Point) {
        self.map().insert(id.to_owned(), point);
    }

    /// Whether the message is to stand still at this point.
    pub(super) fn is(&self, id: &str, point: Point) -> bool {
        self.map().get(id) == Some(&point)
    }

    /// Stands still for ever if that was asked for.
    pub(super) async fn reach(&self, id: &str, point: Point) {
        if self.is(id, point) {
            say(&format!("at {id} {}", point.name()));
            std::future::pending::<()>().await;
        }
    }

    fn map(&self) -> MutexGuard<'_, HashMap<String, Point>> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
