//! The inside of maps, lists and words with an argument.

use std::slice::Iter;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::fault::Fault;
use super::{Entry, Node, REST, Result};

/// The elements of a list.
pub(super) struct Elements<'de> {
    items: std::iter::Enumerate<Iter<'de, Node>>,
}

impl<'de> Elements<'de> {
    pub(super) fn new(items: &'de [Node]) -> Self {
        let items = items.iter().enumerate();
        Self { items }
    }
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some((index, node)) = self.items.next() else {
            return Ok(None);
        };
        let read = seed.deserialize(node).map(Some);
        read.map_err(|fault| fault.below(index))
    }
}

/// The entries of a map.
pub(super) struct Entries<'de> {
    /// The last first.
    left: Vec<&'de Entry>,
    value: Option<&'de Entry>,
    rest: Option<Rest<'de>>,
}

impl<'de> Entries<'de> {
    /// All of them, for whoever asks.
    pub(super) fn all(entries: &'de [Entry]) -> Self {
        Self {
            left: entries.iter().rev().collect(),
            value: None,
            rest: None,
        }
    }

    /// For a struct with these fields. Known keys without a value are as good as not written.
    pub(super) fn known(entries: &'de [Entry], fields: &'static [&'static str]) -> Self {
        Self::of(entries.iter().collect(), fields)
    }

    fn of(entries: Vec<&'de Entry>, fields: &'static [&'static str]) -> Self {
        let is_known = |entry: &&Entry| fields.contains(&entry.name.as_str());
        let (known, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_known);
        let (others, rest) = match fields.contains(&REST) {
            true => (Vec::new(), Some(Rest { others, fields })),
            false => (others, None),
        };
        let known = known.into_iter().rev().filter(|entry| !entry.is_empty());
        Self {
            left: known.chain(others).collect(),
            value: None,
            rest,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if let Some(entry) = self.left.pop() {
            self.value = Some(entry);
            let read = seed
                .deserialize(StrDeserializer::new(&entry.name))
                .map(Some);
            return read.map_err(|fault: Fault| fault.at_key(&entry.name));
        }
        match &self.rest {
            Some(_) => seed.deserialize(StrDeserializer::new(REST)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        if let Some(entry) = self.value.take() {
            let read = seed.deserialize(&entry.node);
            return read.map_err(|fault| fault.below(entry.name.as_str()));
        }
        let rest = self
            .rest
            .take()
            .expect("a value is asked for after its key");
        let fields = rest.fields;
        seed.deserialize(rest)
            .map_err(|fault| fault.also_known(fields))
    }
}

/// The keys that a struct does not know itself.
struct Rest<'de> {
    others: Vec<&'de Entry>,
    fields: &'static [&'static str],
}

impl<'de> Deserializer<'de> for Rest<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_map(Entries::of(self.others, &[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_map(Entries::of(self.others, fields))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// One of several words, alone or with an argument: `hold`, `reconcile: URL`.
pub(super) struct Variant<'de> {
    name: &'de str,
    argument: Option<&'de Node>,
}

impl<'de> Variant<'de> {
    pub(super) const fn word(name: &'de str) -> Self {
        let argument = None;
        Self { name, argument }
    }

    pub(super) fn entry(entry: &'de Entry) -> Self {
        Self {
            name: &entry.name,
            argument: Some(&entry.node),
        }
    }
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        let read = seed.deserialize(StrDeserializer::<Fault>::new(self.name));
        match (read, self.argument) {
            (Ok(which), _) => Ok((which, self)),
            (Err(fault), Some(_)) => Err(fault.at_key(self.name)),
            (Err(fault), None) => Err(fault),
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<()> {
        match self.argument {
            None => Ok(()),
            Some(node) => self.read(node, std::marker::PhantomData),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        match self.argument {
            Some(node) => self.read(node, seed),
            None => Err(Fault::needs_argument(self.name)),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value> {
        Err(Fault::needs_argument(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value> {
        Err(Fault::needs_argument(self.name))
    }
}

impl<'de> Variant<'de> {
    fn read<T: DeserializeSeed<'de>>(self, node: &'de Node, seed: T) -> Result<T::Value> {
        seed.deserialize(node)
            .map_err(|fault| fault.below(self.name))
    }
}
