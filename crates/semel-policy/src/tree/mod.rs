//! The file as a tree in which every node knows where it was written.
//!
//! Between the text and the types stands this tree, because three things need it: variables from the
//! environment are laid over it, `${VAR}` is filled into it, and rules about several fields at once
//! still find the line of each. A scalar stays text here; what it means is for its field to say.

pub(crate) mod fill;
pub(crate) mod overlay;
mod path;
pub(crate) mod read;
pub(crate) mod yaml;

pub use fill::{Variables, filled};
pub use path::SourcePosition;
pub(crate) use path::{Path, Step};
pub use read::{closest, distance};

/// A node with its place.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) place: SourcePosition,
    pub(crate) value: Value,
}

/// What a node is. It has no `Debug`: values may be secrets.
#[derive(Clone)]
pub(crate) enum Value {
    /// Nothing, or `null`: as if the key were not written.
    Null,
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Where the key is written; the value has its own place.
    pub(crate) place: SourcePosition,
    pub(crate) node: Node,
}

/// One text.
#[derive(Clone)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    /// How it was written before `${VAR}` was filled in. Errors show this, because a variable's value
    /// may be a secret.
    pub(crate) written: Option<String>,
}

impl Node {
    pub(crate) const fn null(place: SourcePosition) -> Self {
        Self {
            place,
            value: Value::Null,
        }
    }

    pub(crate) fn scalar(place: SourcePosition, text: impl Into<String>) -> Self {
        let text = text.into();
        let written = None;
        Self {
            place,
            value: Value::Scalar(Scalar { text, written }),
        }
    }

    /// The node of a key; of something that is no map, none.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.entry(name).map(|entry| &entry.node)
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.name == name),
            Value::Null | Value::Scalar(_) | Value::List(_) => None,
        }
    }

    /// Where `path` leads, or where it breaks off.
    pub(crate) fn place_of(&self, path: &Path) -> SourcePosition {
        self.follow(path.steps()).place.clone()
    }

    /// Where the key at the end of `path` is written.
    pub(crate) fn place_of_key(&self, path: &Path) -> SourcePosition {
        let Some((Step::Name(name), parents)) = path.steps().split_last() else {
            return self.place_of(path);
        };
        let parent = self.follow(parents);
        let place = parent.entry(name).map(|entry| &entry.place);
        place.unwrap_or(&parent.place).clone()
    }

    /// Whether `path` leads to something that is written.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let end = path.steps().iter().try_fold(self, Self::next);
        end.is_some()
    }

    fn follow(&self, steps: &[Step]) -> &Self {
        let mut at = self;
        for step in steps {
            match at.next(step) {
                Some(node) => at = node,
                None => break,
            }
        }
        at
    }

    fn next(&self, step: &Step) -> Option<&Self> {
        match (step, &self.value) {
            (Step::Name(name), _) => self.get(name),
            (Step::Index(index), Value::List(items)) => items.get(*index),
            (Step::Index(_), _) => None,
        }
    }
}
