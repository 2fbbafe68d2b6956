//! Amazon SQS as a source of messages and as a target of intents.
//!
//! Read [`SqsSource`] first: it reads one queue, standard or FIFO. Beside it [`SqsOutlet`] sends to one. `url` says what an address is, `headers`
//! what of a message becomes what of an SQS message. Credentials, regions and endpoints are found as the AWS SDK finds them.
//!
//! What holds:
//! - A message is deleted when the inbox has it and not before. What is not deleted comes again when its visibility timeout is over.
//! - Deletions and extensions have a result for each message: a receipt that the service does not take any more is gone, and touches no other.
//! - A message stays invisible for 12 hours at most, however often that is extended.
//! - FIFO: the group orders (the lane of a message), the deduplication id is the message's id. The sequence number is a header and nothing
//!   else: it has holes and 128 bits. On a standard queue a message has no id of the service's: its `MessageId` is another one each time a
//!   producer tries again, so it is only in the coordinates.
//! - Closing gives back what waits in the buffer. A process that dies keeps it until the visibility timeout is over.
//!
//! Deliberately absent: retries of the SDK (the pump retries, and knows), credentials in URLs, SSO logins.
//!
//! ```no_run
//! use semel_inbox::Source;
//! use semel_sqs::SqsSource;
//!
//! # async fn example() -> semel_core::Result<()> {
//! let source = SqsSource::from_url("sqs://eu-central-1/orders.fifo?visibility=1m", "billing")?;
//! source.open(Vec::new()).await?;
//! # Ok(())
//! # }
//! ```

mod error;
mod facts;
mod headers;
mod outlet;
mod queue;
mod source;
mod url;

pub use outlet::SqsOutlet;
pub use source::SqsSource;
