//! The JSON schema of configuration files as a page for people.

use serde_json::{Map, Value};

const HEAD: &str = "\
# Every setting

<!-- Written by `cargo xtask docs` from `semel config schema`. -->

The settings of `semel.yaml` by the part of the file they stand in, from the schema that editors use (`semel config schema`). [The configuration file](../configuration.md) explains them with examples.

";

/// The whole page.
pub(crate) fn render(schema: &Value) -> String {
    let mut page = HEAD.to_owned();
    page += "## The file\n\n";
    page += &table(schema);
    let definitions = schema["definitions"].as_object().unwrap();
    for (name, definition) in definitions {
        page += &format!("## {name}\n\n");
        page += &section(definition);
    }
    page
}

fn section(definition: &Value) -> String {
    let about = text(definition, "description");
    let about = if about.is_empty() {
        String::new()
    } else {
        format!("{about}\n\n")
    };
    if definition["properties"].is_object() {
        return about + &table(definition);
    }
    match alternatives(definition) {
        Some(forms) => {
            let rows = forms.iter().map(|form| {
                format!(
                    "| {} | {} |\n",
                    form_of(form),
                    cell(text(form, "description"))
                )
            });
            about + "| one of | what it means |\n|---|---|\n" + &rows.collect::<String>() + "\n"
        }
        None => format!("{about}{}\n\n", takes(definition)),
    }
}

/// The settings of an object.
fn table(object: &Value) -> String {
    let required: Vec<&str> = object["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let rows = members(object).map(|(name, value)| {
        let must = if required.contains(&name.as_str()) {
            " (required)"
        } else {
            ""
        };
        let about = cell(text(value, "description"));
        format!("| `{name}`{must} | {} | {about} |\n", takes(value))
    });
    let rows: String = rows.collect();
    format!("| setting | takes | what it says |\n|---|---|---|\n{rows}\n")
}

fn members(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object["properties"]
        .as_object()
        .into_iter()
        .flat_map(Map::iter)
}

/// How one alternative is written.
fn form_of(form: &Value) -> String {
    let names: Vec<String> = members(form)
        .map(|(name, value)| format!("`{name}:` {}", takes(value)))
        .collect();
    match names.as_slice() {
        [] => takes(form),
        names => names.join(", "),
    }
}

/// What may be written there.
fn takes(value: &Value) -> String {
    if let Some(target) = value["$ref"].as_str() {
        let name = target.rsplit('/').next().unwrap_or(target);
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(forms) = alternatives(value) {
        let forms: Vec<String> = forms
            .into_iter()
            .filter(|form| form["type"] != "null")
            .map(form_of)
            .collect();
        return forms.join(" or ");
    }
    if !value["const"].is_null() {
        return code(&value["const"]);
    }
    if let Some(words) = value["enum"].as_array() {
        let words: Vec<String> = words
            .iter()
            .filter(|word| !word.is_null())
            .map(code)
            .collect();
        return words.join(", ");
    }
    plain(value)
}

fn plain(value: &Value) -> String {
    let example = value["examples"][0]
        .as_str()
        .map(|text| format!(", such as `{text}`"));
    let example = example.unwrap_or_default();
    let kind = &value["type"];
    let kind = kind
        .as_str()
        .or_else(|| kind[0].as_str())
        .unwrap_or("anything");
    match kind {
        "array" => format!("a list of {}", takes(&value["items"])),
        "object" if value["additionalProperties"].is_object() => {
            format!("names, each with {}", takes(&value["additionalProperties"]))
        }
        "integer" | "number" => format!("a number{}", range(value)),
        "boolean" => "`true` or `false`".to_owned(),
        "string" => format!("a text{example}"),
        kind => format!("{kind}{example}"),
    }
}

fn range(value: &Value) -> String {
    match (&value["minimum"], &value["maximum"]) {
        (Value::Null, Value::Null) => String::new(),
        (least, Value::Null) => format!(" from {least}"),
        (Value::Null, most) => format!(" up to {most}"),
        (least, most) => format!(" from {least} to {most}"),
    }
}

fn alternatives(value: &Value) -> Option<Vec<&Value>> {
    let names = ["oneOf", "anyOf", "allOf"];
    let forms = names.into_iter().find_map(|name| value[name].as_array())?;
    Some(forms.iter().collect())
}

fn code(value: &Value) -> String {
    match value.as_str() {
        Some(word) => format!("`{word}`"),
        None => format!("`{value}`"),
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
