//! The Model Context Protocol: calls of tools that take effect once.
//!
//! A server of tools has one address, to which every message is posted as JSON-RPC 2.0. Of these only `tools/call` has
//! an effect, so a guard with [`Rules::mcp`](crate::Rules) reads each message and lets all others pass.
//!
//! - `call` reads a request: which tool is called, under which id, and what of the message is compared.
//! - `answer` is what a response means for the record; `events` finds it in an event stream.
//! - `id` is how a message gets another id; `reply` is what clients get from the record, and refusals.
//!
//! A message that a server could read differently is refused: repeated names, names in other letters, compressed
//! bodies, batches with a call in them.

mod answer;
mod call;
mod events;
mod id;
mod reply;

pub(crate) use call::{Call, Reading};
pub(crate) use events::Splitter;
pub(crate) use id::Id;
pub(crate) use reply::{refusal, replayed};

use http::HeaderName;
use semel_core::{Error, Result, Scope};

use crate::key::{Source, Sources};
use crate::rules::{Rules, StatusSet};

/// The most tools that a route names.
pub const TOOLS_MAX: usize = 1_000;
/// The longest name of a tool, in bytes, as the protocol has it.
pub const TOOL_BYTES_MAX: usize = 128;
/// The session of one client; a replay must not move another client into it.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Where clients put the key of a call, the first of these that is there. `_meta` is where the protocol keeps what is
/// about a request; a tool may also have it among its arguments, and ACP has it in `arguments.meta`.
const KEY_PLACES: [&str; 5] = [
    "$.params._meta['idempotency-key']",
    "$.params._meta.idempotencyKey",
    "$.params.idempotencyKey",
    "$.params.arguments.idempotency_key",
    "$.params.arguments.meta.idempotency_key",
];

/// How calls of tools are guarded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mcp {
    /// Which tools.
    pub tools: Tools,
    /// What a result with `isError` means.
    pub tool_errors: ToolErrors,
}

/// Which tools are guarded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Tools {
    /// All.
    #[default]
    All,
    /// These; calls of others pass.
    Only(Vec<String>),
    /// All but these, whose calls pass: they only read.
    Except(Vec<String>),
}

/// What a result with `isError` means for the record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolErrors {
    /// The tool ran and failed; duplicates get the same result.
    #[default]
    Keep,
    /// The tool had no effect; the next attempt runs.
    Release,
}

impl Mcp {
    /// Lays the defaults of the protocol over rules. The transport answers 3xx and 4xx before a tool runs (an unknown
    /// session is 404), so these release; a tool's own failures are results with status 200.
    pub fn apply(self, rules: &mut Rules) {
        let places = KEY_PLACES.iter();
        let places = places.map(|path| Source::Body(path.parse().expect("the path is valid")));
        rules.key = Sources::new(places.collect()).expect("there are few places");
        rules.keep.statuses = StatusSet::written(&["2xx", "500"]);
        rules.keep.release = StatusSet::written(&["3xx", "4xx"]);
        rules.mcp = Some(self);
    }

    /// The scope of a tool's calls: the route's with the tool's name behind it.
    pub(crate) fn scope(route: &Scope, tool: &str) -> Result<Scope> {
        Scope::new(format!("{}:{tool}", route.name()), route.version())
    }

    /// Whether calls of a tool are guarded; an error if it is spelled almost like one that is.
    fn guards(&self, tool: &str) -> Result<bool> {
        match &self.tools {
            Tools::All => Ok(true),
            Tools::Except(names) => Ok(!names.iter().any(|name| name == tool)),
            Tools::Only(names) if names.iter().any(|name| name == tool) => Ok(true),
            Tools::Only(names) => {
                let almost = |name: &String| folded(name) == folded(tool.trim());
                match names.iter().any(almost) {
                    true => Err(Error::invalid(
                        "the tool's name is a guarded one in other letters",
                    )),
                    false => Ok(false),
                }
            }
        }
    }
}

/// A name as parsers read it that ignore case: Go's takes `ſ` for `s` and the sign of Kelvin for `k`.
fn folded(name: &str) -> String {
    let fold = |c: char| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c,
    };
    name.chars().map(fold).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests;
