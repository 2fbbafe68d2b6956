//! Addresses: `redis[s]-streams://[[USER]:PASSWORD@]HOST[:PORT][/DB]/STREAM?name=value&…`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use semel_core::{Error, Result};
use semel_inbox::source::address::{Options, Parts, TIMEOUTS, decode};

/// The schemes: without TLS unless the option says so, and with it.
const PLAIN: &str = "redis-streams";
const SECURE: &str = "rediss-streams";
const PORT: u16 = 6379;
const TIMEOUT: Duration = Duration::from_secs(5);
const IDLE: Duration = Duration::from_secs(30);
/// The shortest and the longest lease; a shorter one would end between two heartbeats.
const IDLES: RangeInclusive<Duration> =
    RangeInclusive::new(Duration::from_millis(200), Duration::from_secs(86_400));
/// How long the names of groups, consumers and fields are.
const NAME_BYTES: RangeInclusive<usize> = RangeInclusive::new(1, 256);

/// Where the server and the stream are, and who we are to them.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) db: u32,
    pub(crate) stream: String,
    pub(crate) tls: bool,
    pub(crate) cacert: Option<PathBuf>,
    pub(crate) timeout: Duration,
}

impl std::fmt::Debug for Address {
    /// Never the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            host,
            port,
            db,
            stream,
            ..
        } = self;
        write!(f, "{host}:{port}/{db}/{stream}")
    }
}

/// What a source's URL says beside its address.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// The consumer group.
    pub(crate) group: String,
    /// This reader's name in the group, if it has one that outlives it.
    pub(crate) name: Option<String>,
    /// After how much silence an entry is another reader's.
    pub(crate) idle: Duration,
    /// Where a new group begins.
    pub(crate) from: String,
    /// Whether a stream that is not there is made.
    pub(crate) create: bool,
    pub(crate) fields: Fields,
}

/// What an outlet's URL says beside its address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Publishing {
    /// About how many entries the stream keeps; all if not set.
    pub(crate) maxlen: Option<u64>,
    pub(crate) fields: Fields,
}

/// The names of the fields that are not headers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    /// The field with the payload; the usual names if not set.
    pub(crate) payload: Option<String>,
    /// The field with the key; `key` if not set.
    pub(crate) key: Option<String>,
}

/// Reads a source's URL; `consumer` names the group unless the URL does.
pub(crate) fn source(url: &str, consumer: &str) -> Result<(Address, Reading)> {
    let (address, mut options) = parse(url)?;
    let group = options.take_text("group", NAME_BYTES)?;
    let from = options.take("from")?.map(from).transpose()?;
    let reading = Reading {
        group: group.unwrap_or_else(|| consumer.to_owned()),
        name: options.take_text("name", NAME_BYTES)?,
        idle: options.take_duration("idle", IDLES)?.unwrap_or(IDLE),
        from: from.unwrap_or_else(|| "0".to_owned()),
        create: options.take_bool("create")?.unwrap_or(false),
        fields: Fields::take(&mut options)?,
    };
    options.finish("group, name, idle, from, create, payload, key, tls, cacert and timeout")?;
    Ok((address, reading))
}

/// Reads an outlet's URL.
pub(crate) fn outlet(url: &str) -> Result<(Address, Publishing)> {
    let (address, mut options) = parse(url)?;
    let publishing = Publishing {
        maxlen: options.take_number("maxlen", 1..=u64::MAX)?,
        fields: Fields::take(&mut options)?,
    };
    options.finish("maxlen, payload, key, tls, cacert and timeout")?;
    Ok((address, publishing))
}

impl Fields {
    fn take(options: &mut Options) -> Result<Self> {
        Ok(Self {
            payload: options.take_text("payload", NAME_BYTES)?,
            key: options.take_text("key", NAME_BYTES)?,
        })
    }
}

