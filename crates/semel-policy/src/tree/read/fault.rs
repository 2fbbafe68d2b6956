//! What is wrong with one field, before it is known where that is written.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use super::suggest;
use super::{REST, Scalar};
use crate::tree::{Node, Path, SourcePosition, Step};

/// How many names a message lists.
const LISTED_MAX: usize = 12;

/// What is wrong with one field.
#[derive(Debug)]
pub(crate) struct Fault {
    path: Path,
    /// Whether the key is to blame rather than its value.
    at_key: bool,
    /// Another field that has a part in it.
    beside: Option<Path>,
    what: What,
}

#[derive(Debug)]
enum What {
    Mismatch {
        expected: String,
        found: Found,
    },
    UnknownKey {
        name: String,
        known: Vec<&'static str>,
    },
    UnknownWord {
        word: Found,
        known: &'static [&'static str],
    },
    Said(String),
}

/// What was there instead.
#[derive(Debug)]
pub(super) enum Found {
    Text(String),
    /// As it was written, with `${VAR}` in it: the value may be a secret.
    Written(String),
    Kind(&'static str),
}

impl Fault {
    fn new(what: What) -> Self {
        let path = Path::default();
        Self {
            path,
            at_key: false,
            beside: None,
            what,
        }
    }

    pub(super) fn mismatch(expected: &str, found: Found) -> Self {
        let expected = expected.to_owned();
        Self::new(What::Mismatch { expected, found })
    }

    /// Several keys where one says which of the `variants` is meant.
    pub(super) fn several(count: usize, variants: &'static [&'static str]) -> Self {
        let names = listed(variants);
        Self::new(What::Said(format!(
            "expected one of {names}, found {count} keys"
        )))
    }

    /// A word that says nothing without its argument.
    pub(super) fn needs_argument(word: &str) -> Self {
        Self::new(What::Said(format!(
            "expected {word} with a value, as in {word}: …"
        )))
    }

    /// What is wrong with the field at `path`.
    pub(crate) fn said(path: Path, message: impl Into<String>) -> Self {
        Self {
            path,
            ..Self::new(What::Said(message.into()))
        }
    }

    /// The same for a field below `path`.
    pub(crate) fn under(mut self, path: &Path) -> Self {
        self.path = path.join(&self.path);
        self.beside = self.beside.map(|beside| path.join(&beside));
        self
    }

    /// The field at `path` has a part in it.
    pub(crate) fn beside(mut self, path: Path) -> Self {
        self.beside = Some(path);
        self
    }

    /// The key at the end of the path is to blame rather than its value.
    pub(crate) const fn of_key(mut self) -> Self {
        self.at_key = true;
        self
    }

    /// The same, seen from one step further up.
    pub(super) fn below(mut self, step: impl Into<Step>) -> Self {
        self.path.below(step);
        self
    }

    /// The key `name` itself is to blame.
    pub(super) fn at_key(mut self, name: &str) -> Self {
        self.at_key = true;
        self.below(name)
    }

    /// More names that would have been known.
    pub(super) fn also_known(mut self, names: &[&'static str]) -> Self {
        // Only a key of this very map: deeper ones have their own names.
        if let What::UnknownKey { known, .. } = &mut self.what
            && self.path.steps().len() == 1
        {
            known.splice(0..0, names.iter().copied());
        }
        self
    }

    /// Shows a filled-in value as it was written.
    pub(super) fn hide(mut self, scalar: &Scalar) -> Self {
        let Some(written) = &scalar.written else {
            return self;
        };
        match &mut self.what {
            What::Mismatch { found, .. } | What::UnknownWord { word: found, .. } => {
                *found = Found::Written(written.clone());
            }
            What::Said(said) => *said = format!("{written:?} is not valid once it is filled in"),
            What::UnknownKey { .. } => {}
        }
        self
    }

    /// Which field.
    pub(crate) const fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is written in `tree`.
    pub(crate) fn place(&self, tree: &Node) -> SourcePosition {
        match self.at_key {
            true => tree.place_of_key(&self.path),
            false => tree.place_of(&self.path),
        }
    }

    /// What is wrong, with the place of the other field that has a part in it.
    pub(crate) fn message(&self, tree: &Node) -> String {
        // A field that is not written has its default, which is nowhere.
        let Some(beside) = self.beside.as_ref().filter(|beside| tree.has(beside)) else {
            return self.to_string();
        };
        let place = match self.at_key {
            true => tree.place_of_key(beside),
            false => tree.place_of(beside),
        };
        match place {
            SourcePosition::File { line, column } => {
                format!("{self} ({beside} at {line}:{column})")
            }
            SourcePosition::Variable(name) => format!("{self} ({beside} in {name})"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Mismatch { expected, found } => write!(f, "expected {expected}, found {found}"),
            What::UnknownKey { name, known } => {
                write!(f, "unknown key; ")?;
                match suggest::closest(name, known) {
                    Some(close) => write!(f, "did you mean {close}?"),
                    None => write!(f, "expected one of {}", listed(known)),
                }
            }
            What::UnknownWord { word, known } => {
                write!(f, "expected one of {}, found {word}", listed(known))?;
                match word {
                    Found::Text(text) => match suggest::closest(text, known) {
                        Some(close) => write!(f, "; did you mean {close}?"),
                        None => Ok(()),
                    },
                    Found::Written(_) | Found::Kind(_) => Ok(()),
                }
            }
            What::Said(said) => f.write_str(said),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Written(written) => write!(f, "the value of {written:?}"),
            Self::Kind(kind) => f.write_str(kind),
        }
    }
}

/// Names as a message lists them.
pub(super) fn listed(names: &[&'static str]) -> String {
    let names: Vec<_> = names.iter().copied().filter(|name| *name != REST).collect();
    let shown = names[..names.len().min(LISTED_MAX)].join(", ");
    match names.len() > LISTED_MAX {
        true => format!("{shown}, …"),
        false => shown,
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(What::Said(message.to_string()))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match unexpected {
            Unexpected::Str(text) => Found::Text(text.to_owned()),
            Unexpected::Seq => Found::Kind("a list"),
            Unexpected::Map => Found::Kind("a map"),
            Unexpected::Unit => Found::Kind("nothing"),
            _ => Found::Kind("another kind of value"),
        };
        Self::mismatch(&expected.to_string(), found)
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        let word = Found::Text(variant.to_owned());
        Self::new(What::UnknownWord { word, known })
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Self::new(What::UnknownKey {
            name: field.to_owned(),
            known: known.to_vec(),
        })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(What::Said(format!("{field} is missing")))
    }
}
