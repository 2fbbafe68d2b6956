//! Where intents are sent, and how.

use std::sync::Arc;
use std::time::Duration;

use crate::policy::{Alerts, Consumer, Retry};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::Url;
use semel_core::inbox::{OnTerminal, Order, Plan, UnknownPolicy};
use semel_core::{Error, LeaseTerm, Result, Retention, Scope};

use super::convention::{KeyPlace, Shape};
use super::outlet::Outlet;
use super::reconcile::ReconcileUrl;
use crate::vendors::Vendor;

/// What goes before a target's name in the name of the consumer that sends to it.
pub(crate) const CONSUMER_PREFIX: &str = "intent:";
/// How long an answer may take unless the target says otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest that an answer may take.
const TIMEOUT_MAX: Duration = Duration::from_secs(600);

/// What to do if nobody knows whether a provider has done what it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnUnknown {
    /// Park it, with cause `unknown`, until a person decides. The default without a key.
    Hold,
    /// Send it again: the provider knows its key. The default with a key.
    Retry,
    /// Ask a URL whether it happened, before it is sent again.
    Reconcile(ReconcileUrl),
}

/// Where a target is.
#[derive(Clone)]
pub(super) enum To {
    /// An address of HTTP.
    Http(Box<Address>),
    /// A topic, queue, subject or stream.
    Outlet(Arc<dyn Outlet>),
}

/// An address of HTTP, and how its provider wants requests.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub(super) url: Url,
    pub(super) method: Method,
    pub(super) key: KeyPlace,
    pub(super) key_prefix: String,
    pub(super) shape: Shape,
    pub(super) conflict_is_done: bool,
    /// Values may be secrets; they are marked as sensitive and never logged.
    pub(super) headers: HeaderMap,
}

/// A provider that intents are sent to. It becomes the consumer `intent:NAME@1` of the engine.
///
/// ```
/// use semel_inbox::intents::{Target, Vendor};
///
/// let stripe = Target::new("payments", "https://api.stripe.com/v1/charges")?
///     .vendor(Vendor::Stripe)
///     .header("authorization", "Bearer sk_test_…")?;
/// stripe.check()?;
/// # Ok::<(), semel_core::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Target {
    pub(super) name: Box<str>,
    pub(super) to: To,
    pub(super) key_lifetime: Option<Duration>,
    pub(super) timeout: Duration,
    pub(super) retry: Retry,
    pub(super) on_unknown: Option<OnUnknown>,
    ordered: bool,
    lease: LeaseTerm,
    workers: usize,
    retention: Retention,
    alerts: Alerts,
}

impl Target {
    /// A target that takes `POST` with the key in `Idempotency-Key`.
    pub fn new(name: &str, url: &str) -> Result<Self> {
        let header = HeaderName::from_static("idempotency-key");
        let address = Address {
            url: address(name, url)?,
            method: Method::POST,
            key: KeyPlace::Header(header),
            key_prefix: String::new(),
            shape: Shape::ANY,
            conflict_is_done: false,
            headers: HeaderMap::new(),
        };
        Self::to(name, To::Http(Box::new(address)))
    }

    /// A target whose intents are published to a broker. Their ids go along, so that readers recognise what is published twice, and intents
    /// with the same key are published one after another.
    pub fn outlet(name: &str, outlet: Arc<dyn Outlet>) -> Result<Self> {
        let target = Self::to(name, To::Outlet(outlet))?;
        Ok(target.ordered(true))
    }

    fn to(name: &str, to: To) -> Result<Self> {
        scope(name)?;
        Ok(Self {
            name: name.into(),
            to,
            key_lifetime: None,
            timeout: TIMEOUT,
            retry: Retry::default(),
            on_unknown: None,
            ordered: false,
            lease: LeaseTerm::default(),
            workers: 8,
            retention: Retention::default(),
            alerts: Alerts::default(),
        })
    }

    /// What belongs to an address of HTTP is changed there; an outlet has none of it.
    fn change(mut self, change: impl FnOnce(&mut Address)) -> Self {
        if let To::Http(address) = &mut self.to {
            change(address);
        }
        self
    }

