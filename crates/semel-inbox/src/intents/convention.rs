//! Where providers want their idempotency keys, and how they may look.

use std::str::FromStr;
use std::time::Duration;

use http::HeaderName;
use semel_core::{Error, Result};

use super::field::Field;
use crate::keys;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Where a provider looks for its idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// In a header.
    Header(HeaderName),
    /// In a field of the JSON body.
    Body(Field),
    /// In a query parameter.
    Query(String),
    /// Nowhere: it knows no such keys.
    None,
}

impl KeyPlace {
    /// A header.
    pub fn header(name: &str) -> Result<Self> {
        let bad = |_| Error::invalid(format!("expected a header's name, found {name:?}"));
        name.parse().map(Self::Header).map_err(bad)
    }

    /// A field of the JSON body, such as `$.idempotency_key`.
    pub fn body(path: &str) -> Result<Self> {
        path.parse().map(Self::Body)
    }

    /// Whether there is a key at all.
    pub const fn takes_key(&self) -> bool {
        !matches!(self, Self::None)
    }
}

/// How keys may look at a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// The longest key.
    pub(super) bytes_max: usize,
    /// Only letters, digits, `-` and `_`.
    pub(super) plain: bool,
}

impl Shape {
    pub(super) const ANY: Self = Self {
        bytes_max: keys::KEY_BYTES_MAX,
        plain: false,
    };

    /// The id as it is if it fits, its hash otherwise.
    pub(super) fn fit(self, id: &str) -> String {
        let allowed = |byte: u8| match self.plain {
            true => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            false => (b'!'..=b'~').contains(&byte),
        };
        if id.len() <= self.bytes_max && id.bytes().all(allowed) {
            return id.to_owned();
        }
        let mut hash = keys::hash(id).to_string();
        hash.truncate(self.bytes_max);
        hash
    }
}

/// A provider whose conventions are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Vendor {
    /// `Idempotency-Key`, remembered for 24 hours.
    Stripe,
    /// `PayPal-Request-Id`, remembered for at least 6 hours.
    PayPal,
    /// `idempotency_key` in the body, at most 45 characters; for how long it is remembered is not said.
    Square,
    /// `Idempotency-Key`, at most 64 characters, remembered for 7 days.
    Adyen,
    /// `task.name` in the body; 409 says that the task is there already. Names are remembered for an hour.
    GoogleCloudTasks,
    /// No keys.
    SendGrid,
    /// No keys.
    None,
}

impl Vendor {
    /// Every vendor.
    pub const ALL: [Self; 7] = [
        Self::Stripe,
        Self::PayPal,
        Self::Square,
        Self::Adyen,
        Self::GoogleCloudTasks,
        Self::SendGrid,
        Self::None,
    ];

    /// The name used in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stripe => "stripe",
            Self::PayPal => "paypal",
            Self::Square => "square",
            Self::Adyen => "adyen",
            Self::GoogleCloudTasks => "google-cloud-tasks",
            Self::SendGrid => "sendgrid",
            Self::None => "none",
        }
    }

    /// Where the key goes.
    pub fn key(self) -> KeyPlace {
        let header = |name| KeyPlace::Header(HeaderName::from_static(name));
        let body = |path: &str| KeyPlace::body(path).expect("the path is valid");
        match self {
            Self::Stripe | Self::Adyen => header("idempotency-key"),
            Self::PayPal => header("paypal-request-id"),
            Self::Square => body("$.idempotency_key"),
            Self::GoogleCloudTasks => body("$.task.name"),
            Self::SendGrid | Self::None => KeyPlace::None,
        }
    }

    /// How long the provider remembers a key, where that is known.
    pub const fn key_lifetime(self) -> Option<Duration> {
        match self {
            Self::Stripe => Some(DAY),
            Self::PayPal => Some(Duration::from_secs(6 * 60 * 60)),
            Self::Adyen => Some(Duration::from_secs(7 * DAY.as_secs())),
            Self::GoogleCloudTasks => Some(Duration::from_secs(60 * 60)),
            Self::Square | Self::SendGrid | Self::None => None,
        }
    }

    pub(super) const fn shape(self) -> Shape {
        let (bytes_max, plain) = match self {
            Self::PayPal => (108, false),
            Self::Square => (45, false),
            Self::Adyen => (64, false),
            Self::GoogleCloudTasks => (255, true),
            Self::Stripe | Self::SendGrid | Self::None => (keys::KEY_BYTES_MAX, false),
        };
        Shape { bytes_max, plain }
    }

    /// Whether 409 says that it was done before, rather than that it is being done.
    pub(super) const fn conflict_is_done(self) -> bool {
        matches!(self, Self::GoogleCloudTasks)
    }
}

impl FromStr for Vendor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|vendor| vendor.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("a provider is one of {names}, found {text:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fit_what_each_vendor_takes() {
        let id = "orders@1:3f0c7a52-8d7e-4c55-9e5a-1f4f8e0b7c11:receipt";
        assert_eq!(Vendor::Stripe.shape().fit(id), id);
        assert_eq!(Vendor::Adyen.shape().fit(id), id);
        let square = Vendor::Square.shape().fit(id);
        assert_eq!(square.len(), 45);
        assert_ne!(square, Vendor::Square.shape().fit("orders@1:2:receipt"));
        let task = Vendor::GoogleCloudTasks.shape().fit(id);
        assert!(task.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }

    #[test]
    fn vendors_have_names() {
        for vendor in Vendor::ALL {
            assert_eq!(vendor.name().parse::<Vendor>().unwrap(), vendor);
        }
        assert!("acme".parse::<Vendor>().is_err());
    }
}
