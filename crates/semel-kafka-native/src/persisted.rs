//! Whether a produced message reached the broker.

use rdkafka::bindings as native;
use rdkafka::message::BorrowedMessage;

/// Whether a message that was produced reached the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persisted {
    /// It was never sent, or the broker said that it did not take it.
    No,
    /// It was sent, and no answer came.
    Perhaps,
    /// The broker has it.
    Yes,
}

/// What the delivery report of a message says about it.
#[expect(unsafe_code, reason = "the safe binding does not have this call")]
pub fn persisted(message: &BorrowedMessage<'_>) -> Persisted {
    use native::rd_kafka_msg_status_t as Status;
    // SAFETY: the pointer is that of a message which lives as long as the borrow.
    match unsafe { native::rd_kafka_message_status(message.ptr()) } {
        Status::RD_KAFKA_MSG_STATUS_NOT_PERSISTED => Persisted::No,
        Status::RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED => Persisted::Perhaps,
        Status::RD_KAFKA_MSG_STATUS_PERSISTED => Persisted::Yes,
    }
}
