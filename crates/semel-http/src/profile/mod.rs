//! Rules and refusals as vendors document them, for services whose clients expect one of these.
//!
//! Where a vendor documents nothing for a case, the IETF draft's answer stands. Refusals stay problems
//! (RFC 9457) and carry the vendor's own error members beside, so that its clients understand them.

mod dress;

use std::str::FromStr;
use std::time::Duration;

use http::{HeaderMap, HeaderName, StatusCode};
use semel_core::{Error, Result, Retention, Scope};

use crate::key;
use crate::problem::Problem;
use crate::rules::{Class, Missing, Rules, StatusSet};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const SHOULD_RETRY: HeaderName = HeaderName::from_static("stripe-should-retry");
const TRANSIENT_ERROR: HeaderName = HeaderName::from_static("transient-error");
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// Whose conventions a route follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The IETF draft: `Idempotency-Key`, 409 while running, 422 for a reused key.
    #[default]
    Ietf,
    /// Stripe: 400 `idempotency_error` for a reused key; validation errors may be retried.
    Stripe,
    /// PayPal: `PayPal-Request-Id`, kept for 45 days.
    PayPal,
    /// Square: the key is `idempotency_key` in the body, and required.
    Square,
    /// Adyen: keys of at most 64 bytes, kept for 7 days; `transient-error` invites a retry.
    Adyen,
    /// Stripe's API v2: keys live 30 days, and what failed is tried again with the same key.
    StripeV2,
    /// The Agentic Commerce Protocol: the key is required; errors have `type`, `code` and `message`.
    Acp,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 7] = [
        Self::Ietf,
        Self::Stripe,
        Self::PayPal,
        Self::Square,
        Self::Adyen,
        Self::StripeV2,
        Self::Acp,
    ];

    /// The name used in configuration and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ietf => "ietf",
            Self::Stripe => "stripe",
            Self::PayPal => "paypal",
            Self::Square => "square",
            Self::Adyen => "adyen",
            Self::StripeV2 => "stripe-v2",
            Self::Acp => "acp",
        }
    }

    /// The profile's default rules for a scope.
    pub fn rules(self, scope: Scope) -> Rules {
        let mut rules = Rules::new(scope);
        rules.profile = self;
        rules.fingerprint_head.headers = self.account_headers();
        match self {
            Self::Ietf => {}
            // A request whose parameters were refused has not begun, so its key may be used again.
            Self::Stripe => {
                rules.keep.release =
                    StatusSet::written(&["400", "401", "403", "408", "409", "425", "429"]);
            }
            Self::PayPal => {
                let header = HeaderName::from_static("paypal-request-id");
                rules.key = key::Source::Header(header).into();
                rules.key_bytes_max = 108;
                rules.retention = kept(45 * DAY);
            }
            Self::Square => {
                let path = "$.idempotency_key".parse().expect("the path is valid");
                rules.key = key::Source::Body(path).into();
                rules.key_bytes_max = 45;
                rules.missing = Missing::Require;
                rules.retention = kept(30 * DAY);
            }
            Self::Adyen => {
                rules.key_bytes_max = 64;
                rules.retention = kept(7 * DAY);
            }
            Self::StripeV2 => {
                rules.keep.statuses = StatusSet::written(&["2xx", "3xx"]);
                rules.keep.release = StatusSet::written(&["4xx"]);
                rules.retention = kept(30 * DAY);
            }
            Self::Acp => {
                rules.missing = Missing::Require;
                rules.keep.statuses = StatusSet::written(&["2xx", "3xx", "4xx"]);
            }
        }
        rules
    }

    /// The headers by which a caller chooses whose account a request acts on. At Adyen and Square the account is in the
    /// body or follows from the credential.
    pub fn account_headers(self) -> Vec<HeaderName> {
        let names: &[&'static str] = match self {
            Self::Stripe | Self::StripeV2 => &["stripe-account", "stripe-context"],
            Self::PayPal => &["paypal-auth-assertion"],
            Self::Ietf | Self::Square | Self::Adyen | Self::Acp => &[],
        };
        names
            .iter()
            .map(|name| HeaderName::from_static(name))
            .collect()
    }

    /// What the service says about its own answer in the vendor's way. Only a refusal that
    /// invites a retry says that nothing happened; with 5xx the service may have died half-way, and the status decides.
    pub(crate) fn class(self, status: StatusCode, headers: &HeaderMap) -> Option<Class> {
        if !status.is_client_error() {
            return None;
        }
        let name = match self {
            Self::Stripe | Self::StripeV2 => SHOULD_RETRY,
            Self::Adyen => TRANSIENT_ERROR,
            Self::Ietf | Self::PayPal | Self::Square | Self::Acp => return None,
        };
        let says = headers.get(name)?.as_bytes();
        says.eq_ignore_ascii_case(b"true").then_some(Class::Release)
    }

    /// The header in which answers to guarded requests repeat the key, if there is one.
    pub(crate) const fn echo(self) -> Option<HeaderName> {
        match self {
            Self::Stripe | Self::StripeV2 | Self::Adyen | Self::Acp => Some(key::IDEMPOTENCY_KEY),
            Self::Ietf | Self::PayPal | Self::Square => None,
        }
    }

    /// Headers of a request that its answer repeats; a replay repeats those of the retry.
    pub(crate) const fn repeated(self) -> &'static [HeaderName] {
        static REQUEST_IDS: [HeaderName; 1] = [REQUEST_ID];
        match self {
            Self::Acp => &REQUEST_IDS,
            Self::Ietf
            | Self::Stripe
            | Self::StripeV2
            | Self::PayPal
            | Self::Square
            | Self::Adyen => &[],
        }
    }

    /// A problem as this vendor's clients expect it.
    #[must_use]
    pub fn dress(self, problem: Problem) -> Problem {
        match self {
            Self::Ietf => problem,
            Self::Stripe | Self::StripeV2 => dress::stripe(problem),
            Self::PayPal => dress::paypal(problem),
            Self::Square => dress::square(problem),
            Self::Adyen => dress::adyen(problem),
            Self::Acp => dress::acp(problem),
        }
    }
}

fn kept(keep: Duration) -> Retention {
    Retention::delete_after(keep).expect("days are a valid retention")
}

impl FromStr for Profile {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("a profile is one of {names}, found {text:?}"))
        })
    }
}
