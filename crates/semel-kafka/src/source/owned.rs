//! The partitions that this member has, and how far each has come.

use std::collections::HashMap;

use semel_inbox::source::{Partition, Watermark};

use super::options::From;

/// A topic of the subscription.
pub(super) struct Topic {
    pub(super) name: String,
    /// The broker's id of it, which another topic of the same name does not have.
    pub(super) id: String,
    pub(super) owned: HashMap<i32, Owned>,
}

impl Topic {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            id: String::new(),
            owned: HashMap::new(),
        }
    }
}

/// A partition that this member has.
pub(super) struct Owned {
    /// Which assignment: handles of an earlier one are gone.
    pub(super) epoch: u64,
    pub(super) partition: Partition,
    pub(super) mark: Watermark,
    /// Where a group without an offset begins at the end, until the first message is handed out.
    begins_at: Option<i64>,
    /// What was handed out and is not answered, with the number of the handing out: a delivery that was given back has another one.
    handed: HashMap<i64, u64>,
    /// The highest offset that was read.
    last: Option<i64>,
    /// What was committed last, or need not be; whether the broker took it may not be known yet.
    sent: Option<i64>,
    /// What the broker is known to have.
    confirmed: Option<i64>,
    /// Whether it is being given up: what is still open may be answered, but nothing is handed out any more.
    pub(super) is_leaving: bool,
}

impl Owned {
    pub(super) fn new(topic: &str, number: i32, epoch: u64) -> Self {
        Self {
            epoch,
            partition: Partition::new(format!("{topic}/{number}")),
            mark: Watermark::default(),
            begins_at: None,
            handed: HashMap::new(),
            last: None,
            sent: None,
            confirmed: None,
            is_leaving: false,
        }
    }

    /// The group has no offset here, and begins at this one; whether the broker knows that.
    pub(super) const fn begin_at(&mut self, offset: i64, is_committed: bool) {
        self.begins_at = Some(offset);
        if is_committed {
            (self.sent, self.confirmed) = (Some(offset), Some(offset));
        }
    }

    /// From where a reader would go on.
    pub(super) fn position(&self) -> Option<i64> {
        self.mark.position().or(self.begins_at)
    }

    /// Whether an offset was read before, so that the broker has gone back: the topic was made anew, or its end was lost.
    pub(super) fn is_rewound_by(&self, offset: i64) -> bool {
        self.last.is_some_and(|last| offset <= last)
    }

    pub(super) fn read(&mut self, offset: i64) {
        self.last = Some(offset);
    }

    pub(super) fn hand_out(&mut self, offset: i64, turn: u64, from: From) {
        // A group that begins with the oldest message finds what is not committed again by itself. One that begins at the end does not: its first
        // commit says where the end was.
        if self.position().is_none() && from == From::Earliest {
            (self.sent, self.confirmed) = (Some(offset), Some(offset));
        }
        self.mark.delivered(offset);
        self.handed.insert(offset, turn);
    }

    /// Whether this handing out is still open.
    pub(super) fn is_open(&self, offset: i64, turn: u64) -> bool {
        self.handed.get(&offset) == Some(&turn)
    }

    pub(super) fn done(&mut self, offset: i64) {
        self.handed.remove(&offset);
        self.mark.done(offset);
    }

    pub(super) fn give_back(&mut self, offset: i64) {
        self.handed.remove(&offset);
    }

    /// Whether something was handed out and is not answered.
    pub(super) fn has_open(&self) -> bool {
        !self.handed.is_empty()
    }

    /// What is to be committed, if it was not yet; it counts as committed from now on.
    pub(super) fn commit(&mut self) -> Option<i64> {
        let position = self.position()?;
        (self.sent.replace(position) != Some(position)).then_some(position)
    }

    /// What is to be committed in the end: all that the broker is not known to have, whatever was sent before.
    pub(super) fn commit_last(&mut self) -> Option<i64> {
        let position = self.position()?;
        self.sent = Some(position);
        (self.confirmed != Some(position)).then_some(position)
    }

    /// The broker has a commit.
    pub(super) const fn confirm(&mut self, position: i64) {
        self.confirmed = Some(position);
    }

    /// A commit failed: the next one says it again.
    pub(super) const fn uncommit(&mut self) {
        self.sent = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_done_without_a_hole_is_committed() {
        let mut owned = Owned::new("t", 0, 1);
        for offset in 5..8 {
            owned.read(offset);
            owned.hand_out(offset, 1, From::Earliest);
        }
        assert_eq!(owned.commit(), None, "nothing is done");
        owned.done(6);
        assert_eq!(owned.commit(), None, "the first is not done");
        owned.done(5);
        assert_eq!(owned.commit(), Some(7));
        assert_eq!(owned.commit(), None, "it was committed");
        assert_eq!(owned.commit_last(), Some(7), "but not confirmed");
        owned.confirm(7);
        assert_eq!(owned.commit_last(), None);
        owned.uncommit();
        assert_eq!(owned.commit(), Some(7));
        assert!(owned.has_open() && owned.is_open(7, 1) && !owned.is_open(7, 2));
        assert!(owned.is_rewound_by(7) && !owned.is_rewound_by(8));
    }

    #[test]
    fn a_group_that_begins_at_the_end_says_where_that_was() {
        let mut owned = Owned::new("t", 0, 1);
        owned.hand_out(5, 1, From::Latest);
        assert_eq!(owned.commit(), Some(5));
        for (is_committed, expected) in [(false, Some(7)), (true, None)] {
            let mut owned = Owned::new("t", 0, 1);
            owned.begin_at(7, is_committed);
            assert_eq!(owned.commit(), expected, "before anything is handed out");
            owned.hand_out(9, 1, From::Latest);
            assert_eq!(owned.commit(), Some(9));
        }
    }
}
