//! `inbox`: the door for messages that are posted.

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::listening::{AccessLog, Tls};
use crate::value::{Count, Listen, Size, Word};

/// The door for messages that are posted to `/inbox/NAME`. It is open if a consumer's source is http.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InboxListen {
    /// The address to listen on, or unix: and a path. Default: 127.0.0.1:7072.
    pub listen: Word<Listen>,
    /// Serves HTTPS with this certificate.
    pub tls: Option<Tls>,
    /// Which requests are logged: off, errors, all, or a sample. Default: off.
    pub access_log: AccessLog,
    /// How much it takes on.
    pub limits: InboxLimits,
    /// How long each phase may take.
    pub timeouts: InboxTimeouts,
}

impl Default for InboxListen {
    fn default() -> Self {
        Self {
            listen: Word(Listen::loopback(7072)),
            tls: None,
            access_log: AccessLog::Off,
            limits: InboxLimits::default(),
            timeouts: InboxTimeouts::default(),
        }
    }
}

impl InboxListen {
    /// Paths in the file are relative to its directory.
    pub(crate) fn resolve(&mut self, directory: &Path) {
        self.listen.0.resolve(directory);
        if let Some(tls) = &mut self.tls {
            tls.resolve(directory);
        }
    }
}

/// How much the door for messages takes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InboxLimits {
    /// Open connections; the longest silent one makes room for the next, and while all are busy, more wait to be accepted. Default: 1000.
    pub connections: Word<Count>,
    /// Messages in flight; more get 503. Default: 500.
    pub in_flight: Word<Count>,
    /// The head of a request, in bytes. Default: 64KiB.
    pub header_bytes: Word<Size>,
}

impl Default for InboxLimits {
    fn default() -> Self {
        Self {
            connections: Word(Count(1_000)),
            in_flight: Word(Count(500)),
            header_bytes: Word(Size(64 * 1024)),
        }
    }
}

/// How long each phase may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InboxTimeouts {
    /// Until the head of a request has arrived. Default: 10s.
    pub header: Word<Duration>,
    /// Until the message has arrived. Default: 30s.
    pub body: Word<Duration>,
    /// How long a connection may be idle. Default: 75s.
    pub idle: Word<Duration>,
    /// How long connections are still accepted when asked to stop, while readiness says no. Default: 0s.
    pub drain_pause: Word<Duration>,
    /// How long requests and handlers may go on after that. Default: 30s.
    pub drain: Word<Duration>,
}

impl InboxTimeouts {
    /// All of them by name.
    pub(crate) fn all(&self) -> [(&'static str, Duration); 5] {
        [
            ("header", self.header.0),
            ("body", self.body.0),
            ("idle", self.idle.0),
            ("drain_pause", self.drain_pause.0),
            ("drain", self.drain.0),
        ]
    }
}

impl Default for InboxTimeouts {
    fn default() -> Self {
        let seconds = |seconds| Word(Duration::from_secs(seconds));
        Self {
            header: seconds(10),
            body: seconds(30),
            idle: seconds(75),
            drain_pause: seconds(0),
            drain: seconds(30),
        }
    }
}
