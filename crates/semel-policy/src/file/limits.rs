//! `limits`, `gateway.limits` and `gateway.timeouts`: nothing is without an end.

use std::time::Duration;

use schemars::JsonSchema;
use semel_http::rules::MinRate;
use serde::Deserialize;

use super::quota::{Quota, Quotas};
use crate::value::{Count, Size, Word};

/// What all doors of the process share.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessLimits {
    /// The bytes of bodies that are held in memory by the gateway, the admin side and the inbox together; more get 503.
    /// Default: 256MiB.
    pub buffered_bytes: Word<Size>,
    /// What each tenant may bring to this process. Default: no limit.
    pub tenant: Quota,
    /// What these tenants may bring, by name; what one leaves out is as limits.tenant says.
    pub tenants: Quotas,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self {
            buffered_bytes: Word(Size(semel_http::memory::BUFFERED_BYTES)),
            tenant: Quota::default(),
            tenants: Quotas::default(),
        }
    }
}

/// How much the gateway takes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Open connections of clients; the longest silent one makes room for the next, and while all are busy, more wait to be
    /// accepted. Default: 10000.
    pub connections: Word<Count>,
    /// Requests of each of the following kinds at once, unless the kind has a number of its own; more get 503. Default: 2000.
    pub in_flight: Word<Count>,
    /// Guarded operations that run. Default: in_flight.
    pub runs: Option<Word<Count>>,
    /// Bodies of guarded requests that are slow to arrive. Default: in_flight.
    pub receiving: Option<Word<Count>>,
    /// Duplicates that wait for the first request. Default: in_flight.
    pub waiting: Option<Word<Count>>,
    /// Duplicates that wait for one key; the next one gets the in-progress answer at once. Default: 64.
    pub waiting_per_key: Word<Count>,
    /// Requests that no route guards. Default: in_flight.
    pub passing: Option<Word<Count>>,
    /// Connections that have changed their protocol: websockets. Default: in_flight.
    pub tunnels: Option<Word<Count>>,
    /// The least that the body of a guarded request must bring, in bytes per second. Default: 256.
    pub body_rate: Word<Size>,
    /// The head of a request, in bytes. Default: 64KiB.
    pub header_bytes: Word<Size>,
    /// The body of a guarded request, in bytes, unless its route says otherwise. Default: 1MiB.
    pub request_bytes: Word<Size>,
    /// The body of a response that is kept, in bytes, unless its route says otherwise. Default: 1MiB.
    pub response_bytes: Word<Size>,
    /// The head of an answer of the service, in bytes; the outcome of one with more is unknown. Default: 256KiB.
    pub response_header_bytes: Word<Size>,
    /// The headers of an answer of the service; the outcome of one with more is unknown. Default: 256.
    pub response_headers: Word<Count>,
    /// HTTP/2 connections to one service; requests beyond what they carry wait. Default: 32.
    pub http2_connections: Word<Count>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: Word(Count(10_000)),
            in_flight: Word(Count(2_000)),
            runs: None,
            receiving: None,
            waiting: None,
            waiting_per_key: Word(Count(64)),
            passing: None,
            tunnels: None,
            body_rate: Word(Size(MinRate::default().bytes_per_second)),
            header_bytes: Word(Size(64 * 1024)),
            request_bytes: Word(Size(semel_http::rules::REQUEST_BYTES)),
            response_bytes: Word(Size(semel_http::rules::RESPONSE_BYTES)),
            response_header_bytes: Word(Size(256 * 1024)),
            response_headers: Word(Count(256)),
            http2_connections: Word(Count(32)),
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
    /// How long the body of a guarded request may stand still, or bring less than limits.body_rate. Default: 5s.
    pub body_grace: Word<Duration>,
    /// How long a body that passes through may stand still. Default: 300s.
    pub body_idle: Word<Duration>,
    /// Until the service has accepted a connection. Default: 5s.
    pub connect: Word<Duration>,
    /// How long a client's connection may be idle. Default: 75s.
    pub idle: Word<Duration>,
    /// How long a connection to the service may be idle and is still used again. Default: 1s.
    pub upstream_idle: Word<Duration>,
    /// Until the service begins to answer a request that no route guards. Default: 60s.
    pub response: Word<Duration>,
    /// How long a client may refuse to read a guarded answer that is too large to be kept. Default: 30s.
    pub client_stall: Word<Duration>,
    /// How long a tunnel (a websocket) may stand still. Default: 1h.
    pub tunnel_idle: Word<Duration>,
    /// How long a tunnel may stand still once one side has ended. Default: 30s.
    pub tunnel_closing: Word<Duration>,
    /// How long connections are still accepted when the gateway is asked to stop, while readiness says no. Default: 0s.
    pub drain_pause: Word<Duration>,
    /// How long requests in flight may go on after that. Default: 30s.
    pub drain: Word<Duration>,
}

impl Timeouts {
    /// All of them by name.
    pub(crate) fn all(&self) -> [(&'static str, Duration); 13] {
        [
            ("header", self.header.0),
            ("body", self.body.0),
            ("body_grace", self.body_grace.0),
            ("body_idle", self.body_idle.0),
            ("connect", self.connect.0),
            ("idle", self.idle.0),
            ("upstream_idle", self.upstream_idle.0),
            ("response", self.response.0),
            ("client_stall", self.client_stall.0),
            ("tunnel_idle", self.tunnel_idle.0),
            ("tunnel_closing", self.tunnel_closing.0),
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
            body_grace: Word(MinRate::default().grace),
            body_idle: seconds(300),
            connect: seconds(5),
            idle: seconds(75),
            upstream_idle: seconds(1),
            response: seconds(60),
            client_stall: Word(semel_http::rules::CLIENT_STALL),
            tunnel_idle: seconds(3_600),
            tunnel_closing: seconds(30),
            drain_pause: seconds(0),
            drain: seconds(30),
        }
    }
}
