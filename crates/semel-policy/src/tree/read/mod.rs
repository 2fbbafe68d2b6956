//! The tree to types: a serde deserializer that knows which field it is at.
//!
//! Types say what they expect; this adds which field it was and keeps filled-in values out of
//! messages. Where it is written is looked up in the tree afterwards, by the field's path.

mod access;
mod fault;
mod suggest;

pub(crate) use fault::Fault;
pub use suggest::{closest, distance};

use access::{Elements, Entries, Variant};
use fault::Found;
use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::{Entry, Node, Scalar, Value};

/// The field of a struct that takes the keys which the struct itself does not know.
///
/// It is what `#[serde(flatten)]` is for, but keeps places and refuses unknown keys.
pub(crate) const REST: &str = "(rest)";

/// The name of a type that is a list, or its only element without the brackets.
pub(crate) const MANY: &str = "(many)";
/// The name of a type that is one word, or something longer.
pub(crate) const EITHER: &str = "(either)";

/// What a read brings.
type Result<T> = std::result::Result<T, Fault>;

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Scalar(scalar) => word(scalar, visitor),
            Value::List(items) => visitor.visit_seq(Elements::new(items)),
            Value::Map(entries) => visitor.visit_map(Entries::all(entries)),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.text() {
            Some("true") => visitor.visit_bool(true),
            Some("false") => visitor.visit_bool(false),
            _ => Err(self.mismatch("true or false")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match &self.value {
            Value::Scalar(scalar) => word(scalar, visitor),
            Value::Null | Value::List(_) | Value::Map(_) => Err(self.mismatch(&expected(&visitor))),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match &self.value {
            Value::Null => visitor.visit_none(),
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => visitor.visit_some(self),
        }
    }

    /// What a unit variant may stand in front of: `{ derive: true }`.
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match (&self.value, self.text()) {
            (Value::Null, _) | (_, Some("true")) => visitor.visit_unit(),
            _ => Err(self.mismatch("true")),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        match (name, &self.value) {
            (MANY, Value::List(items)) => visitor.visit_seq(Elements::new(items)),
            (EITHER, Value::Scalar(scalar)) => word(scalar, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match &self.value {
            Value::List(items) => visitor.visit_seq(Elements::new(items)),
            Value::Null | Value::Scalar(_) | Value::Map(_) => Err(self.mismatch("a list")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match &self.value {
            Value::Map(entries) => visitor.visit_map(Entries::known(entries, fields)),
            Value::Null | Value::Scalar(_) | Value::List(_) => {
                Err(self.mismatch(&format!("a map of {}", fault::listed(fields))))
            }
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match &self.value {
            Value::Scalar(scalar) => {
                let read = visitor.visit_enum(Variant::word(&scalar.text));
                read.map_err(|fault| fault.hide(scalar))
            }
            Value::Map(entries) => match &entries[..] {
                [entry] => visitor.visit_enum(Variant::entry(entry)),
                _ => Err(Fault::several(entries.len(), variants)),
            },
            Value::Null | Value::List(_) => {
                Err(self.mismatch(&format!("one of {}", fault::listed(variants))))
            }
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit_struct tuple
        tuple_struct map identifier ignored_any
    }
}

/// Every scalar is a word to its type, however it is spelled.
fn word<'de, V: Visitor<'de>>(scalar: &'de Scalar, visitor: V) -> Result<V::Value> {
    visitor
        .visit_borrowed_str(&scalar.text)
        .map_err(|fault: Fault| fault.hide(scalar))
}

/// What a visitor expects, in its own words.
fn expected<'de>(visitor: &impl Visitor<'de>) -> String {
    (visitor as &dyn serde::de::Expected).to_string()
}

impl Node {
    fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(scalar) => Some(&scalar.text),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    fn mismatch(&self, expected: &str) -> Fault {
        match &self.value {
            Value::Scalar(scalar) => {
                let found = Found::Text(scalar.text.clone());
                Fault::mismatch(expected, found).hide(scalar)
            }
            Value::Null => Fault::mismatch(expected, Found::Kind("nothing")),
            Value::List(_) => Fault::mismatch(expected, Found::Kind("a list")),
            Value::Map(_) => Fault::mismatch(expected, Found::Kind("a map")),
        }
    }
}

impl Entry {
    /// Whether the key may as well be left out.
    const fn is_empty(&self) -> bool {
        matches!(self.node.value, Value::Null)
    }
}
