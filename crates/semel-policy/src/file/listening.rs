//! What every port has: a certificate and an access log.

use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;

use crate::value::{Either, Refusal, Text, Word};

/// A certificate and its key, as PEM files. They are read again when they change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The certificate, with those that lead to its root.
    pub certificate: Word<PathBuf>,
    /// Its private key.
    pub key: Word<PathBuf>,
    /// Authorities of clients' certificates. If it is there, a client without such a certificate is refused.
    #[serde(default)]
    pub client_ca: Option<Word<PathBuf>>,
}

impl Tls {
    /// Paths in the file are relative to its directory.
    pub(crate) fn resolve(&mut self, directory: &Path) {
        let files = [&mut self.certificate, &mut self.key].into_iter();
        for path in files.chain(&mut self.client_ca) {
            path.0 = directory.join(&path.0);
        }
    }
}

/// Which requests are logged, one line each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Either<Which, Sampled>")]
pub enum AccessLog {
    /// None.
    #[default]
    Off,
    /// Those that are answered with a status of 500 or above, or with a problem.
    Errors,
    /// All.
    All,
    /// This share of them.
    Sample(Share),
}

impl From<Either<Which, Sampled>> for AccessLog {
    fn from(written: Either<Which, Sampled>) -> Self {
        match written {
            Either::Short(Which(log)) => log,
            Either::Long(Sampled { sample }) => Self::Sample(sample.0),
        }
    }
}

impl JsonSchema for AccessLog {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AccessLog".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> Schema {
        Either::<Which, Sampled>::json_schema(generator)
    }
}

/// The words for it.
struct Which(AccessLog);

impl Text for Which {
    const EXPECTED: &'static str = "off, errors, all, or a map of sample";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match text {
            "off" => Ok(Self(AccessLog::Off)),
            "errors" => Ok(Self(AccessLog::Errors)),
            "all" => Ok(Self(AccessLog::All)),
            _ => Err(Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "enum": ["off", "errors", "all"] })
    }
}

/// A share of the requests.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sampled {
    /// How many of them, evenly: 0.01 is every hundredth.
    sample: Word<Share>,
}

/// A share, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(u32);

impl Share {
    const WHOLE: f64 = 1_000_000.0;

    /// The share, above 0 and at most 1.
    pub fn get(self) -> f64 {
        f64::from(self.0) / Self::WHOLE
    }
}

impl Text for Share {
    const EXPECTED: &'static str = "a share from 0.000001 to 1, such as 0.01";

    fn parse(text: &str) -> Result<Self, Refusal> {
        let share: f64 = text.parse().map_err(|_| Refusal::Unlike)?;
        let millionths = (share * Self::WHOLE).round();
        match (1.0..=Self::WHOLE).contains(&millionths) {
            true => Ok(Self(millionths as u32)),
            false => Err(Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 })
    }
}
