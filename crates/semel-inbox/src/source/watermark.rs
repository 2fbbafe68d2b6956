//! The highest offset up to which everything is done, for sources that acknowledge by a position.

use std::collections::BTreeMap;

/// Deliveries of one partition that may be done in any order, and the position that may be committed: never past one that is not done.
///
/// Offsets may have holes (compacted topics, aborted transactions): only what was delivered is waited for.
///
/// ```
/// use semel_inbox::source::Watermark;
///
/// let mut mark = Watermark::default();
/// for offset in [10, 11, 14] {
///     mark.delivered(offset);
/// }
/// assert!(mark.done(11));
/// assert_eq!(mark.position(), Some(10));
/// assert!(mark.done(10));
/// assert_eq!(mark.position(), Some(14));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Watermark {
    /// Offsets that were delivered, and whether they are done; those below the first that is not are dropped.
    open: BTreeMap<i64, bool>,
    /// One after the highest offset that was delivered.
    end: Option<i64>,
}

impl Watermark {
    /// An offset was delivered.
    pub fn delivered(&mut self, offset: i64) {
        self.open.insert(offset, false);
        let after = offset.saturating_add(1);
        self.end = Some(self.end.map_or(after, |end| end.max(after)));
    }

    /// An offset is done; whether it was open.
    pub fn done(&mut self, offset: i64) -> bool {
        let Some(done) = self.open.get_mut(&offset) else {
            return false;
        };
        *done = true;
        while let Some(first) = self.open.first_entry().filter(|first| *first.get()) {
            first.remove();
        }
        true
    }

    /// Whether an offset was delivered and is not done.
    pub fn is_open(&self, offset: i64) -> bool {
        self.open.get(&offset) == Some(&false)
    }

    /// From where a reader must go on so that nothing is missed; nothing before the first delivery.
    pub fn position(&self) -> Option<i64> {
        let first = self.open.first_key_value();
        first.map(|(offset, _)| *offset).or(self.end)
    }

    /// How many deliveries are not done, or wait for one before them.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether everything that was delivered is done.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_never_passes_a_hole_in_what_is_done() {
        let mut mark = Watermark::default();
        assert_eq!(mark.position(), None);
        for offset in [5, 6, 9, 10] {
            mark.delivered(offset);
        }
        for (done, position) in [(10, 5), (6, 5), (5, 9), (9, 11)] {
            assert!(mark.done(done));
            assert_eq!(mark.position(), Some(position), "after {done}");
        }
        assert!(mark.is_empty());
        assert!(!mark.done(9), "what is done already is not open");
        mark.delivered(20);
        assert_eq!(mark.position(), Some(20));
    }
}
