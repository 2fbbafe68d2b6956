//! Variables that stand for settings: `SEMEL_GATEWAY__LISTEN` is `gateway.listen`.

use super::fill::Variables;
use super::{Entry, Node, Path, SourcePosition, Value};
use crate::error::{Error, Kind, Result};

const PREFIX: &str = "SEMEL_";
const BETWEEN: &str = "__";

/// Lays variables over the file. Those whose first part names none of the `sections` mean something else.
pub(crate) fn lay(
    file: &str,
    tree: &mut Node,
    variables: &Variables,
    sections: &[&str],
) -> Result<()> {
    for (name, value) in variables {
        let Some(steps) = steps(name, sections) else {
            continue;
        };
        let place = SourcePosition::Variable(name.clone());
        set(tree, &steps, &place, value).map_err(|message| {
            let path: Path = steps.iter().map(String::as_str).collect();
            Error::whole(Kind::Invalid, file, message)
                .at(place.clone())
                .of(&path)
        })?;
    }
    Ok(())
}

fn steps(name: &str, sections: &[&str]) -> Option<Vec<String>> {
    let name = name.strip_prefix(PREFIX)?.to_ascii_lowercase();
    let mut steps: Vec<String> = name.split(BETWEEN).map(str::to_owned).collect();
    let section = sections.iter().find(|section| is_meant(section, &steps[0]));
    steps[0] = (*section?).to_owned();
    Some(steps)
}

/// Names of variables have neither case nor dashes: `notification_sender` may be `notification-sender`,
/// and `retentiondays` may be `retentionDays`.
fn is_meant(written: &str, variable: &str) -> bool {
    written.replace('-', "_").eq_ignore_ascii_case(variable)
}

fn set(
    node: &mut Node,
    steps: &[String],
    place: &SourcePosition,
    text: &str,
) -> Result<(), String> {
    let Some((first, rest)) = steps.split_first() else {
        *node = Node::scalar(place.clone(), text);
        return Ok(());
    };
    if let Value::List(_) = node.value {
        return Err("a list can only be set in the file".to_owned());
    }
    set(child(node, first, place), rest, place, text)
}

/// The value of the key `name`, which is put there if there is none.
fn child<'a>(node: &'a mut Node, name: &str, place: &SourcePosition) -> &'a mut Node {
    if !matches!(node.value, Value::Map(_)) {
        // The variable wins over a word such as `admin: off`.
        node.value = Value::Map(Vec::new());
    }
    let Value::Map(entries) = &mut node.value else {
        unreachable!("it was made a map above");
    };
    let exactly = entries.iter().position(|entry| entry.name == name);
    let at = exactly.or_else(|| entries.iter().position(|entry| is_meant(&entry.name, name)));
    let at = at.unwrap_or_else(|| {
        entries.push(Entry {
            name: name.to_owned(),
            place: place.clone(),
            node: Node::null(place.clone()),
        });
        entries.len() - 1
    });
    &mut entries[at].node
}