    /// The same target at another address.
    pub fn at(self, url: &str) -> Result<Self> {
        let url = address(&self.name, url)?;
        Ok(self.change(|address| address.url = url))
    }

    /// Follows a vendor's conventions for keys.
    pub fn vendor(mut self, vendor: Vendor) -> Self {
        self.key_lifetime = vendor.key_lifetime();
        self.change(|address| {
            address.key = vendor.key();
            address.shape = vendor.shape();
            address.conflict_is_done = vendor.conflict_is_done();
        })
    }

    /// Where the key goes.
    pub fn key(self, place: KeyPlace) -> Self {
        self.change(|address| address.key = place)
    }

    /// What stands before the key, such as `projects/p/locations/l/queues/q/tasks/`.
    pub fn key_prefix(self, prefix: impl Into<String>) -> Self {
        self.change(|address| address.key_prefix = prefix.into())
    }

    /// How long the provider remembers a key; what is older is not sent any more.
    pub fn key_lifetime(mut self, lifetime: Option<Duration>) -> Self {
        self.key_lifetime = lifetime;
        self
    }

    /// With one more header; its value may be a secret.
    pub fn header(self, name: &str, value: &str) -> Result<Self> {
        let bad = || {
            Error::invalid(format!(
                "target {}: header {name:?} is not valid",
                self.name
            ))
        };
        let name: HeaderName = name.parse().map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        Ok(self.change(|address| {
            address.headers.append(name, value);
        }))
    }

    /// With another method than `POST`.
    pub fn method(self, method: Method) -> Self {
        self.change(|address| address.method = method)
    }

    /// How long an answer may take; 30 seconds by default.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// When to try again.
    pub const fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// What to do if nobody knows whether it happened.
    pub fn on_unknown(mut self, on_unknown: OnUnknown) -> Self {
        self.on_unknown = Some(on_unknown);
        self
    }

    /// Whether intents with the same key are sent one after another, in the order they were asked for; one that fails for good holds up those
    /// behind it. Outlets do so by default.
    pub const fn ordered(mut self, ordered: bool) -> Self {
        self.ordered = ordered;
        self
    }

    /// How long a claim lasts unless it is renewed: how long an intent waits whose process was lost. 30 seconds by default.
    pub const fn lease(mut self, lease: LeaseTerm) -> Self {
        self.lease = lease;
        self
    }

