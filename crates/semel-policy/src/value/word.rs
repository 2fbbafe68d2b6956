//! Values that are written as one word: a duration, an address, the name of a header.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};

/// A type whose values are written as one word of text.
pub trait Text: Sized {
    /// What is expected, as messages say it: `a duration such as 30s`.
    const EXPECTED: &'static str;

    /// Reads the word.
    fn parse(text: &str) -> Result<Self, Refusal>;

    /// What editors know of it.
    fn schema() -> Schema;
}

/// Why a word is not taken.
#[derive(Debug)]
pub enum Refusal {
    /// It is not what [`Text::EXPECTED`] says.
    Unlike,
    /// It should have been this.
    Expected(String),
    /// This is wrong with it.
    Said(String),
}

/// A value that is written as one word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word<T>(pub T);

impl<T> Deref for Word<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Word<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: fmt::Debug> fmt::Debug for Word<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de, T: Text> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_str(WordVisitor(PhantomData))
            .map(Self)
    }
}

struct WordVisitor<T>(PhantomData<T>);

impl<T: Text> Visitor<'_> for WordVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).map_err(|refusal| refused(text, &refusal, T::EXPECTED))
    }
}

/// A refusal as serde says it.
pub(super) fn refused<E: de::Error>(text: &str, refusal: &Refusal, expected: &str) -> E {
    let found = Unexpected::Str(text);
    match refusal {
        Refusal::Unlike => E::invalid_value(found, &expected),
        Refusal::Expected(expected) => E::invalid_value(found, &expected.as_str()),
        Refusal::Said(said) => E::custom(said),
    }
}

impl<T: Text> JsonSchema for Word<T> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed(T::EXPECTED)
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}
