//! A value that is replaced while others use it.

use std::sync::{Arc, PoisonError, RwLock};

/// What holds at the moment. Clones share it, so that a reload reaches everything that was built with one of them.
///
/// A std lock, not an async one: it is held to copy the value, never over an await.
#[derive(Debug, Default)]
pub struct Current<T>(Arc<RwLock<T>>);

impl<T: Clone> Current<T> {
    /// This holds until it is replaced.
    pub fn new(value: T) -> Self {
        Self(Arc::new(RwLock::new(value)))
    }

    /// What holds now.
    pub fn get(&self) -> T {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Replaces it; what was got before stays as it was.
    pub fn set(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

impl<T> Clone for Current<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Clone> From<T> for Current<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}
