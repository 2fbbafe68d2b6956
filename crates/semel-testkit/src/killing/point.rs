//! The named points at which a worker can be told to stand still and be killed.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::child::say;

/// A point in the life of whatever a worker does.
pub(crate) trait Point: Debug + Copy + Eq + Hash + Send + 'static {
    /// Every point.
    fn all() -> &'static [Self];

    /// The name that supervisor and worker exchange.
    fn name(self) -> &'static str;

    /// The point with this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::all().iter().copied().find(|p| p.name() == name)
    }
}

/// An enum of points with their names.
macro_rules! points {
    ($(#[$doc:meta])* enum { $($(#[$point_doc:meta])* $point:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Point {
            $($(#[$point_doc])* $point,)+
        }

        impl $crate::killing::Point for Point {
            fn all() -> &'static [Self] {
                &[$(Self::$point,)+]
            }

            fn name(self) -> &'static str {
                match self {
                    $(Self::$point => $name,)+
                }
            }
        }
    };
}

pub(crate) use points;

/// The points at which operations or messages are to stand still, as the supervisor asked.
#[derive(Debug)]
pub(crate) struct Stops<P>(Mutex<HashMap<String, P>>);

impl<P> Default for Stops<P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<P: Point> Stops<P> {
    /// `id` stands still at the point of this name; `-` is none.
    pub(crate) fn set(&self, id: &str, point: &str) {
        if let Some(point) = P::from_name(point) {
            self.map().insert(id.to_owned(), point);
        }
    }

    /// Whether `id` is to stand still at this point.
    pub(crate) fn is(&self, id: &str, point: P) -> bool {
        self.map().get(id) == Some(&point)
    }

    /// Stands still for ever if that was asked for.
    pub(crate) async fn reach(&self, id: &str, point: P) {
        if self.is(id, point) {
            say(&format!("at {id} {}", point.name()));
            std::future::pending::<()>().await;
        }
    }

    fn map(&self) -> MutexGuard<'_, HashMap<String, P>> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
