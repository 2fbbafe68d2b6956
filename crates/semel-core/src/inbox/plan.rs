//! What a consumer wants of the inbox: the part of its policy that the store must know.

use super::message::Message;
use super::order::Order;
use crate::error::{Error, Result};
use crate::identity::Scope;
use crate::policy::Retention;

/// The part of a consumer's policy that a store applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The consumer's name and version.
    pub consumer: Scope,
    /// In which order its messages run.
    pub order: Order,
    /// How long the record of a message that was dealt with suppresses duplicates, and how long the message itself is kept
    /// for replays. A message that waits is kept as long as it waits.
    pub retention: Retention,
}

impl Plan {
    /// A plan without order and with the usual retention.
    pub fn new(consumer: Scope) -> Self {
        Self {
            consumer,
            order: Order::None,
            retention: Retention::default(),
        }
    }

    /// Refuses a message of another consumer.
    pub fn check_own(&self, message: &Message) -> Result<()> {
        let (expected, found) = (&self.consumer, message.identity().scope());
        match expected == found {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "all messages of a call must belong to the consumer {expected}, found one of {found}"
            ))),
        }
    }
}

/// What becomes of a message of which it is not known whether its effect happened: its worker was lost, its handler did not answer in
/// time, or the connection broke after bytes were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownPolicy {
    /// It runs again: its handler knows the message's id and repeats nothing.
    #[default]
    Rerun,
    /// It is parked until a person decides.
    Hold,
}
