//! How much of something there may be at once: runs, waiting callers, bytes that bodies hold in memory.
//!
//! A budget is one number and one limit, shared by everything that draws from it. Drawing and giving back are a few
//! atomic instructions: no lock, no allocation, and nothing waits. At the limit the caller is refused and says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A limited amount. Cheap to clone; clones share it.
///
/// ```
/// use semel_core::Budget;
///
/// let places = Budget::new(1);
/// let place = places.take().expect("one is free");
/// assert!(places.take().is_none());
/// drop(place);
/// assert_eq!(places.used(), 0);
/// ```
#[derive(Debug, Clone)]
pub struct Budget(Arc<Counter>);

#[derive(Debug)]
struct Counter {
    used: AtomicUsize,
    max: AtomicUsize,
}

impl Budget {
    /// At most `max` at once.
    pub fn new(max: usize) -> Self {
        Self(Arc::new(Counter {
            used: AtomicUsize::new(0),
            max: AtomicUsize::new(max),
        }))
    }

    /// Counted, but without a limit.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    /// How much is drawn now.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Acquire)
    }

    /// How much may be drawn.
    pub fn max(&self) -> usize {
        self.0.max.load(Ordering::Acquire)
    }

    /// Changes the limit. What is drawn stays drawn, even if it is more.
    pub fn set_max(&self, max: usize) {
        self.0.max.store(max, Ordering::Release);
    }

    /// One place, unless all are taken.
    pub fn take(&self) -> Option<Permit> {
        let mut permit = self.permit();
        permit.try_grow(1, self.max()).then_some(permit)
    }

    /// A permit that has drawn nothing yet.
    pub fn permit(&self) -> Permit {
        Permit {
            budget: self.clone(),
            units: 0,
        }
    }
}

/// What one holder has drawn from a budget; given back when dropped.
#[derive(Debug)]
#[must_use = "dropped, it gives back what it has drawn"]
pub struct Permit {
    budget: Budget,
    units: usize,
}

impl Permit {
    /// How much it has drawn.
    pub const fn units(&self) -> usize {
        self.units
    }

    /// The budget that it draws from.
    pub const fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Draws `units` more, unless more than `max` would then be drawn by all holders together; whether it did.
    pub fn try_grow(&mut self, units: usize, max: usize) -> bool {
        let used = &self.budget.0.used;
        let grown = used.fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| {
            used.checked_add(units).filter(|used| *used <= max)
        });
        if grown.is_ok() {
            self.units += units;
        }
        grown.is_ok()
    }

    /// Draws `units` more whatever the limit is: for what has happened already and must be counted.
    pub fn grow(&mut self, units: usize) {
        self.budget.0.used.fetch_add(units, Ordering::AcqRel);
        self.units += units;
    }

    /// Gives `units` back; at most what it has.
    pub fn shrink(&mut self, units: usize) {
        let units = units.min(self.units);
        self.budget.0.used.fetch_sub(units, Ordering::AcqRel);
        self.units -= units;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.shrink(self.units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_given_back_and_never_exceeds_the_limit() {
        let budget = Budget::new(10);
        let mut first = budget.permit();
        assert!(first.try_grow(6, budget.max()));
        let mut second = budget.permit();
        assert!(!second.try_grow(5, budget.max()));
        assert!(second.try_grow(4, budget.max()));
        assert!(!second.try_grow(usize::MAX, usize::MAX), "no overflow");
        first.shrink(100);
        assert_eq!((first.units(), budget.used()), (0, 4));
        drop(second);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn what_has_happened_is_counted_beyond_the_limit() {
        let budget = Budget::new(1);
        let mut held = budget.permit();
        held.grow(5);
        assert_eq!(budget.used(), 5);
        assert!(budget.take().is_none());
        drop(held);
        assert!(budget.take().is_some());
    }

    #[test]
    fn a_lower_limit_holds_for_what_comes() {
        let budget = Budget::new(2);
        let _both = (budget.take(), budget.take());
        budget.set_max(1);
        assert!(budget.take().is_none());
        assert_eq!((budget.used(), budget.max()), (2, 1));
    }
}
