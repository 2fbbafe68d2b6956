//! How often an engine looks, and how long it waits.

use std::time::Duration;

/// The times of an engine. The defaults are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How often it looks for work that nobody has told it of.
    pub poll: Duration,
    /// How long handlers that run may take to finish on shutdown; the rest is left to its leases.
    pub drain: Duration,
    /// How often gaps whose time has passed are looked for.
    pub housekeeping: Duration,
    /// How often alerts are judged.
    pub alerts: Duration,
    /// How often brokers are asked about themselves: whether they are safe to read, and how much waits.
    pub facts: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(1),
            drain: Duration::from_secs(25),
            housekeeping: Duration::from_secs(3),
            alerts: Duration::from_secs(5),
            facts: Duration::from_secs(30),
        }
    }
}
