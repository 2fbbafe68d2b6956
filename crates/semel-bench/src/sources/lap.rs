//! The time from the first delivery on.

use std::sync::OnceLock;
use std::time::Duration;

use crate::timing::Stopwatch;

/// No turn took less, so that no rate is infinite.
const LEAST: Duration = Duration::from_micros(1);

/// A clock that the first delivery starts.
#[derive(Debug, Default)]
pub(super) struct Lap(OnceLock<Stopwatch>);

impl Lap {
    /// Something was delivered; only the first time counts.
    pub(super) fn begin(&self) {
        self.0.get_or_init(Stopwatch::start);
    }

    /// How long ago the first delivery was.
    pub(super) fn took(&self) -> Duration {
        let began = self.0.get();
        began.map_or(LEAST, |began| began.elapsed().max(LEAST))
    }
}
