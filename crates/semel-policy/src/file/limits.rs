//! `gateway.limits` and `gateway.timeouts`: nothing is without an end.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::value::{Count, Size, Word};

/// How much the gateway takes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Open connections of clients; the longest silent one makes room for the next, and while all are busy, more wait to be
    /// accepted. Default: 10000.
    pub connections: Word<Count>,
    /// Requests in flight; more get 503. Default: 2000.
    pub in_flight: Word<Count>,
    /// The head of a request, in bytes. Default: 64KiB.
    pub header_bytes: Word<Size>,
    /// The body of a guarded request, in bytes, unless its route says otherwise. Default: 1MiB.
    pub request_bytes: Word<Size>,
    /// The body of a response that is kept, in bytes, unless its route says otherwise. Default: 1MiB.
    pub response_bytes: Word<Size>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: Word(Count(10_000)),
            in_flight: Word(Count(2_000)),
            header_bytes: Word(Size(64 * 1024)),
            request_bytes: Word(Size(semel_http::rules::REQUEST_BYTES)),
            response_bytes: Word(Size(semel_http::rules::RESPONSE_BYTES)),
        }
    }
}

/// How long each phase may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// Until the head of a request has arrived. Default: 10s.
    pub header: Word<Duration>,
    /// Until the body of a guarded request has arrived. Default: 30s.
    pub body: Word<Duration>,
    /// Until the service has accepted a connection. Default: 5s.
    pub connect: Word<Duration>,
    /// How long a client's connection may be idle. Default: 75s.
    pub idle: Word<Duration>,
    /// How long a connection to the service may be idle and is still used again. Default: 1s.
    pub upstream_idle: Word<Duration>,
    /// Until the service begins to answer a request that no route guards. Default: 60s.
    pub response: Word<Duration>,
    /// How long connections are still accepted when the gateway is asked to stop, while readiness says no. Default: 0s.
    pub drain_pause: Word<Duration>,
    /// How long requests in flight may go on after that. Default: 30s.
    pub drain: Word<Duration>,
}

impl Timeouts {
    /// All of them by name.
    pub(crate) fn all(&self) -> [(&'static str, Duration); 8] {
        [
            ("header", self.header.0),
            ("body", self.body.0),
            ("connect", self.connect.0),
            ("idle", self.idle.0),
            ("upstream_idle", self.upstream_idle.0),
            ("response", self.response.0),
            ("drain_pause", self.drain_pause.0),
            ("drain", self.drain.0),
        ]
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = |seconds| Word(Duration::from_secs(seconds));
        Self {
            header: seconds(10),
            body: seconds(30),
            connect: seconds(5),
            idle: seconds(75),
            upstream_idle: seconds(1),
            response: seconds(60),
            drain_pause: seconds(0),
            drain: seconds(30),
        }
    }
}
