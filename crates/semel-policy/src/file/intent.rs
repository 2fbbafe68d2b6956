//! `intents.NAME`: where intents are sent.

use std::sync::LazyLock;
use std::time::Duration;

use http::HeaderName;
use schemars::JsonSchema;
use semel_http::path::JsonPath;
pub use semel_inbox::Vendor;
use serde::Deserialize;

use super::consumer::Retry;
use super::route::Method;
use crate::value::{Choice, Destination, Listed, Name, Named, Reconcile, Secret, Word};

/// Where intents of one name are sent, and how that is made safe to repeat.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Where they are sent: a service over HTTP, or a broker.
    pub url: Word<Destination>,
    /// The method. Default: POST.
    pub method: Option<Method>,
    /// Whose conventions for idempotency keys hold. Default: none.
    pub vendor: Option<Choice<Vendor>>,
    /// Where the provider expects the key. Default: where the vendor does.
    pub key: Option<KeyPlace>,
    /// How long the provider recognises a key. Default: what the vendor promises at least.
    pub key_lifetime: Option<Word<Duration>>,
    /// How long the provider may take to answer. Default: 30s.
    pub timeout: Option<Word<Duration>>,
    /// Headers that are sent; their values are kept secret.
    #[serde(default)]
    pub headers: Named<Word<Secret>>,
    /// How often an intent is tried.
    pub retry: Option<Retry>,
    /// What happens when nobody knows whether it was done. Default: retry if the provider takes a key,
    /// otherwise hold.
    pub unknown: Option<Unanswered>,
}

impl Listed for Vendor {
    const NAME: &'static str = "Vendor";

    /// Those that intents are sent to.
    fn all() -> Vec<(&'static str, &'static str, Self)> {
        let with_keys = Self::all().filter_map(|vendor| Some((vendor, vendor.keys()?)));
        let rows = with_keys.map(|(vendor, keys)| (vendor.name(), keys.about, vendor));
        rows.collect()
    }

    fn names() -> &'static [&'static str] {
        static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
            let all = <Vendor as Listed>::all().into_iter();
            all.map(|(name, ..)| name).collect()
        });
        &NAMES
    }
}

/// Where the provider expects the key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlace {
    /// In a header.
    Header(Word<HeaderName>),
    /// In a field of the JSON body, such as $.idempotency_key.
    Body(Word<JsonPath>),
    /// In a query parameter.
    Query(Word<Name>),
}

/// What happens when nobody knows whether an intent was done.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unanswered {
    /// A person decides; until then it is parked.
    Hold,
    /// It is sent again with the same key.
    Retry,
    /// The provider is asked at this URL, with {key} filled in.
    Reconcile(Word<Reconcile>),
}
