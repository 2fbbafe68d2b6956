//! Whether requests are messages of the Model Context Protocol: a word, or a map of which tools are guarded.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::value::{Either, Many, Name, Refusal, Text, Word};

/// Which calls of tools are guarded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Either<Short, Messages>")]
pub struct Mcp {
    /// Whether requests are messages at all.
    pub is_on: bool,
    /// Only these tools.
    pub tools: Option<Many<Word<Name>>>,
    /// All tools but these.
    pub except: Option<Many<Word<Name>>>,
    /// What a result with isError means.
    pub tool_errors: Option<ToolErrors>,
}

/// The forms that are one word.
struct Short(bool);

impl Text for Short {
    const EXPECTED: &'static str = "all, off";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match text {
            "all" => Ok(Self(true)),
            "off" => Ok(Self(false)),
            _ => Err(Refusal::Expected(
                "all, off or a map of tools, except, tool_errors".to_owned(),
            )),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "oneOf": [
            { "const": "all", "description": "Calls of every tool are guarded, and all other messages pass." },
            { "const": "off", "description": "Requests are no messages of this protocol." },
        ] })
    }
}

/// Which calls of tools are guarded; all other messages pass. Of `tools` and `except` at most one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Messages {
    /// Only calls of these tools are guarded. Default: of all.
    tools: Option<Many<Word<Name>>>,
    /// Calls of these tools pass, because they only read.
    except: Option<Many<Word<Name>>>,
    /// What a result with isError means. Default: keep.
    tool_errors: Option<ToolErrors>,
}

/// What a result with isError means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolErrors {
    /// The tool ran and failed; duplicates get the same result.
    Keep,
    /// The tool had no effect; the next attempt runs.
    Release,
}

impl From<Either<Short, Messages>> for Mcp {
    fn from(written: Either<Short, Messages>) -> Self {
        match written {
            Either::Short(Short(is_on)) => Self {
                is_on,
                tools: None,
                except: None,
                tool_errors: None,
            },
            Either::Long(messages) => Self {
                is_on: true,
                tools: messages.tools,
                except: messages.except,
                tool_errors: messages.tool_errors,
            },
        }
    }
}

impl JsonSchema for Mcp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mcp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <Either<Short, Messages>>::json_schema(generator)
    }
}
