//! What a store can hold and tell, so that callers ask instead of assuming.

use super::{Batch, SettleAnswer, SettleRequest};
use crate::error::{Error, Kind, Result};
use crate::outcome::{BODY_BYTES_MAX, Outcome};

/// What a store can hold and tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest body that the store keeps, in bytes; at most [`BODY_BYTES_MAX`].
    pub body_bytes_max: usize,
    /// How the numbers of [`Store::stats`](super::Store::stats) are to be read.
    pub counts: Counts,
    /// How the numbers of [`Store::sweep`](super::Store::sweep) are to be read. A store whose engine
    /// expires records by itself cannot count all of them.
    pub swept: Counts,
    /// Whether a list of one tenant costs what its page costs, and not what the whole store does.
    pub lists_by_tenant: bool,
}

/// How far a number can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// It is exact.
    Exact,
    /// Up to this it is exact, above it an estimate.
    ExactUpTo(u64),
    /// It is an estimate.
    Estimated,
}

impl Counts {
    /// Whether `count` is exact.
    pub const fn is_exact(self, count: u64) -> bool {
        match self {
            Self::Exact => true,
            Self::ExactUpTo(max) => count <= max,
            Self::Estimated => false,
        }
    }

    /// How a number made of two is to be read.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Exact, both) | (both, Self::Exact) => both,
            (Self::ExactUpTo(a), Self::ExactUpTo(b)) => Self::ExactUpTo(if a < b { a } else { b }),
            (Self::Estimated, _) | (_, Self::Estimated) => Self::Estimated,
        }
    }
}

impl Limits {
    /// A store that counts exactly and keeps every body that an outcome can have.
    pub const fn exact() -> Self {
        Self {
            body_bytes_max: BODY_BYTES_MAX,
            counts: Counts::Exact,
            swept: Counts::Exact,
            lists_by_tenant: false,
        }
    }

    /// The same, with bodies of at most `bytes`.
    #[must_use]
    pub const fn with_body_bytes(mut self, bytes: usize) -> Self {
        self.body_bytes_max = if bytes < BODY_BYTES_MAX {
            bytes
        } else {
            BODY_BYTES_MAX
        };
        self
    }

    /// The same, with numbers of `stats` to be read as `counts`.
    #[must_use]
    pub const fn with_counts(mut self, counts: Counts) -> Self {
        self.counts = counts;
        self
    }

    /// The same, with numbers of `sweep` to be read as `swept`.
    #[must_use]
    pub const fn with_swept(mut self, swept: Counts) -> Self {
        self.swept = swept;
        self
    }

    /// What two stores can do together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            body_bytes_max: if self.body_bytes_max < other.body_bytes_max {
                self.body_bytes_max
            } else {
                other.body_bytes_max
            },
            counts: self.counts.and(other.counts),
            swept: self.swept.and(other.swept),
            lists_by_tenant: self.lists_by_tenant && other.lists_by_tenant,
        }
    }

    /// Parts settles into those that the store can keep and the answers to the others, for [`merge`](super::merge).
    pub fn sort_out(
        &self,
        items: Batch<SettleRequest>,
    ) -> (Batch<Option<Result<SettleAnswer>>>, Batch<SettleRequest>) {
        let (mut answers, mut fit) = (Batch::with_capacity(items.len()), Batch::new());
        for item in items {
            match self.check(&item.outcome) {
                Ok(()) => {
                    answers.push(None);
                    fit.push(item);
                }
                Err(error) => answers.push(Some(Err(error))),
            }
        }
        (answers, fit)
    }

    /// Refuses an outcome whose body the store does not keep. Callers cap bodies before
    /// ([`Outcome::capped`]); a store calls this so that none of its records is above its own limit.
    pub fn check(&self, outcome: &Outcome) -> Result<()> {
        let len = outcome.body.kept().map_or(0, bytes::Bytes::len);
        if len > self.body_bytes_max {
            let message = format!(
                "this store keeps bodies of at most {} bytes, found {len}",
                self.body_bytes_max
            );
            return Err(Error::new(Kind::Invalid, message));
        }
        Ok(())
    }
}
