//! How much is accepted, and how long each phase may take.

use std::time::Duration;

use crate::error::{Error, Result};

/// More headers than this would leave the parser's buffer on the stack.
const HEADERS_MAX: usize = 100;
/// More headers than this do not fit into one map of headers.
const RESPONSE_HEADERS_MAX: usize = 10_000;
/// The smallest head of an answer that the HTTP/1 parser works with.
const RESPONSE_HEADER_BYTES_MIN: usize = 8 * 1024;

/// How much a gateway accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Client connections. At the limit the one without a request in flight that has been silent longest makes room; if all
    /// are busy, new ones wait in the listening socket's queue, which tells clients to slow down without refusing any of them.
    pub connections_max: usize,
    /// Requests of each kind at once, where the kind has no number of its own below. Above it: 503 `overloaded`.
    pub in_flight_max: usize,
    /// Guarded operations that run.
    pub runs_max: Option<usize>,
    /// Bodies of guarded requests that are slow to arrive.
    pub receiving_max: Option<usize>,
    /// Duplicates that wait for a run.
    pub waiting_max: Option<usize>,
    /// Duplicates that wait for one key; the next one gets the in-progress answer at once.
    pub waiting_per_key_max: usize,
    /// Requests that no route guards, until their responses have been sent.
    pub passing_max: Option<usize>,
    /// Connections that have changed their protocol (websockets).
    pub tunnels_max: Option<usize>,
    /// Concurrent requests of one HTTP/2 connection.
    pub streams_max: u32,
    /// Bytes of one request's head; more is answered with 431. At least 8 KiB.
    pub header_bytes_max: usize,
    /// Header fields of one request; more are answered with 431. At most 100.
    pub headers_max: usize,
    /// Idle connections that are kept towards one upstream. In use are as many as requests are in flight.
    pub idle_max: usize,
    /// HTTP/2 connections to one upstream. A further one is made when those there are carry as many
    /// requests as the upstream allows; when all are full, requests wait, and are not handed over.
    pub http2_connections_max: usize,
    /// Header fields of an upstream's answer. One with more cannot be used, and its outcome is unknown.
    pub response_headers_max: usize,
    /// Bytes of the head of an upstream's answer, likewise. At least 8 KiB.
    pub response_header_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 10_000,
            in_flight_max: 2_000,
            runs_max: None,
            receiving_max: None,
            waiting_max: None,
            waiting_per_key_max: 64,
            passing_max: None,
            tunnels_max: None,
            streams_max: 256,
            header_bytes_max: 64 * 1024,
            headers_max: HEADERS_MAX,
            idle_max: 4_096,
            http2_connections_max: 32,
            response_headers_max: 256,
            response_header_bytes_max: 256 * 1024,
        }
    }
}

impl Limits {
    pub(crate) fn runs(&self) -> usize {
        self.runs_max.unwrap_or(self.in_flight_max)
    }

    pub(crate) fn receiving(&self) -> usize {
        self.receiving_max.unwrap_or(self.in_flight_max)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting_max.unwrap_or(self.in_flight_max)
    }

    pub(crate) fn passing(&self) -> usize {
        self.passing_max.unwrap_or(self.in_flight_max)
    }

    pub(crate) fn tunnels(&self) -> usize {
        self.tunnels_max.unwrap_or(self.in_flight_max)
    }

    /// The listener checks what is its own.
    pub(crate) fn check(&self) -> Result<()> {
        for (name, value) in [
            ("in_flight_max", self.in_flight_max),
            ("runs_max", self.runs()),
            ("receiving_max", self.receiving()),
            ("waiting_max", self.waiting()),
            ("waiting_per_key_max", self.waiting_per_key_max),
            ("passing_max", self.passing()),
            ("tunnels_max", self.tunnels()),
        ] {
            if value == 0 {
                return Err(Error::invalid(format!(
                    "{name} must be at least 1, found 0"
                )));
            }
        }
        self.check_upstream()
    }

