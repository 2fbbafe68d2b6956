//! Where a message says who it is.

use http::HeaderName;
use schemars::JsonSchema;
use semel_core::Template;
use semel_http::path::JsonPath;
use semel_inbox::Vendor;
use serde::Deserialize;

use crate::value::{Word, words_as_maps};

/// One place where the id or the type of a message may be.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = words_as_maps)]
pub enum IdField {
    /// A header.
    Header(Word<HeaderName>),
    /// A field of a JSON body, such as $.event.id.
    Body(Word<JsonPath>),
    /// A text made from fields of the body, such as {orderId}#{version}.
    Template(Word<Template>),
    /// The attributes of a CloudEvent: source and id together, or type.
    Cloudevents,
    /// Where the message stands in its broker: topic, partition and offset. Only for producers that
    /// give no id, because what they send twice is then handled twice.
    Coordinates,
    /// Where Stripe puts it: $.id, or $.type.
    Stripe,
    /// Where GitHub puts it: X-GitHub-Delivery, or X-GitHub-Event.
    Github,
    /// Where Shopify puts it: X-Shopify-Event-Id, or X-Shopify-Topic.
    Shopify,
    /// Where Svix puts it: Svix-Id, or $.type.
    Svix,
    /// Where Adyen puts it: eventCode and pspReference together, or eventCode.
    Adyen,
    /// Where PayPal puts it: $.id, or $.event_type.
    Paypal,
    /// Where Standard Webhooks have it: Webhook-Id, or $.type.
    #[serde(rename = "standard-webhooks")]
    StandardWebhooks,
}

impl IdField {
    /// Whose places are meant.
    pub(crate) const fn vendor(&self) -> Option<Vendor> {
        match self {
            Self::Header(_)
            | Self::Body(_)
            | Self::Template(_)
            | Self::Cloudevents
            | Self::Coordinates => None,
            Self::Stripe => Some(Vendor::Stripe),
            Self::Github => Some(Vendor::GitHub),
            Self::Shopify => Some(Vendor::Shopify),
            Self::Svix => Some(Vendor::Svix),
            Self::Adyen => Some(Vendor::Adyen),
            Self::Paypal => Some(Vendor::PayPal),
            Self::StandardWebhooks => Some(Vendor::StandardWebhooks),
        }
    }
}

/// Where the key of a message is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = words_as_maps)]
pub enum KeyField {
    /// A header.
    Header(Word<HeaderName>),
    /// A field of a JSON body, such as $.order.id.
    Body(Word<JsonPath>),
    /// A text made from fields of the body, such as {tenant}#{orderId}.
    Template(Word<Template>),
    /// The attribute partitionkey of a CloudEvent.
    Cloudevents,
}

/// Where the sequence of a message is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = words_as_maps)]
pub enum SequenceField {
    /// A header.
    Header(Word<HeaderName>),
    /// A field of a JSON body, such as $.version.
    Body(Word<JsonPath>),
    /// The attribute sequence of a CloudEvent.
    Cloudevents,
}

/// On whose behalf a message is handled.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MessageTenant", transform = words_as_maps)]
pub enum Tenant {
    /// Everybody's: there is one tenant.
    Public,
    /// What this header says, believed as it is; without it the public's.
    Header(Word<HeaderName>),
    /// What this field of a JSON body says; without it the public's.
    Body(Word<JsonPath>),
}

/// What makes two messages with one id the same; another content is a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MessageFingerprint")]
pub enum Fingerprint {
    /// All bytes of the body.
    Raw,
    /// The body; if it is JSON, whatever the order of its fields.
    CanonicalJson,
    /// Nothing: the id alone says everything.
    Off,
}
