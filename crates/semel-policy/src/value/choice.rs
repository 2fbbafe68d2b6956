//! Words of which a table knows the names: vendors, and the ways in which they sign.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A type whose values have names in a table.
pub trait Listed: Copy + fmt::Debug + 'static {
    /// What the schema calls it.
    const NAME: &'static str;

    /// All of them: name, one line for people, value.
    fn all() -> Vec<(&'static str, &'static str, Self)>;

    /// All names, in the order of the table.
    fn names() -> &'static [&'static str];
}

/// One of the words of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<T>(pub T);

impl<'de, T: Listed> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ChoiceVisitor(PhantomData))
    }
}

struct ChoiceVisitor<T>(PhantomData<T>);

impl<T: Listed> Visitor<'_> for ChoiceVisitor<T> {
    type Value = Choice<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}", T::names().join(", "))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        let all = T::all().into_iter();
        let mut found = all.filter(|(name, ..)| *name == text);
        let found = found.next().map(|(.., value)| Choice(value));
        found.ok_or_else(|| E::unknown_variant(text, T::names()))
    }
}

impl<T: Listed> JsonSchema for Choice<T> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed(T::NAME)
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let all = T::all().into_iter();
        let words = all.map(|(name, about, _)| {
            json_schema!({ "type": "string", "const": name, "description": about })
        });
        json_schema!({ "oneOf": words.collect::<Vec<_>>() })
    }
}