    /// What concerns the way to the upstream.
    fn check_upstream(&self) -> Result<()> {
        for (name, value, range) in [
            (
                "http2_connections_max",
                self.http2_connections_max,
                1..=usize::MAX,
            ),
            (
                "response_headers_max",
                self.response_headers_max,
                1..=RESPONSE_HEADERS_MAX,
            ),
            (
                "response_header_bytes_max",
                self.response_header_bytes_max,
                RESPONSE_HEADER_BYTES_MIN..=u32::MAX as usize,
            ),
        ] {
            if !range.contains(&value) {
                let (min, max) = range.into_inner();
                return Err(Error::invalid(format!(
                    "{name} must be {min} to {max}, found {value}"
                )));
            }
        }
        Ok(())
    }
}

/// How long each phase may take. Guarded exchanges have a timeout of their own in their route's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the first byte of a request's head to its last, and for the TLS handshake.
    pub header: Duration,
    /// How long a client's connection may be idle between two requests.
    pub idle: Duration,
    /// How long a body that passes through may stand still, in either direction, and how long a
    /// peer may refuse to read. Streams of events should send a comment more often than this.
    pub body_idle: Duration,
    /// How long a tunnel (a websocket) may stand still in both directions.
    pub tunnel_idle: Duration,
    /// How long it may stand still once one side has ended; never longer than `tunnel_idle`.
    pub tunnel_closing: Duration,
    /// To reach the upstream: name lookup, TCP and TLS handshake together.
    pub connect: Duration,
    /// From the end of a request that passes through to the head of its response.
    pub response_head: Duration,
    /// How long a connection to the upstream is kept for the next request. Short on purpose: an
    /// upstream that closes an idle connection just as a request is written to it leaves the outcome of
    /// that request unknown, so we close it long before any upstream does.
    pub upstream_idle: Duration,
    /// How long connections are still accepted after the gateway was asked to end, so that a load balancer that has seen "not
    /// ready" has time to send new ones elsewhere.
    pub drain_pause: Duration,
    /// How long requests in flight may take to finish after that.
    pub drain: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            body_idle: Duration::from_secs(300),
            tunnel_idle: Duration::from_secs(3_600),
            tunnel_closing: Duration::from_secs(30),
            connect: Duration::from_secs(5),
            response_head: Duration::from_secs(60),
            upstream_idle: Duration::from_secs(1),
            drain_pause: Duration::ZERO,
            drain: Duration::from_secs(30),
        }
    }
}

impl Timeouts {
    /// The longest timeout: anything longer means that there is none.
    pub const MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    pub(crate) fn check(&self) -> Result<()> {
        for (name, value, may_be_zero) in [
            ("header", self.header, false),
            ("idle", self.idle, false),
            ("body_idle", self.body_idle, false),
            ("tunnel_idle", self.tunnel_idle, false),
            ("tunnel_closing", self.tunnel_closing, false),
            ("connect", self.connect, false),
            ("response_head", self.response_head, false),
            // Zero: every request gets a connection of its own.
            ("upstream_idle", self.upstream_idle, true),
            // Zero: the socket is closed at once.
            ("drain_pause", self.drain_pause, true),
            // Zero: what is in flight is cut off.
            ("drain", self.drain, true),
        ] {
            if value > Self::MAX || (value.is_zero() && !may_be_zero) {
                return Err(Error::invalid(format!(
                    "the timeout {name} must be above zero and at most seven days, found {value:?}"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        Limits::default().check().unwrap();
        Timeouts::default().check().unwrap();
    }

    #[test]
    fn limits_of_answers_are_refused_by_name() {
        for (name, change) in [
            (
                "http2_connections_max",
                (|limits| limits.http2_connections_max = 0) as fn(&mut Limits),
            ),
            ("response_headers_max", |limits| {
                limits.response_headers_max = RESPONSE_HEADERS_MAX + 1;
            }),
            ("response_header_bytes_max", |limits| {
                limits.response_header_bytes_max = 1;
            }),
        ] {
            let mut limits = Limits::default();
            change(&mut limits);
            let error = limits.check().unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn a_limit_of_nothing_is_refused_by_name() {
        let limits = Limits {
            in_flight_max: 0,
            ..Limits::default()
        };
        assert!(
            limits
                .check()
                .unwrap_err()
                .to_string()
                .contains("in_flight_max")
        );
        let timeouts = Timeouts {
            connect: Duration::ZERO,
            ..Timeouts::default()
        };
        assert!(
            timeouts
                .check()
                .unwrap_err()
                .to_string()
                .contains("connect")
        );
    }
}
