//! What a source says next.

use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::delivery::Delivery;

/// A part of a source whose deliveries are lost together: a partition of a topic, a channel, a file.
///
/// A source that is given such a part again (a partition that comes back, a new channel) may use the same name: handles of before are
/// gone by then.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Partition(Arc<str>);

impl Partition {
    /// A part of this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How far a partition was read, in the source's own words.
pub type Position = String;

/// How much the pump can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    /// The most deliveries; with 0 only other events are wanted.
    pub count: usize,
    /// The most bytes of payloads, keys and headers. One delivery is welcome however large it is.
    pub bytes: usize,
}

impl Want {
    /// No deliveries, only other events.
    pub const NOTHING: Self = Self { count: 0, bytes: 0 };

    /// Whether a batch with so many deliveries and bytes has no room for one more of this size.
    pub const fn is_met(&self, count: usize, bytes: usize, more: usize) -> bool {
        count >= self.count || (count > 0 && bytes.saturating_add(more) > self.bytes)
    }
}

/// What a source delivers at once.
#[derive(Debug, Default)]
pub struct Batch {
    /// The deliveries, in their order.
    pub deliveries: Vec<Delivery>,
    /// How far the partitions have come with them; kept in the store together with the messages.
    pub positions: Vec<(Partition, Position)>,
}

impl Batch {
    /// Deliveries without a position of their own.
    pub const fn of(deliveries: Vec<Delivery>) -> Self {
        Self {
            deliveries,
            positions: Vec::new(),
        }
    }
}

/// Partitions that this reader no longer has.
#[derive(Debug)]
pub struct Gone {
    /// Which ones: all their handles are worthless from now on.
    pub partitions: Vec<Partition>,
    /// If the source waits: the pump sends when everything that was delivered of them before is stored and acknowledged, as far as it will be.
    pub flushed: Option<oneshot::Sender<()>>,
}

/// What a source says next.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// Deliveries.
    Batch(Batch),
    /// Partitions, channels or connections were lost, and with them what was delivered and is still open.
    Gone(Gone),
    /// Nothing more will come.
    End,
}