fn parse(url: &str) -> Result<(Address, Options)> {
    let parts = Parts::split("a Redis stream's address", &[PLAIN, SECURE], url)?;
    let (host, port) = parts.server(PORT)?;
    let (user, password) = parts.user()?.unwrap_or_default();
    let (db, stream) = match parts.path.split_once('/') {
        Some((db, stream)) => (database(db)?, stream),
        None => (0, parts.path),
    };
    if stream.is_empty() || stream.contains('/') {
        return Err(Error::invalid(
            "a Redis stream's address is redis-streams://[USER:PASSWORD@]HOST[:PORT][/DB]/STREAM; \
             found no stream, or a / in its name that is not written %2F",
        ));
    }
    let mut options = parts.options;
    let timeout = options.take_duration("timeout", TIMEOUTS)?;
    let address = Address {
        host: host.trim_matches(['[', ']']).to_owned(),
        port,
        user: Some(user).filter(|user| !user.is_empty()),
        password: password.filter(|password| !password.is_empty()),
        db,
        stream: decode("the stream", stream)?,
        tls: is_secure(parts.scheme, options.take_bool("tls")?)?,
        cacert: options.take("cacert")?.map(PathBuf::from),
        timeout: timeout.unwrap_or(TIMEOUT),
    };
    Ok((address, options))
}

/// TLS by the scheme or by the option; the two must not contradict each other.
fn is_secure(scheme: &str, option: Option<bool>) -> Result<bool> {
    match (scheme == SECURE, option) {
        (true, Some(false)) => Err(Error::invalid(format!(
            "{SECURE}:// means TLS; leave out tls=false, or begin with {PLAIN}://"
        ))),
        (is_secure, option) => Ok(is_secure || option.unwrap_or(false)),
    }
}

fn database(text: &str) -> Result<u32> {
    text.parse().map_err(|_| {
        Error::invalid(format!(
            "before the stream stands the number of a database or nothing, found {text:?}; a / in the name of a stream is written %2F"
        ))
    })
}

/// The beginning, the end, or an id.
fn from(value: String) -> Result<String> {
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    let (ms, sequence) = value.split_once('-').unwrap_or((&value, "0"));
    match value == "$" || (is_number(ms) && is_number(sequence)) {
        true => Ok(value),
        false => Err(Error::invalid(format!(
            "from is 0 for the beginning, $ for what comes from now on, or the id of an entry, found {value:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_server_database_stream_and_options() {
        let (address, reading) = source(
            "redis-streams://u:p%40s@[::1]:7000/2/shop%2Forders?group=g&name=a&idle=2s&from=$&create=true&payload=p",
            "billing",
        )
        .unwrap();
        assert_eq!(format!("{address:?}"), "::1:7000/2/shop/orders");
        assert_eq!(address.password.as_deref(), Some("p@s"));
        assert_eq!(
            (reading.group.as_str(), reading.name.as_deref()),
            ("g", Some("a"))
        );
        assert_eq!(
            (reading.idle, reading.from.as_str()),
            (Duration::from_secs(2), "$")
        );
        assert!(reading.create);
        let (address, reading) = source("redis-streams://h/orders", "billing").unwrap();
        assert_eq!(format!("{address:?}"), "h:6379/0/orders");
        assert_eq!(reading.group, "billing");
        for (url, tls) in [
            ("redis-streams://h/orders", false),
            ("redis-streams://h/orders?tls=true", true),
            ("rediss-streams://h/orders", true),
            ("rediss-streams://h/orders?tls=true", true),
        ] {
            assert_eq!(outlet(url).unwrap().0.tls, tls, "{url}");
        }
        let (_, publishing) = outlet("redis-streams://h/orders?maxlen=10").unwrap();
        assert_eq!(publishing.maxlen, Some(10));
    }

    #[test]
    fn bad_urls_are_refused_without_repeating_the_password() {
        for url in [
            "redis://:secret@h/orders",
            "rediss-streams://:secret@h/orders?tls=false",
            "redis-streams://:secret@h",
            "redis-streams://:secret@/orders",
            "redis-streams://:secret@h:port/orders",
            "redis-streams://:secret@h/a/b/c",
            "redis-streams://:secret@h/db/orders",
            "redis-streams://:secret@h/orders?idle=1ms",
            "redis-streams://:secret@h/orders?from=yesterday",
            "redis-streams://:secret@h/orders?create=maybe",
            "redis-streams://:secret@h/orders?group=",
            "redis-streams://:secret@h/orders?maxlen=5",
        ] {
            let error = source(url, "billing").unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
        }
        assert!(outlet("redis-streams://h/orders?maxlen=0").is_err());
        let (address, _) = outlet("redis-streams://:secret@h/orders").unwrap();
        assert!(!format!("{address:?}").contains("secret"));
    }
}
