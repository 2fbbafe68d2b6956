//! How the admin side is opened.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use semel_core::{Error, Result};

use crate::secret::Secret;

/// Where the admin side listens unless told otherwise: this machine only.
pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7071);

/// Where to listen, and who may come in.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address; port 0 takes a free one.
    pub listen: SocketAddr,
    /// What callers must show. Without one, only loopback addresses are accepted above.
    pub token: Option<Secret>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: LISTEN,
            token: None,
        }
    }
}

impl Config {
    /// Refuses to be reachable from other machines without a token.
    pub fn check(&self) -> Result<()> {
        match &self.token {
            None if !self.listen.ip().to_canonical().is_loopback() => Err(Error::invalid(format!(
                "the admin side needs a token to listen on {}, because other machines can reach \
                 it: set admin.token, or listen on 127.0.0.1",
                self.listen
            ))),
            Some(token) if token.is_short() => {
                tracing::warn!(
                    target: "semel::admin",
                    "the admin token has fewer than {} characters",
                    crate::secret::TOKEN_BYTES_ADVISED
                );
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_loopback_a_token_is_needed() {
        for (listen, alone) in [
            ("127.0.0.1:7071", true),
            ("127.8.8.8:0", true),
            ("[::1]:7071", true),
            ("[::ffff:127.0.0.1]:7071", true),
            ("0.0.0.0:7071", false),
            ("[::]:7071", false),
            ("10.0.0.7:7071", false),
        ] {
            let mut config = Config {
                listen: listen.parse().unwrap(),
                token: None,
            };
            assert_eq!(config.check().is_ok(), alone, "{listen}");
            config.token = Some(Secret::new("0123456789abcdef").unwrap());
            assert!(config.check().is_ok(), "{listen}");
        }
    }
}
