//! What librdkafka says, in our log.

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel as Level;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::KafkaError;

/// Writes a line of librdkafka. Its lines name brokers, topics and groups; they have neither payloads nor passwords.
pub(crate) fn line(name: &str, level: Level, facility: &str, text: &str) {
    match level {
        Level::Emerg | Level::Alert | Level::Critical | Level::Error | Level::Warning => {
            tracing::warn!(name, facility, "librdkafka: {text}");
        }
        Level::Notice | Level::Info | Level::Debug => {
            tracing::debug!(name, facility, "librdkafka: {text}");
        }
    }
}

/// A client that does nothing but log.
pub(crate) struct Named(pub(crate) String);

impl ClientContext for Named {
    fn log(&self, level: Level, facility: &str, text: &str) {
        line(&self.0, level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(name = self.0, %error, "librdkafka: {reason}");
    }
}

impl ConsumerContext for Named {}
