//! How the admin side is opened.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use semel_core::{Error, Result};
use semel_listen::{AccessLog, Address, Settings, Tls};

use crate::dashboard;
use crate::tokens::Tokens;

/// Where the admin side listens unless told otherwise: this machine only.
pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7071);
/// The most connections at once; the one that has been silent longest makes room for the next.
pub const CONNECTIONS_MAX: usize = 256;
/// How often the store is asked whether it reads and writes, unless told otherwise.
pub const PROBE_EVERY: Duration = Duration::from_secs(2);

/// Where to listen, and who may come in.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address; port 0 takes a free one.
    pub listen: Address,
    /// What callers must show. Without any, only loopback addresses and unix sockets are accepted above.
    pub tokens: Tokens,
    /// With which certificate; without one it is plain HTTP.
    pub tls: Option<Tls>,
    /// Which requests are logged.
    pub access_log: AccessLog,
    /// How long one stays signed in to the dashboard.
    pub session: Duration,
    /// Whether browsers reach it over TLS although it serves plain HTTP, because a proxy in front of it ends TLS: cookies go over TLS only.
    pub secure_cookies: bool,
    /// How often the store is asked whether it reads and writes; readiness is answered from memory.
    pub probe_every: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: LISTEN.into(),
            tokens: Tokens::default(),
            tls: None,
            access_log: AccessLog::Off,
            session: dashboard::SESSION,
            secure_cookies: false,
            probe_every: PROBE_EVERY,
        }
    }
}

impl Config {
    /// Refuses to be reachable from other machines without a token.
    pub fn check(&self) -> Result<()> {
        if self.tokens.is_empty() && !self.listen.is_local() {
            return Err(Error::invalid(format!(
                "the admin side needs a token to listen on {}, because other machines can reach \
                 it: set admin.token or admin.tokens, or listen on 127.0.0.1",
                self.listen
            )));
        }
        for token in self.tokens.iter().filter(|token| token.secret().is_short()) {
            tracing::warn!(
                target: "semel::admin",
                token = token.name().as_str(),
                "the secret of a token has fewer than {} characters",
                crate::secret::TOKEN_BYTES_ADVISED
            );
        }
        Ok(())
    }

    /// The dashboard's settings at the address that is listened on.
    pub(crate) fn dashboard(&self, address: &Address) -> dashboard::Settings {
        dashboard::Settings {
            port: address.tcp().map_or(0, |address| address.port()),
            is_tls: self.tls.is_some() || self.secure_cookies,
            session: self.session,
        }
    }

    /// The listener's settings.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            connections_max: CONNECTIONS_MAX,
            header_bytes_max: 32 * 1024,
            header: Duration::from_secs(5),
            idle: Duration::from_secs(30),
            // A client that reads slowly holds no connection for ever.
            life: Some(Duration::from_secs(600)),
            drain: Duration::from_secs(10),
            // The gate judges by `Host`, which HTTP/2 does not have.
            http2: false,
            tls: self.tls.clone(),
            // Without a token the permissions of the socket decide who may come in: the same user only.
            socket_mode: 0o600,
            access_log: self.access_log,
            ..Settings::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn beyond_loopback_a_token_is_needed() {
        for (listen, alone) in [
            ("127.0.0.1:7071", true),
            ("127.8.8.8:0", true),
            ("[::1]:7071", true),
            ("[::ffff:127.0.0.1]:7071", true),
            ("unix:/run/semel.sock", true),
            ("0.0.0.0:7071", false),
            ("[::]:7071", false),
            ("10.0.0.7:7071", false),
        ] {
            let mut config = Config {
                listen: listen.parse().unwrap(),
                ..Config::default()
            };
            assert_eq!(config.check().is_ok(), alone, "{listen}");
            config.tokens = Tokens::admin(Secret::new("0123456789abcdef").unwrap());
            assert!(config.check().is_ok(), "{listen}");
        }
    }
}
