//! Makes connections to an upstream.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::shared::{STREAMS_ASSUMED, Shared};
use super::{Need, Pool, Sender, reason, tls};
use crate::config::{Limits, Timeouts, Upstream};
use crate::error::Result;
use crate::target::Target;
use crate::wire::{NoDeadline, Wire};

/// How often a silent HTTP/2 connection that carries requests is asked whether it is still there, and
/// how long it may take to say so.
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WITHIN: Duration = Duration::from_secs(20);

/// The buffer of an HTTP/1 connection is at least this large, as hyper has it by default.
const BUFFER_BYTES_MIN: usize = 8 * 1024 + 4 * 1024 * 100;

/// How connections are made.
pub(crate) struct Dial {
    /// Offers HTTP/2 and HTTP/1.1, and HTTP/1.1 only.
    tls: Option<(TlsConnector, TlsConnector)>,
    h2c: bool,
    pub(super) connect: Duration,
    pub(super) idle: Duration,
    pub(super) idle_max: usize,
    /// How many connections many requests may share.
    pub(super) shared_max: usize,
    /// Of an answer.
    headers_max: usize,
    header_bytes_max: usize,
    stall: Duration,
}

impl Dial {
    /// Connections as `upstream` is configured; with TLS only where it `needs_tls`, because reading the
    /// system's authorities takes a while.
    pub(crate) fn new(
        upstream: &Upstream,
        needs_tls: bool,
        limits: &Limits,
        timeouts: &Timeouts,
    ) -> Result<Self> {
        let tls = match needs_tls {
            true => Some(tls::connectors(upstream.ca.as_deref())?),
            false => None,
        };
        Ok(Self {
            tls,
            h2c: upstream.h2c,
            connect: timeouts.connect,
            idle: timeouts.upstream_idle,
            idle_max: limits.idle_max,
            shared_max: limits.http2_connections_max,
            headers_max: limits.response_headers_max,
            header_bytes_max: limits.response_header_bytes_max,
            stall: timeouts.body_idle,
        })
    }

    /// Whether it speaks HTTP/2 to `target` without asking first.
    pub(super) fn speaks_h2c(&self, target: &Target) -> bool {
        self.h2c && !target.is_tls()
    }

    pub(super) async fn dial(&self, pool: &Arc<Pool>, need: Need) -> Result<Sender, String> {
        let target = pool.target();
        let address = (target.host(), target.port());
        let tcp = TcpStream::connect(address)
            .await
            .map_err(|error| error.to_string())?;
        // A socket that cannot be set up like this still works.
        let _ = tcp.set_nodelay(true);
        if !target.is_tls() {
            return match self.h2c && need == Need::Any {
                true => self.many(tcp, pool).await,
                false => self.one(tcp).await,
            };
        }
        let (any, h1) = self.tls.as_ref().ok_or("TLS is not set up")?;
        let connector = match need {
            Need::Any => any,
            Need::Tunnel => h1,
        };
        let name = ServerName::try_from(target.host().to_owned());
        let name = name.map_err(|error| error.to_string())?;
        let tls = connector
            .connect(name, tcp)
            .await
            .map_err(|error| reason(&error))?;
        match tls.get_ref().1.alpn_protocol() {
            Some(tls::H2) => self.many(tls, pool).await,
            _ => self.one(tls).await,
        }
    }

    async fn one<T>(&self, io: T) -> Result<Sender, String>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let io = TokioIo::new(Wire::new(io, NoDeadline, self.stall));
        let handshake = http1::Builder::new()
            .max_headers(self.headers_max)
            .max_header_size(self.header_bytes_max)
            .max_buf_size(self.header_bytes_max.max(BUFFER_BYTES_MIN))
            .handshake(io)
            .await;
        let (mut sender, connection) = handshake.map_err(|error| reason(&error))?;
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(error = reason(&error), "a connection to the upstream ended");
            }
        });
        sender.ready().await.map_err(|error| reason(&error))?;
        Ok(Sender::One(sender))
    }

    async fn many<T>(&self, io: T, pool: &Arc<Pool>) -> Result<Sender, String>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let io = TokioIo::new(Wire::new(io, NoDeadline, self.stall));
        let handshake = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PONG_WITHIN)
            .initial_max_send_streams(STREAMS_ASSUMED)
            .max_header_list_size(u32::try_from(self.header_bytes_max).unwrap_or(u32::MAX))
            .handshake(io)
            .await;
        let (mut sender, connection) = handshake.map_err(|error| reason(&error))?;
        sender.ready().await.map_err(|error| reason(&error))?;
        let shared = Shared::new(sender, connection).await;
        if !shared.has_room() {
            return Err("it takes no requests on a new connection".to_owned());
        }
        Ok(Sender::Many(pool.share(&shared)))
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dial")
    }
}
