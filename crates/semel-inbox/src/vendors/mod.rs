//! What is known about vendors, once: where they want idempotency keys and for how long they remember them, where their events
//! have id, type and tenant, and how these are signed.
//!
//! The facts are in `table`. The configuration file reads its names from here, targets take keys from here, webhooks their places and
//! signatures, and `semel check` its words. A new vendor is a new row.

mod table;

use std::str::FromStr;
use std::time::Duration;

use semel_core::{Error, Result};

use table::TABLE;

/// A vendor whose conventions are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Vendor {
    /// Stripe.
    Stripe,
    /// PayPal.
    PayPal,
    /// Square.
    Square,
    /// Adyen.
    Adyen,
    /// Google Cloud Tasks.
    GoogleCloudTasks,
    /// SendGrid.
    SendGrid,
    /// GitHub.
    GitHub,
    /// Shopify.
    Shopify,
    /// Svix, and services that send through it.
    Svix,
    /// Any service that follows Standard Webhooks.
    StandardWebhooks,
    /// None of them: no keys, no events.
    None,
}

/// What is known about one vendor.
#[derive(Debug)]
pub struct Facts {
    vendor: Vendor,
    name: &'static str,
    keys: Option<Keys>,
    events: Option<Events>,
}

/// One place of a message or a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A header, in lower case.
    Header(&'static str),
    /// A field of the JSON body.
    Body(&'static str),
    /// A text made of fields of the JSON body.
    Template(&'static str),
}

/// How a vendor takes idempotency keys.
#[derive(Debug)]
pub struct Keys {
    /// In one line, for people.
    pub about: &'static str,
    /// Where the key goes; `None` if the vendor knows no keys.
    pub place: Option<Place>,
    /// For how long a key is remembered at least, where that is known.
    pub lifetime: Option<Duration>,
    /// The longest key.
    pub bytes_max: usize,
    /// Whether a key has only letters, digits, `-` and `_`.
    pub plain: bool,
    /// Whether 409 says that it was done before, rather than that it is being done.
    pub conflict_is_done: bool,
    /// What stands before the key, if it is a part of the URL.
    pub prefix: Option<UrlPrefix>,
}

/// A part of a target's URL that stands before its keys.
#[derive(Debug)]
pub struct UrlPrefix {
    /// The segments of the path after its first one; `*` is any.
    pub segments: &'static [&'static str],
    /// A URL that has it, for people.
    pub example: &'static str,
}

/// How a vendor's events look.
#[derive(Debug)]
pub struct Events {
    /// In one line, for people.
    pub about: &'static str,
    /// Where the id is; tried in order.
    pub id: &'static [Place],
    /// Where the type is.
    pub kind: Place,
    /// Where it says on whose behalf it is, if it does.
    pub tenant: Option<Place>,
    /// Whether an id alone says that two deliveries are one event, because their bodies may differ.
    pub ids_say_all: bool,
    /// How deliveries are signed.
    pub signing: Signing,
}

/// How deliveries are signed, and what of them.
#[derive(Debug)]
pub struct Signing {
    /// How the signature is made.
    pub kind: SigningKind,
    /// The header that the signature is in, if it is in one.
    pub header: Option<&'static str>,
    /// Whether the time is signed too.
    pub is_timed: bool,
    /// What of the body is signed.
    pub body: Extent,
    /// The headers that are signed along.
    pub headers: &'static [&'static str],
}

/// How a signature is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SigningKind {
    /// HMAC-SHA256 over the body, in hexadecimal digits after a prefix.
    Hex(&'static str),
    /// HMAC-SHA256 over the body, in base64.
    Base64,
    /// HMAC-SHA256 over time and body, as `t=TIME,v1=HEX`.
    Stripe,
    /// HMAC-SHA256 or Ed25519 over id, time and body, in headers with this prefix.
    Standard(&'static str),
    /// HMAC-SHA256 over some fields of the body, in the body.
    Adyen,
    /// RSA with SHA-256 over id, time, the webhook's id and a checksum of the body.
    PayPal,
}

/// What of a body is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Only these fields of the one thing that it is about, in the order in which they are signed, as JSON pointers.
    Fields(&'static [&'static str]),
    /// A short checksum of it, for which another body can be found.
    Checksum,
}

impl Signing {
    /// Whether a header is signed along.
    pub fn covers_header(&self, name: &str) -> bool {
        self.headers
            .iter()
            .any(|one| one.eq_ignore_ascii_case(name))
    }

    /// Whether the field of the body at the end of this path is signed; `$.a.b` and `a.b` are the same.
    pub fn covers_field(&self, path: &str) -> bool {
        let mut parts = path.split(['.', '[', ']', '\'', '"']);
        let last = parts.rfind(|part| !part.is_empty()).unwrap_or_default();
        match self.body {
            Extent::Whole => true,
            Extent::Fields(pointers) => {
                let mut names = pointers.iter().filter_map(|one| one.rsplit('/').next());
                names.any(|name| name == last)
            }
            Extent::Checksum => false,
        }
    }
}

impl Vendor {
    /// Every vendor, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|facts| facts.vendor)
    }

    fn facts(self) -> &'static Facts {
        let found = TABLE.iter().find(|facts| facts.vendor == self);
        found.expect("every vendor has a row")
    }

    /// The name used in configuration.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// How it takes idempotency keys; `None` if intents are not sent to it.
    pub fn keys(self) -> Option<&'static Keys> {
        self.facts().keys.as_ref()
    }

    /// How its events look; `None` if it sends none that are known.
    pub fn events(self) -> Option<&'static Events> {
        self.facts().events.as_ref()
    }

    /// How long the provider remembers a key, where that is known.
    pub fn key_lifetime(self) -> Option<Duration> {
        self.keys()?.lifetime
    }
}

impl FromStr for Vendor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::all()
            .find(|vendor| vendor.name() == text)
            .ok_or_else(|| {
                let names: Vec<&str> = Self::all().map(Self::name).collect();
                let names = names.join(", ");
                Error::invalid(format!("a vendor is one of {names}, found {text:?}"))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Locator, Rule};

    #[test]
    fn every_row_of_the_table_can_be_used() {
        for vendor in Vendor::all() {
            assert_eq!(vendor.name().parse::<Vendor>().unwrap(), vendor);
            vendor.key();
            assert_eq!(Rule::vendor(vendor).is_some(), vendor.events().is_some());
            let names = vendor.events().map(|events| events.signing.headers);
            for name in names.into_iter().flatten() {
                assert!(Locator::header(name).is_ok(), "{name}");
            }
        }
        assert!("acme".parse::<Vendor>().is_err());
    }

    #[test]
    fn what_a_signature_covers_is_known() {
        let signing = |vendor: Vendor| &vendor.events().unwrap().signing;
        assert!(!signing(Vendor::GitHub).covers_header("X-GitHub-Delivery"));
        assert!(signing(Vendor::GitHub).covers_field("$.id"));
        assert!(signing(Vendor::StandardWebhooks).covers_header("webhook-id"));
        let adyen = signing(Vendor::Adyen);
        assert!(
            adyen.covers_field("$.notificationItems[0].NotificationRequestItem['pspReference']")
        );
        assert!(!adyen.covers_field("notificationItems.0.NotificationRequestItem.eventDate"));
    }
}
