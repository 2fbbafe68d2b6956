//! `inbox`: the door for messages that are posted.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::value::{Count, Size, Word};

/// The door for messages that are posted to `/inbox/NAME`. It is open if a consumer's source is http.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InboxListen {
    /// The address to listen on. Default: 127.0.0.1:7072.
    pub listen: Word<SocketAddr>,
    /// How much it takes on.
    pub limits: InboxLimits,
    /// How long each phase may take.
    pub timeouts: InboxTimeouts,
}

impl Default for InboxListen {
    fn default() -> Self {
        Self {
            listen: Word(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7072)),
            limits: InboxLimits::default(),
            timeouts: InboxTimeouts::default(),
        }
    }
}

/// How much the door for messages takes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InboxLimits {
    /// Open connections; more wait to be accepted. Default: 1000.
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
    /// How long requests and handlers may go on when asked to stop. Default: 30s.
    pub drain: Word<Duration>,
}

impl InboxTimeouts {
    /// All of them by name.
    pub(crate) fn all(&self) -> [(&'static str, Duration); 4] {
        [
            ("header", self.header.0),
            ("body", self.body.0),
            ("idle", self.idle.0),
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
            drain: seconds(30),
        }
    }
}