    /// How many are sent at the same time; 8 by default.
    pub const fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// How long an intent that was sent is remembered. It is raised to the retention of the consumers of the engine, so that a
    /// replay finds what was sent.
    pub const fn retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// What to watch for.
    pub const fn alerts(mut self, alerts: Alerts) -> Self {
        self.alerts = alerts;
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the provider takes an idempotency key.
    pub const fn takes_key(&self) -> bool {
        match &self.to {
            To::Http(address) => address.key.takes_key(),
            // Its id goes along, and readers recognise it.
            To::Outlet(_) => true,
        }
    }

    /// The consumer that sends to it.
    pub fn scope(&self) -> Scope {
        scope(&self.name).expect("the name was checked when the target was made")
    }

    /// Refuses what cannot work: above all, attempts that go on for longer than the provider remembers their key.
    pub fn check(&self) -> Result<()> {
        let name = &self.name;
        if self.timeout.is_zero() || self.timeout > TIMEOUT_MAX {
            return Err(Error::invalid(format!(
                "target {name}: the timeout is up to {TIMEOUT_MAX:?}, found {:?}",
                self.timeout
            )));
        }
        if !self.takes_key() && self.on_unknown == Some(OnUnknown::Retry) {
            return Err(Error::invalid(format!(
                "target {name}: without an idempotency key an unknown outcome cannot be retried; hold it or reconcile"
            )));
        }
        let horizon = self.horizon();
        match self.key_lifetime {
            Some(lifetime) if self.takes_key() && horizon > lifetime => {
                Err(Error::invalid(format!(
                    "target {name}: its attempts go on for up to {horizon:?}, but the provider remembers a key for {lifetime:?}; \
                     fewer attempts or shorter waits are needed"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The longest time from the first attempt to the end of the last one.
    fn horizon(&self) -> Duration {
        let attempts = self.timeout.saturating_mul(self.retry.attempts_max());
        self.retry.horizon().saturating_add(attempts)
    }

    pub(super) fn unknown(&self) -> OnUnknown {
        match (&self.on_unknown, self.takes_key()) {
            (Some(on_unknown), _) => on_unknown.clone(),
            (None, true) => OnUnknown::Retry,
            (None, false) => OnUnknown::Hold,
        }
    }

    /// The policy of its consumer; `keep` is the longest retention of the consumers that may want something sent.
    pub(crate) fn consumer(&self, keep: Duration) -> Result<Consumer> {
        let keep = keep.max(self.retention.keep());
        let retention = match self.retention.archive() {
            true => Retention::archive_after(keep)?,
            false => Retention::delete_after(keep)?,
        };
        let mut consumer = Consumer::new(self.scope());
        consumer.plan = Plan {
            retention,
            order: match self.ordered {
                true => Order::Arrival {
                    on_terminal: OnTerminal::default(),
                },
                false => Order::None,
            },
            ..Plan::new(self.scope())
        };
        consumer.retry = self.retry;
        consumer.lease = self.lease;
        // The sender's own timeouts come first, because they know whether something was sent.
        consumer.deadline = self.timeout.saturating_mul(2) + Duration::from_secs(30);
        consumer.workers = self.workers;
        consumer.alerts = self.alerts;
        consumer.on_unknown = match self.unknown() {
            OnUnknown::Hold => UnknownPolicy::Hold,
            OnUnknown::Retry | OnUnknown::Reconcile(_) => UnknownPolicy::Rerun,
        };
        Ok(consumer)
    }
}

fn address(name: &str, url: &str) -> Result<Url> {
    let parsed = Url::parse(url).ok();
    let parsed = parsed.filter(|url| matches!(url.scheme(), "http" | "https"));
    // The URL may hold secrets, so it is not repeated.
    parsed.ok_or_else(|| {
        Error::invalid(format!(
            "target {name:?} needs a URL http(s)://HOST[:PORT]/…"
        ))
    })
}

/// The consumer that sends to the target of this name.
pub(crate) fn scope(name: &str) -> Result<Scope> {
    let bad = name.contains('@') || name.contains(char::is_whitespace);
    match bad {
        true => Err(Error::invalid(format!(
            "a target's name holds neither @ nor spaces, found {name:?}"
        ))),
        false => Scope::new(format!("{CONSUMER_PREFIX}{name}"), 1),
    }
}

impl std::fmt::Debug for Target {
    /// URLs and headers may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::retry::Backoff;

    #[test]
    fn attempts_beyond_the_keys_lifetime_are_refused() {
        let hours = Duration::from_secs(3 * 60 * 60);
        let backoff = Backoff {
            first: hours,
            max: hours,
            ..Backoff::default()
        };
        let target = Target::new("pay", "http://127.0.0.1:1/").unwrap();
        let target = target.vendor(Vendor::Stripe);
        assert!(target.check().is_ok());
        let target = target.retry(Retry::new(10, backoff).unwrap());
        let error = target.check().unwrap_err().to_string();
        assert!(
            error.contains("remembers a key") && error.contains("pay"),
            "{error}"
        );
    }

    #[test]
    fn without_a_key_the_unknown_is_held_and_never_retried_blindly() {
        let target = Target::new("mail", "http://127.0.0.1:1/").unwrap();
        let target = target.vendor(Vendor::SendGrid);
        assert_eq!(target.unknown(), OnUnknown::Hold);
        let consumer = target.consumer(Duration::from_secs(9)).unwrap();
        assert_eq!(consumer.on_unknown, UnknownPolicy::Hold);
        assert!(target.on_unknown(OnUnknown::Retry).check().is_err());
    }

    #[test]
    fn secrets_are_not_shown() {
        let target = Target::new("mail", "http://127.0.0.1:1/?token=s3cret").unwrap();
        let target = target.header("authorization", "Bearer s3cret").unwrap();
        assert!(!format!("{target:?}").contains("s3cret"));
        assert!(Target::new("mail", "ftp://a/").is_err());
        assert!(Target::new("a@2", "http://a/").is_err());
    }
}
