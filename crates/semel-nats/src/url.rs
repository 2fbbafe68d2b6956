//! The address of a stream or subject, as it stands in the configuration.
//!
//! No IO happens here, and no error or debug output contains a password, a token or a whole address.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use semel_core::{Error, Result};
use semel_inbox::source::address::{Options, Parts, TIMEOUTS, User, decode};

/// How long a request may take unless the address says otherwise.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How a connection is authenticated.
#[derive(Clone)]
pub(crate) enum Credentials {
    None,
    Token(String),
    User(String, String),
    File(PathBuf),
}

/// Which servers, how to reach them, and what is wanted there.
#[derive(Clone)]
pub(crate) struct Address {
    /// `HOST:PORT`, one or more.
    pub(crate) servers: Vec<String>,
    pub(crate) credentials: Credentials,
    pub(crate) tls: bool,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
    pub(crate) timeout: Duration,
    /// The stream or the subject.
    pub(crate) path: String,
    /// What the address asks for beside the connection, in its order.
    pub(crate) options: Options,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("servers", &self.servers)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Address {
    /// Reads `nats://[USER:PASSWORD@|TOKEN@]HOST[:PORT][,HOST…]/PATH?OPTION=VALUE…`.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let parts = Parts::split("a NATS address", &["nats", "tls"], url)?;
        let mut address = Self {
            servers: parts.servers(4222)?,
            credentials: parts.user()?.map_or(Credentials::None, credentials),
            tls: parts.scheme == "tls",
            ca: None,
            certificate: None,
            timeout: TIMEOUT,
            path: decode("the path", parts.path.trim_end_matches('/'))?,
            options: parts.options,
        };
        address.connection_options()?;
        Ok(address)
    }

    /// Refuses what is left of the options.
    pub(crate) fn finish(&self, known: &str) -> Result<()> {
        self.options.finish(&format!(
            "{known}, ca, cert, key, credentials, timeout and tls"
        ))
    }

    fn connection_options(&mut self) -> Result<()> {
        if let Some(tls) = self.options.take_bool("tls")? {
            self.tls |= tls;
        }
        if let Some(timeout) = self.options.take_duration("timeout", TIMEOUTS)? {
            self.timeout = timeout;
        }
        self.ca = self.options.take("ca")?.map(PathBuf::from);
        self.certificate = match (self.options.take("cert")?, self.options.take("key")?) {
            (None, None) => None,
            (Some(cert), Some(key)) => Some((cert.into(), key.into())),
            (Some(_), None) | (None, Some(_)) => {
                return Err(Error::invalid("the options cert and key belong together"));
            }
        };
        if let Some(file) = self.options.take("credentials")? {
            if !matches!(self.credentials, Credentials::None) {
                let message =
                    "either credentials=FILE or a user or token before the host, not both";
                return Err(Error::invalid(message));
            }
            self.credentials = Credentials::File(file.into());
        }
        Ok(())
    }
}

fn credentials((user, password): User) -> Credentials {
    match password {
        Some(password) => Credentials::User(user, password),
        None => Credentials::Token(user),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_servers_credentials_path_and_options() {
        let mut address =
            Address::parse("tls://a%40b:p%3Aw@h1:1,h2,[::1]:7/ORDERS?durable=d&timeout=2s&ca=/c")
                .unwrap();
        assert_eq!(address.servers, ["h1:1", "h2:4222", "[::1]:7"]);
        assert!(
            matches!(&address.credentials, Credentials::User(user, word) if user == "a@b" && word == "p:w")
        );
        assert!(address.tls);
        assert_eq!(address.path, "ORDERS");
        assert_eq!(address.timeout, Duration::from_secs(2));
        assert_eq!(
            address.options.take("durable").unwrap().as_deref(),
            Some("d")
        );
        address.finish("durable").unwrap();
        let shown = format!("{address:?}");
        assert!(!shown.contains("p:w") && !shown.contains("a@b"), "{shown}");
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_secrets() {
        for (url, expected) in [
            ("localhost", "no scheme"),
            ("http://u:secret@h/S", "http://"),
            ("nats://u:secret@h:x/S", "65535"),
            ("nats://u:secret@/S", "HOST:PORT"),
            ("nats://secret@h/S?timeout=secretly", "timeout"),
            ("nats://secret@h/S?tls=yes", "true or false"),
            ("nats://secret@h/S?cert=a", "belong together"),
            ("nats://secret@h/S?credentials=a", "not both"),
            ("nats://secret@h/S?x", "NAME=VALUE"),
        ] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(error.contains(expected), "{url}: {error}");
            assert!(
                !error.contains("secret@") && !error.contains(":secret"),
                "{error}"
            );
        }
    }
}
