//! How deliveries are answered.

use std::time::Duration;

/// What is to become of a delivery. There is no way to reject one: brokers drop what is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Settle {
    /// It was taken for good.
    Ack,
    /// It was not taken: it may be delivered again after so much time.
    Back(Duration),
    /// It is still being worked on: its lease begins anew.
    Extend,
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Settled {
    /// The broker has it, or will have it with the next commit.
    Done,
    /// The delivery was not this reader's any more; it comes again, here or elsewhere, unless it was acknowledged before.
    Gone,
    /// Not now; the same answer may succeed in a moment.
    Later,
}

/// How long deliveries stay open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLease {
    /// How long a delivery stays open unless it is extended.
    pub term: Duration,
    /// Whether it can be extended. A delivery that cannot is acknowledged as soon as its failure is durable in the inbox, which goes on
    /// with it.
    pub extendable: bool,
    /// The longest that it stays open however often it is extended.
    pub total_max: Option<Duration>,
}

impl SourceLease {
    /// A lease that can be extended for ever.
    pub const fn extendable(term: Duration) -> Self {
        Self {
            term,
            extendable: true,
            total_max: None,
        }
    }

    /// A lease that ends after this time whatever happens.
    pub const fn fixed(term: Duration) -> Self {
        Self {
            term,
            extendable: false,
            total_max: Some(term),
        }
    }

    /// The same, but it ends after this total.
    pub const fn at_most(mut self, total_max: Duration) -> Self {
        self.total_max = Some(total_max);
        self
    }
}
