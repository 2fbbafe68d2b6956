//! Addresses: `sqs://[REGION]/QUEUE?name=value&…`.

use std::ops::RangeInclusive;
use std::time::Duration;

use semel_core::{Error, Result};
use semel_inbox::source::address::{Options, Parts, TIMEOUTS};

/// The longest name of a queue, with its ending.
const QUEUE_MAX: usize = 80;
/// The longest that a message stays invisible, however often that is extended.
pub(crate) const VISIBILITY_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// The longest that the service waits for messages.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// How long an answer may take unless the address says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most calls that wait for messages at the same time.
const POLLERS_MAX: usize = 32;

/// Where a queue is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The region; as the SDK finds it if not set.
    pub(crate) region: Option<String>,
    pub(crate) queue: String,
    /// Where the service is, if not where the region has it.
    pub(crate) endpoint: Option<String>,
    /// Whose queue it is, if not the caller's.
    pub(crate) owner: Option<String>,
    /// Whether requests are signed with made-up credentials, for servers that do not look at them.
    pub(crate) is_anonymous: bool,
    /// How long an answer may take, beyond the wait for messages.
    pub(crate) timeout: Duration,
}

/// What a source's URL says beside its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    /// How many calls wait for messages at the same time.
    pub(crate) pollers: usize,
    /// How long a delivery is invisible to others unless it is extended.
    pub(crate) visibility: Duration,
    /// How long the service waits for messages.
    pub(crate) wait: Duration,
}

/// Reads a source's URL.
pub(crate) fn source(url: &str) -> Result<(Address, Reading)> {
    let (address, mut options) = parse(url)?;
    let second = Duration::from_secs(1);
    let reading = Reading {
        pollers: options
            .take_number("pollers", 1..=POLLERS_MAX)?
            .unwrap_or(4),
        visibility: seconds(&mut options, "visibility", second..=VISIBILITY_MAX)?
            .unwrap_or(second * 30),
        wait: seconds(&mut options, "wait", Duration::ZERO..=WAIT_MAX)?.unwrap_or(WAIT_MAX),
    };
    options.finish("endpoint, owner, credentials, pollers, visibility, wait and timeout")?;
    Ok((address, reading))
}

/// Reads an outlet's URL.
pub(crate) fn outlet(url: &str) -> Result<Address> {
    let (address, options) = parse(url)?;
    options.finish("endpoint, owner, credentials and timeout")?;
    Ok(address)
}

impl Address {
    /// Whether the queue keeps order and deduplicates.
    pub(crate) fn is_fifo(&self) -> bool {
        self.queue.ends_with(".fifo")
    }
}

fn parse(url: &str) -> Result<(Address, Options)> {
    let parts = Parts::split("an SQS address", &["sqs"], url)?;
    if parts.user()?.is_some() {
        return Err(Error::invalid(
            "an SQS address has no credentials: they are found as the AWS SDK finds them",
        ));
    }
    let (region, queue) = (parts.hosts, parts.path);
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let name = queue.strip_suffix(".fifo").unwrap_or(queue);
    if !region.chars().all(fits) {
        return Err(Error::invalid(
            "an SQS address is sqs://REGION/QUEUE, such as sqs://eu-central-1/orders.fifo",
        ));
    }
    if name.is_empty() || queue.len() > QUEUE_MAX || !name.chars().all(fits) {
        return Err(Error::invalid(format!(
            "the name of a queue has up to {QUEUE_MAX} letters, digits, - and _, and .fifo at its end if it is one, found {queue:?}"
        )));
    }
    let mut options = parts.options;
    let timeout = options.take_duration("timeout", TIMEOUTS)?;
    let address = Address {
        region: Some(region.to_owned()).filter(|region| !region.is_empty()),
        queue: queue.to_owned(),
        endpoint: options.take("endpoint")?.map(endpoint).transpose()?,
        owner: options.take("owner")?.map(owner).transpose()?,
        is_anonymous: is_anonymous(options.take("credentials")?.as_deref())?,
        timeout: timeout.unwrap_or(TIMEOUT),
    };
    Ok((address, options))
}

fn endpoint(url: String) -> Result<String> {
    match url.starts_with("http://") || url.starts_with("https://") {
        true => Ok(url),
        false => Err(Error::invalid("endpoint begins with http:// or https://")),
    }
}

fn owner(number: String) -> Result<String> {
    match number.len() == 12 && number.bytes().all(|b| b.is_ascii_digit()) {
        true => Ok(number),
        false => Err(Error::invalid(format!(
            "owner is the number of an AWS account, 12 digits, found {number:?}"
        ))),
    }
}

fn is_anonymous(credentials: Option<&str>) -> Result<bool> {
    match credentials {
        None => Ok(false),
        Some("none") => Ok(true),
        Some(_) => Err(Error::invalid(
            "credentials can only be none; others are found as the AWS SDK finds them",
        )),
    }
}

/// Whole seconds, as the service counts.
fn seconds(
    options: &mut Options,
    name: &str,
    bounds: RangeInclusive<Duration>,
) -> Result<Option<Duration>> {
    match options.take_duration(name, bounds)? {
        Some(found) if found.subsec_nanos() > 0 => Err(Error::invalid(format!(
            "the option {name} is in whole seconds, found {}ms",
            found.as_millis()
        ))),
        found => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_region_queue_and_options() {
        let url = "sqs://eu-central-1/orders.fifo?endpoint=http%3A%2F%2F127.0.0.1:9324&owner=123456789012&pollers=2&visibility=1m&wait=1s";
        let (address, reading) = source(url).unwrap();
        assert_eq!(address.region.as_deref(), Some("eu-central-1"));
        assert_eq!(address.endpoint.as_deref(), Some("http://127.0.0.1:9324"));
        assert!(address.is_fifo());
        assert_eq!(
            (
                reading.pollers,
                reading.visibility.as_secs(),
                reading.wait.as_secs()
            ),
            (2, 60, 1)
        );
        let address = outlet("sqs:///orders?endpoint=http://127.0.0.1:9324").unwrap();
        assert_eq!(
            (address.region.as_deref(), address.is_fifo()),
            (None, false)
        );
    }

    #[test]
    fn bad_urls_are_refused_without_repeating_secrets() {
        for url in [
            "https://sqs.eu-central-1.amazonaws.com/1/orders",
            "sqs://eu-central-1",
            "sqs://key:secret@eu-central-1/orders",
            "sqs://eu-central-1/or%20ders",
            "sqs://eu-central-1/orders?visibility=13h",
            "sqs://eu-central-1/orders?visibility=1500ms",
            "sqs://eu-central-1/orders?wait=21s",
            "sqs://eu-central-1/orders?pollers=0",
            "sqs://eu-central-1/orders?owner=me",
            "sqs://eu-central-1/orders?endpoint=ftp://secret",
            "sqs://eu-central-1/orders?credentials=secret",
            "sqs://eu-central-1/orders?other=secret",
        ] {
            let error = source(url).unwrap_err();
            assert!(
                url.contains("other") || !error.to_string().contains("secret"),
                "{error}"
            );
        }
        assert!(outlet("sqs://eu-central-1/orders?pollers=2").is_err());
    }
}
