//! What makes two requests the same: a word, or a map of what counts.

use http::HeaderName;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use semel_http::path::JsonPath;
use serde::Deserialize;

use crate::value::{Either, Many, Refusal, Text, Word};

/// What makes two requests the same; what is left out is decided one step further up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Either<Short, Compared>")]
pub struct Fingerprint {
    /// How the bodies are compared, or that nothing is.
    pub by: Vec<By>,
    /// Whether the host counts.
    pub authority: Option<bool>,
    /// Headers that count.
    pub headers: Option<Many<Word<HeaderName>>>,
}

/// How bodies are compared. A file names one; the check says so if it names more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// The order of JSON fields does not matter.
    CanonicalJson,
    /// Byte by byte.
    Raw,
    /// Only these fields.
    Fields(Many<Word<JsonPath>>),
    /// Without these fields.
    Exclude(Many<Word<JsonPath>>),
    /// Not at all, and nothing else of the requests either.
    Off,
}

/// The forms that are one word.
struct Short(By);

impl Text for Short {
    const EXPECTED: &'static str = "canonical_json, raw, off";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match text {
            "canonical_json" => Ok(Self(By::CanonicalJson)),
            "raw" => Ok(Self(By::Raw)),
            "off" => Ok(Self(By::Off)),
            _ => Err(Refusal::Expected(
                "canonical_json, raw, off or a map of body, fields, exclude, headers, authority"
                    .to_owned(),
            )),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "oneOf": [
            { "const": "canonical_json", "description": "All of it; the order of JSON fields does not matter." },
            { "const": "raw", "description": "All of it, byte by byte." },
            { "const": "off", "description": "Nothing: the key alone says everything." },
        ] })
    }
}

/// How a whole body is compared.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Body {
    /// The order of JSON fields does not matter.
    CanonicalJson,
    /// Byte by byte.
    Raw,
}

/// What counts, besides method, path, query and content type. Of `body`, `fields` and `exclude` at most one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Compared {
    /// How the whole body is compared. Default: canonical_json.
    body: Option<Body>,
    /// Of the body only these fields.
    fields: Option<Many<Word<JsonPath>>>,
    /// The body without these fields.
    exclude: Option<Many<Word<JsonPath>>>,
    /// Headers that choose what a request acts on, besides those of the profile.
    headers: Option<Many<Word<HeaderName>>>,
    /// Whether the host that the client asks counts. Default: true.
    authority: Option<bool>,
}

impl From<Either<Short, Compared>> for Fingerprint {
    fn from(written: Either<Short, Compared>) -> Self {
        let compared = match written {
            Either::Short(Short(by)) => {
                return Self {
                    by: vec![by],
                    ..Self::default()
                };
            }
            Either::Long(compared) => compared,
        };
        let body = compared.body.map(|body| match body {
            Body::CanonicalJson => By::CanonicalJson,
            Body::Raw => By::Raw,
        });
        let fields = compared.fields.map(By::Fields);
        let exclude = compared.exclude.map(By::Exclude);
        Self {
            by: [body, fields, exclude].into_iter().flatten().collect(),
            authority: compared.authority,
            headers: compared.headers,
        }
    }
}

impl JsonSchema for Fingerprint {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fingerprint".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <Either<Short, Compared>>::json_schema(generator)
    }
}
