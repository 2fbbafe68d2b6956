//! YAML text to a tree.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Location, MessageFormatter, Options, Spanned, UserMessageFormatter};

use super::{Entry, Node, Scalar, SourcePosition, Value};
use crate::error::{Error, Kind, Result};
use crate::limits::{ALIASES_MAX, DEPTH_MAX, FILE_BYTES_MAX, NODES_MAX};

/// The tree of a text; `file` is the name that errors show.
pub(crate) fn parse(file: &str, text: &str) -> Result<Node> {
    if text.len() > FILE_BYTES_MAX {
        let found = text.len();
        let message = format!("expected at most {FILE_BYTES_MAX} bytes, found {found}");
        return Err(Error::whole(Kind::Limit, file, message));
    }
    let raw = serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options());
    raw.map(|raw| node(raw, text))
        .map_err(|error| located(file, &error))
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_aliases: ALIASES_MAX,
            max_anchors: ALIASES_MAX,
            max_merge_keys: ALIASES_MAX,
            // One anchor may well serve a hundred routes.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: NODES_MAX,
            max_replay_stack_depth: DEPTH_MAX,
        },
        reject_unsupported_tags: true,
        with_snippet: false,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::PassThrough,
    }
}

/// A node as the parser tells it.
enum Raw {
    Null,
    Text(String),
    /// A plain word that YAML takes for a number or a truth value. How it was spelled counts, so
    /// it is read from the source again.
    Plain,
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

fn node(raw: Spanned<Raw>, source: &str) -> Node {
    let value = match raw.value {
        Raw::Null => Value::Null,
        Raw::Text(text) => scalar(text),
        Raw::Plain => scalar(spelled(source, raw.defined).to_owned()),
        Raw::List(items) => Value::List(items.into_iter().map(|item| node(item, source)).collect()),
        Raw::Map(entries) => Value::Map(entries.into_iter().map(|e| entry(e, source)).collect()),
    };
    Node {
        place: place(raw.referenced),
        value,
    }
}

const fn scalar(text: String) -> Value {
    Value::Scalar(Scalar {
        text,
        written: None,
    })
}

fn entry((name, value): (Spanned<String>, Spanned<Raw>), source: &str) -> Entry {
    Entry {
        name: name.value,
        place: place(name.referenced),
        node: node(value, source),
    }
}

fn place(location: Location) -> SourcePosition {
    SourcePosition::File {
        line: location.line(),
        column: location.column(),
    }
}

/// The source text at `location`.
fn spelled(source: &str, location: Location) -> &str {
    let span = location.span();
    let range = || {
        let from = usize::try_from(span.byte_offset()?).ok()?;
        let length = usize::try_from(span.byte_len()?).ok()?;
        source.get(from..from.checked_add(length)?)
    };
    range().unwrap_or_default().trim()
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

fn located(file: &str, error: &serde_saphyr::Error) -> Error {
    let (kind, message) = message(error);
    let whole = Error::whole(kind, file, message);
    match error.location() {
        Some(location) => whole.at(place(location)),
        None => whole,
    }
}

fn message(error: &serde_saphyr::Error) -> (Kind, String) {
    use serde_saphyr::Error as Yaml;
    match error {
        Yaml::DuplicateMappingKey { key: Some(key), .. } => {
            (Kind::Invalid, format!("{key} is there twice"))
        }
        Yaml::MultipleDocuments { .. } => (
            Kind::Invalid,
            "expected one document, found more than one".to_owned(),
        ),
        Yaml::AliasError { error, .. } => message(error),
        Yaml::Budget { breach, .. } => (Kind::Limit, limit(breach)),
        Yaml::AliasReplayLimitExceeded { .. } => (
            Kind::Limit,
            format!("expected at most {NODES_MAX} values behind aliases"),
        ),
        other => {
            let text = UserMessageFormatter.format_message(other);
            let shown = text.replace(char::is_control, " ");
            (Kind::Syntax, format!("not valid YAML: {shown}"))
        }
    }
}

fn limit(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Depth { .. } => format!("expected at most {DEPTH_MAX} levels of nesting"),
        BudgetBreach::Nodes { .. } => format!("expected at most {NODES_MAX} keys and values"),
        _ => format!("expected at most {ALIASES_MAX} anchors, aliases and merges"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree as `line:column=text`, one line per scalar, with the path's names.
    fn shown(node: &Node, name: &str, out: &mut Vec<String>) {
        let SourcePosition::File { line, column } = &node.place else {
            panic!("only files here")
        };
        match &node.value {
            Value::Null => out.push(format!("{line}:{column} {name}=")),
            Value::Scalar(scalar) => out.push(format!("{line}:{column} {name}={:?}", scalar.text)),
            Value::List(items) => items.iter().for_each(|item| shown(item, name, out)),
            Value::Map(entries) => {
                for entry in entries {
                    let SourcePosition::File { line, column } = &entry.place else {
                        panic!("only files here")
                    };
                    shown(
                        &entry.node,
                        &format!("{name}/{line}:{column} {}", entry.name),
                        out,
                    );
                }
            }
        }
    }

    fn check(text: &str, expected: &[&str]) {
        let mut out = Vec::new();
        shown(&parse("f", text).unwrap(), "", &mut out);
        assert_eq!(out, expected, "{text}");
    }

    #[test]
    fn scalars_keep_their_spelling_and_their_place() {
        check(
            "a: 0x1F\nb: off\nc: 1e5\nd: 007\ne: \"x\\ty\"\nf:\ng: ~\nh: .inf\ni: !!str 12\n",
            &[
                "1:4 /1:1 a=\"0x1F\"",
                "2:4 /2:1 b=\"off\"",
                "3:4 /3:1 c=\"1e5\"",
                "4:4 /4:1 d=\"007\"",
                "5:4 /5:1 e=\"x\\ty\"",
                "6:2 /6:1 f=",
                "7:4 /7:1 g=",
                "8:4 /8:1 h=\".inf\"",
                "9:10 /9:1 i=\"12\"",
            ],
        );
        check(
            "é: ü\n'k': [ 'a b' ,\n  true ]\n409: 1.50\n",
            &[
                "1:4 /1:1 é=\"ü\"",
                "2:8 /2:1 k=\"a b\"",
                "3:3 /2:1 k=\"true\"",
                "4:6 /4:1 409=\"1.50\"",
            ],
        );
    }

    #[test]
    fn aliases_and_merges_stand_where_they_are_used() {
        check(
            "a: &x { n: 01 }\nb: *x\nc: { <<: *x, m: on }\n",
            &[
                "1:12 /1:1 a/1:9 n=\"01\"",
                "2:4 /2:1 b/2:4 n=\"01\"",
                "3:17 /3:1 c/3:14 m=\"on\"",
                "3:10 /3:1 c/3:10 n=\"01\"",
            ],
        );
    }

    #[test]
    fn an_empty_text_is_nothing() {
        check("", &["1:1 ="]);
        check("# only a comment\n", &["2:1 ="]);
    }
}
