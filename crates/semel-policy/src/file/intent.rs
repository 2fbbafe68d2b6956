//! `intents.NAME`: where intents are sent.

use std::time::Duration;

use http::HeaderName;
use schemars::JsonSchema;
use semel_http::path::JsonPath;
use serde::Deserialize;

use super::consumer::Retry;
use super::route::Method;
use crate::value::{Endpoint, Name, Named, Reconcile, Secret, Word};

/// Where intents of one name are sent, and how that is made safe to repeat.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Where they are sent.
    pub url: Word<Endpoint>,
    /// The method. Default: POST.
    pub method: Option<Method>,
    /// Whose conventions for idempotency keys hold. Default: none.
    pub vendor: Option<Vendor>,
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

/// Whose conventions for idempotency keys hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Vendor {
    /// Stripe: Idempotency-Key, for 24h.
    Stripe,
    /// PayPal: PayPal-Request-Id, for at least 6h.
    Paypal,
    /// Square: the field idempotency_key, for how long is not said.
    Square,
    /// Adyen: Idempotency-Key, for at least 7d.
    Adyen,
    /// Google Cloud Tasks: the name of the task, for 1h.
    GoogleCloudTasks,
    /// Nobody's: the provider takes no key unless `key` says where.
    #[default]
    None,
}

impl Vendor {
    /// The name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stripe => "stripe",
            Self::Paypal => "paypal",
            Self::Square => "square",
            Self::Adyen => "adyen",
            Self::GoogleCloudTasks => "google-cloud-tasks",
            Self::None => "none",
        }
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
