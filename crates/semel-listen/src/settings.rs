//! How much a listener accepts, and how long each phase of a connection may take.

use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;

use crate::access::AccessLog;
use crate::error::{Error, Kind, Result};
use crate::tls::{self, Secure, Tls};

/// The smallest buffer for a head that the HTTP/1 parser works with.
pub(crate) const HEADER_BYTES_MIN: usize = 8 * 1024;
/// More headers than this would leave the parser's buffer on the stack.
const HEADERS_MAX: usize = 100;
/// What a client may send on one HTTP/2 stream, and on all streams of its connection, before it is read: these bytes
/// are in no body's buffer yet.
const STREAM_BYTES_MAX: u32 = 256 * 1024;
const CONNECTION_BYTES_MAX: u32 = 1024 * 1024;
/// What one HTTP/2 stream holds for a client that reads slowly.
const SEND_BYTES_MAX: usize = 64 * 1024;

/// The settings of a listener.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Open connections. At the limit the connection without a request in flight that has been silent longest is closed for a new
    /// one; if every connection has a request in flight, new ones wait to be accepted.
    pub connections_max: usize,
    /// Concurrent requests of one HTTP/2 connection.
    pub streams_max: u32,
    /// Bytes of one request's head; more is answered with 431. At least 8 KiB.
    pub header_bytes_max: usize,
    /// Header fields of one request; more are answered with 431. At most 100.
    pub headers_max: usize,
    /// From the first byte of a head to its last, from the beginning of a connection to its first head, and for the TLS handshake.
    pub header: Duration,
    /// How long a connection may be idle between two requests.
    pub idle: Duration,
    /// How long a client may refuse to read.
    pub stall: Duration,
    /// How long a connection may live; after that it ends with the answer to its request in flight.
    pub life: Option<Duration>,
    /// How long connections are still accepted after the end was asked for, so that a load balancer that has seen "not ready" has
    /// time to send new ones elsewhere.
    pub pause: Duration,
    /// How long requests in flight may take to finish after that.
    pub drain: Duration,
    /// Whether HTTP/2 is spoken beside HTTP/1.1.
    pub http2: bool,
    /// With which certificate; without one it is plain HTTP.
    pub tls: Option<Tls>,
    /// How often it is looked whether the files of the certificate have changed.
    pub certificate_poll: Duration,
    /// The permissions of a unix socket. Connecting needs write permission.
    pub socket_mode: u32,
    /// Which requests are logged.
    pub access_log: AccessLog,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections_max: 1_000,
            streams_max: 256,
            header_bytes_max: 64 * 1024,
            headers_max: HEADERS_MAX,
            header: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            stall: Duration::from_secs(30),
            life: None,
            pause: Duration::ZERO,
            drain: Duration::from_secs(30),
            http2: true,
            tls: None,
            certificate_poll: Duration::from_secs(10),
            socket_mode: 0o660,
            access_log: AccessLog::Off,
        }
    }
}

impl Settings {
    fn check(&self) -> Result<()> {
        for (name, value) in [
            ("connections_max", self.connections_max),
            ("streams_max", self.streams_max as usize),
            ("headers_max", self.headers_max),
        ] {
            if value == 0 {
                return Err(invalid(format!("{name} must be at least 1, found 0")));
            }
        }
        let bytes = self.header_bytes_max;
        if !(HEADER_BYTES_MIN..=u32::MAX as usize).contains(&bytes) {
            let max = u32::MAX;
            return Err(invalid(format!(
                "header_bytes_max must be {HEADER_BYTES_MIN} to {max}, found {bytes}"
            )));
        }
        if self.headers_max > HEADERS_MAX {
            let found = self.headers_max;
            return Err(invalid(format!(
                "headers_max must be 1 to {HEADERS_MAX}, found {found}"
            )));
        }
        match self.access_log {
            AccessLog::Sample(share) if !(share > 0.0 && share <= 1.0) => Err(invalid(format!(
                "the access log's sample must be above 0 and at most 1, found {share}"
            ))),
            _ => Ok(()),
        }
    }

    fn http(&self) -> auto::Builder<TokioExecutor> {
        let mut http = auto::Builder::new(TokioExecutor::new());
        if !self.http2 {
            http = http.http1_only();
        }
        // Idle connections and slow heads are watched by `connection`: hyper's timer does not tell them
        // apart, and is set anew for every request.
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(None)
            .max_headers(self.headers_max)
            .max_buf_size(self.header_bytes_max);
        let header_bytes = u32::try_from(self.header_bytes_max).unwrap_or(u32::MAX);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(self.streams_max)
            .initial_stream_window_size(STREAM_BYTES_MAX)
            .initial_connection_window_size(CONNECTION_BYTES_MAX)
            .max_send_buf_size(SEND_BYTES_MAX)
            .max_header_list_size(header_bytes);
        http
    }
}

fn invalid(message: String) -> Error {
    Error::new(Kind::Invalid, message)
}

/// Settings made ready for connections; each uses those that it began with.
pub(crate) struct Ready {
    pub(crate) settings: Settings,
    pub(crate) http: auto::Builder<TokioExecutor>,
    pub(crate) tls: Option<Secure>,
}

impl Ready {
    pub(crate) fn new(settings: Settings) -> Result<Self> {
        settings.check()?;
        let tls = match &settings.tls {
            Some(tls) => Some(tls::secure(tls, settings.http2)?),
            None => None,
        };
        Ok(Self {
            http: settings.http(),
            tls,
            settings,
        })
    }

    /// The same with a certificate that was read anew.
    pub(crate) fn with_certificate(&self, certificate: Secure) -> Self {
        Self {
            settings: self.settings.clone(),
            http: self.http.clone(),
            tls: Some(certificate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_nothing_is_refused_by_name() {
        Settings::default().check().unwrap();
        type Row = (&'static str, fn(&mut Settings));
        let table: [Row; 5] = [
            ("connections_max", |settings| settings.connections_max = 0),
            ("streams_max", |settings| settings.streams_max = 0),
            ("headers_max", |settings| settings.headers_max = 101),
            ("header_bytes_max", |settings| {
                settings.header_bytes_max = 8_191
            }),
            ("sample", |settings| {
                settings.access_log = AccessLog::Sample(f64::NAN)
            }),
        ];
        for (name, change) in table {
            let mut settings = Settings::default();
            change(&mut settings);
            let said = settings.check().unwrap_err().to_string();
            assert!(said.contains(name), "{said}");
        }
    }
}
