//! The file's shape as a JSON Schema, for editors.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::Value;

use crate::load::File;

/// The JSON Schema of the file (draft 7, which YAML editors understand), with every setting's
/// description.
///
/// ```
/// let schema = semel_policy::schema();
/// assert!(schema["properties"]["gateway"].is_object());
/// ```
pub fn schema() -> Value {
    let settings = SchemaSettings::draft07();
    let mut schema = settings.into_generator().into_root_schema_for::<File>();
    schema.insert("title".to_owned(), "The configuration file of Semel".into());
    schema.insert(
        "description".to_owned(),
        "See docs/configuration.md.".into(),
    );
    RecursiveTransform(for_editors).transform(&mut schema);
    schema.to_value()
}

/// Doc comments are wrapped for sources, and a pattern must let `${VAR}` pass.
fn for_editors(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    if let Some(Value::String(pattern)) = schema.get_mut("pattern") {
        *pattern = format!(r"({pattern})|\$\{{");
    }
}
