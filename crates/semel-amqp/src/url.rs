//! The address of a queue or exchange, as it stands in the configuration. No IO happens here, and no error or debug output contains a
//! password or a whole address.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo};
use semel_core::Result;
use semel_inbox::source::address::{Options, Parts, TIMEOUTS, decode};

/// How long connecting or an answer may take unless the address says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);
/// After how many seconds of silence both sides give the connection up.
const HEARTBEAT_SECONDS: u16 = 20;

/// Which broker, how to reach it, and what is wanted there.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) uri: AMQPUri,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) timeout: Duration,
    pub(crate) options: Options,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("host", &self.uri.authority.host)
            .field("port", &self.uri.authority.port)
            .field("vhost", &self.uri.vhost)
            .finish_non_exhaustive()
    }
}

impl Address {
    /// Reads `amqp[s]://[USER:PASSWORD@]HOST[:PORT][/VHOST]?OPTION=VALUE…`.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let parts = Parts::split("a RabbitMQ address", &["amqp", "amqps"], url)?;
        let (scheme, port) = match parts.scheme {
            "amqps" => (AMQPScheme::AMQPS, 5671),
            _ => (AMQPScheme::AMQP, 5672),
        };
        let (host, port) = parts.server(port)?;
        let guest = || ("guest".to_owned(), Some("guest".to_owned()));
        let (username, password) = parts.user()?.unwrap_or_else(guest);
        let vhost = match parts.path {
            "" => "/".to_owned(),
            path => decode("the virtual host", path)?,
        };
        let mut address = Self {
            uri: AMQPUri {
                scheme,
                authority: AMQPAuthority {
                    userinfo: AMQPUserInfo {
                        username,
                        password: password.unwrap_or_default(),
                    },
                    host,
                    port,
                },
                vhost,
                query: AMQPQueryString {
                    heartbeat: Some(HEARTBEAT_SECONDS),
                    ..AMQPQueryString::default()
                },
            },
            ca: None,
            timeout: TIMEOUT,
            options: parts.options,
        };
        address.ca = address.options.take("ca")?.map(PathBuf::from);
        let timeout = address.options.take_duration("timeout", TIMEOUTS)?;
        address.timeout = timeout.unwrap_or(TIMEOUT);
        Ok(address)
    }

    /// A name with the virtual host, unless that is the usual one.
    pub(crate) fn named(&self, what: &str) -> String {
        match self.uri.vhost.as_str() {
            "/" => format!("amqp:{what}"),
            vhost => format!("amqp:{vhost}/{what}"),
        }
    }

    /// Takes a name out, which AMQP limits to 255 bytes.
    pub(crate) fn take_name(&mut self, name: &str) -> Result<Option<String>> {
        self.options.take_text(name, 0..=255)
    }

    /// Refuses what is left of the options.
    pub(crate) fn finish(&self, known: &str) -> Result<()> {
        self.options.finish(&format!("{known}, ca and timeout"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_broker_user_virtual_host_and_options() {
        let mut address =
            Address::parse("amqps://a%40b:p%3Aw@[::1]:7/shop%2f1?queue=q&timeout=2s&ca=/c")
                .unwrap();
        let uri = address.uri.clone();
        assert_eq!(
            (uri.authority.host.as_str(), uri.authority.port),
            ("[::1]", 7)
        );
        assert_eq!(uri.authority.userinfo.username, "a@b");
        assert_eq!(uri.authority.userinfo.password, "p:w");
        assert_eq!(uri.vhost, "shop/1");
        assert_eq!(uri.scheme, AMQPScheme::AMQPS);
        assert_eq!(address.timeout, Duration::from_secs(2));
        assert_eq!(address.named("q"), "amqp:shop/1/q");
        assert_eq!(address.options.take("queue").unwrap().as_deref(), Some("q"));
        address.finish("queue").unwrap();
        let shown = format!("{address:?}");
        assert!(!shown.contains("p:w") && !shown.contains("a@b"), "{shown}");
        let plain = Address::parse("amqp://h").unwrap();
        assert_eq!(
            (plain.uri.vhost.as_str(), plain.uri.authority.port),
            ("/", 5672)
        );
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_secrets() {
        for (url, expected) in [
            ("localhost", "no scheme"),
            ("http://u:secret@h/", "http://"),
            ("amqp://u:secret@h:x/", "65535"),
            ("amqp://u:secret@/", "HOST:PORT"),
            ("amqp://u:secret@h/?timeout=soon", "timeout"),
            ("amqp://u:secret@h/?x", "NAME=VALUE"),
        ] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(error.contains(expected), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
