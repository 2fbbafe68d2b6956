//! How messages come in and where they go.

use std::sync::LazyLock;
use std::time::Duration;

use http::HeaderName;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use semel_inbox::Vendor;
use semel_inbox::vendors::Events;
use serde::Deserialize;

use crate::value::{Choice, Either, Endpoint, Listed, Many, Name, Named, Secret, Word};

/// The service that handles messages: its URL, or a map that says more.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Either<Endpoint, Long>")]
pub struct Deliver {
    /// Where messages are posted.
    pub url: Endpoint,
    /// How long it may take to answer.
    pub timeout: Option<Duration>,
    /// Headers that are sent besides the message's own.
    pub headers: Named<Word<Secret>>,
}

/// The service that handles messages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Deliver")]
struct Long {
    /// Where messages are posted.
    url: Word<Endpoint>,
    /// How long it may take to answer. Default: the deadline.
    timeout: Option<Word<Duration>>,
    /// Headers that are sent besides the message's own; their values are kept secret.
    #[serde(default)]
    headers: Named<Word<Secret>>,
}

impl From<Either<Endpoint, Long>> for Deliver {
    fn from(written: Either<Endpoint, Long>) -> Self {
        match written {
            Either::Short(url) => Self {
                url,
                timeout: None,
                headers: Named::default(),
            },
            Either::Long(long) => Self {
                url: long.url.0,
                timeout: long.timeout.map(|timeout| timeout.0),
                headers: long.headers,
            },
        }
    }
}

impl JsonSchema for Deliver {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "UrlOrDeliver".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Either::<Endpoint, Long>::json_schema(generator)
    }
}

/// How posted messages are signed, and what the signature is checked with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Whose way of signing it is.
    pub scheme: Choice<Scheme>,
    /// The shared secret, or the public key where the scheme has one; a list while one is being replaced,
    /// of which any may have signed.
    pub secret: Many<Word<Secret>>,
    /// The header with the signature; only for generic, where it is required.
    pub header: Option<Word<HeaderName>>,
    /// How the signature is written; only for generic. Default: hex.
    pub encoding: Option<Encoding>,
    /// What stands in front of the signature, such as sha256=; only for generic. Default: nothing.
    pub prefix: Option<Word<Name>>,
    /// How old a signature may be; only where the time is signed too. Default: 5m.
    pub tolerance: Option<Word<Duration>>,
    /// The id that the webhook has at PayPal; only for paypal, where it is required.
    pub webhook_id: Option<Word<Name>>,
}

/// Whose way of signing it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// HMAC-SHA256 of the body in a header of your choice.
    Generic,
    /// As a vendor signs.
    Vendor(Vendor),
}

impl Scheme {
    /// The name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Vendor(vendor) => vendor.name(),
        }
    }

    /// What is known about the events that are signed in this way.
    pub fn events(self) -> Option<&'static Events> {
        match self {
            Self::Generic => None,
            Self::Vendor(vendor) => vendor.events(),
        }
    }
}

impl Listed for Scheme {
    const NAME: &'static str = "Scheme";

    fn all() -> Vec<(&'static str, &'static str, Self)> {
        let known = Vendor::all().filter_map(|vendor| Some((vendor, vendor.events()?)));
        let known =
            known.map(|(vendor, events)| (vendor.name(), events.about, Self::Vendor(vendor)));
        let generic = "HMAC-SHA256 of the body in a header of your choice.";
        known.chain([("generic", generic, Self::Generic)]).collect()
    }

    fn names() -> &'static [&'static str] {
        static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
            let all = Scheme::all().into_iter();
            all.map(|(name, ..)| name).collect()
        });
        &NAMES
    }
}

/// How a signature is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// In hexadecimal digits.
    #[default]
    Hex,
    /// In base64.
    Base64,
}
