//! A short form that is one word, or a long form that is a map.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde_json::{Value, json};

use super::word::{Text, Word, refused};
use crate::tree::read::EITHER;

/// The word `S` or the longer `L`.
pub(crate) enum Either<S, L> {
    Short(S),
    Long(L),
}

impl<'de, S: Text, L: Deserialize<'de>> Deserialize<'de> for Either<S, L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(EITHER, EitherVisitor(PhantomData))
    }
}

struct EitherVisitor<S, L>(PhantomData<(S, L)>);

impl<'de, S: Text, L: Deserialize<'de>> Visitor<'de> for EitherVisitor<S, L> {
    type Value = Either<S, L>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} or a map", S::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        let short = S::parse(text).map(Either::Short);
        short.map_err(|refusal| refused(text, &refusal, S::EXPECTED))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, long: D) -> Result<Self::Value, D::Error> {
        L::deserialize(long).map(Either::Long)
    }
}

impl<S: Text, L: JsonSchema> JsonSchema for Either<S, L> {
    fn schema_name() -> Cow<'static, str> {
        L::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let short = Word::<S>::json_schema(generator);
        let long = generator.subschema_for::<L>();
        json_schema!({ "anyOf": [short, long] })
    }
}

/// A word that stands for itself may also be a map: `{ derive: true }` is `derive`, so that all forms of an enum can be
/// written alike.
pub(crate) fn words_as_maps(schema: &mut Schema) {
    let Some(Value::Array(forms)) = schema.get_mut("oneOf") else {
        return;
    };
    let maps: Vec<Value> = forms.iter().filter_map(as_map).collect();
    forms.extend(maps);
}

fn as_map(form: &Value) -> Option<Value> {
    let word = form["const"].as_str()?;
    Some(json!({
        "type": "object",
        "properties": { word: { "const": true } },
        "required": [word],
        "additionalProperties": false,
        "description": form["description"],
    }))
}
