//! Settings with a short and a long form.

use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use semel_http::rules::{Busy, BusyStatus, StatusSet};
use serde::Deserialize;

use crate::value::{Either, Many, Named, Reconcile, Secret, Word};

/// What a duplicate gets while the first is still running: a status at once, or after a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "Either<BusyStatus, Waiting>")]
pub struct InProgress {
    /// How long it waits for the first one's outcome; `None`: as long as by default.
    pub wait: Option<Duration>,
    /// What it gets then; `None`: the default.
    pub then: Option<BusyStatus>,
}

impl InProgress {
    pub(crate) fn busy(self, otherwise: Busy) -> Busy {
        Busy {
            wait: self.wait.unwrap_or(otherwise.wait),
            status: self.then.unwrap_or(otherwise.status),
        }
    }
}

impl From<Either<BusyStatus, Waiting>> for InProgress {
    fn from(written: Either<BusyStatus, Waiting>) -> Self {
        match written {
            Either::Short(status) => Self {
                wait: Some(Duration::ZERO),
                then: Some(status),
            },
            Either::Long(waiting) => Self {
                wait: waiting.wait.map(|wait| wait.0),
                then: waiting.then.map(|then| then.0),
            },
        }
    }
}

/// A wait, and what a duplicate gets after it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Waiting {
    /// How long a duplicate waits for the first one's outcome. Default: 2s.
    wait: Option<Word<Duration>>,
    /// The status it gets when the first is still running then. Default: 409.
    then: Option<Word<BusyStatus>>,
}

/// How long outcomes are kept, and what happens to them then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "Either<Duration, Kept>")]
pub struct Retention {
    /// How long.
    pub keep: Duration,
    /// Whether they are archived then, not deleted.
    pub archive: bool,
}

impl From<Either<Duration, Kept>> for Retention {
    fn from(written: Either<Duration, Kept>) -> Self {
        match written {
            Either::Short(keep) => Self {
                keep,
                archive: false,
            },
            Either::Long(kept) => Self {
                keep: kept.keep.0,
                archive: kept.archive,
            },
        }
    }
}

/// How long outcomes are kept, and what happens to them then.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// How long.
    keep: Word<Duration>,
    /// Whether they are archived then, not deleted. Default: false.
    #[serde(default)]
    archive: bool,
}

/// Where it is asked whether something happened, and with which credentials.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Either<Reconcile, Asked>")]
pub struct ReconcileAt {
    /// The URL with its fields between braces.
    pub url: Reconcile,
    /// What is sent along; the values are secrets.
    pub headers: Named<Word<Secret>>,
    /// How long the answer may take; `None`: as long as by default.
    pub timeout: Option<Duration>,
}

impl From<Either<Reconcile, Asked>> for ReconcileAt {
    fn from(written: Either<Reconcile, Asked>) -> Self {
        match written {
            Either::Short(url) => Self {
                url,
                headers: Named::default(),
                timeout: None,
            },
            Either::Long(asked) => Self {
                url: asked.url.0,
                headers: asked.headers,
                timeout: asked.timeout.map(|timeout| timeout.0),
            },
        }
    }
}

/// Where it is asked whether something happened, and with which credentials.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// The URL, with {key} and, if you like, {fence}, {scope} and {tenant} filled in.
    url: Word<Reconcile>,
    /// Headers that are sent along, such as credentials. They are kept secret.
    #[serde(default)]
    headers: Named<Word<Secret>>,
    /// How long the answer may take. Default: 5s.
    timeout: Option<Word<Duration>>,
}

macro_rules! schema_of_forms {
    ($($type:ident, $form:ty;)+) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$form>::json_schema(generator)
            }
        }
    )+};
}

schema_of_forms! {
    InProgress, Either<BusyStatus, Waiting>;
    Retention, Either<Duration, Kept>;
    ReconcileAt, Either<Reconcile, Asked>;
}

/// Which answers of the service are final, and which mean that nothing happened. All others leave
/// the outcome unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Keep {
    /// Statuses that are final. Default: 2xx, 3xx, 4xx, 500.
    pub statuses: Option<Many<Word<StatusSet>>>,
    /// Statuses that mean that nothing happened; they win. Default: 401, 403, 408, 425, 429, and those of
    /// `release_with_retry_after`.
    pub release: Option<Many<Word<StatusSet>>>,
    /// Statuses that mean so only in an answer with Retry-After. Default: 503, and none where `release` is written.
    pub release_with_retry_after: Option<Many<Word<StatusSet>>>,
}

/// What replays carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Replay {
    /// Whether Set-Cookie is replayed. Default: false.
    pub cookies: Option<bool>,
    /// Whether answers say in Idempotency-Expires how long the key is remembered. Default: false.
    pub expires: Option<bool>,
}
