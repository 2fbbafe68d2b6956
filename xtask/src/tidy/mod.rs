//! The repository's rules as a check: `file:line: message` for each break of one.
//!
//! Rules are functions from a file's text to findings, grouped by what they read:
//! any text, Rust sources, manifests, packages, documents and their links, the shape of stores. Only files that belong to the
//! repository are looked at. What the compiler, clippy or rustfmt can say is not
//! repeated here, and nothing is ever changed.

mod check;
mod docs_rules;
mod files;
mod finding;
mod functions;
mod link_rules;
mod manifest_rules;
mod package_rules;
mod rust_rules;
mod shape_rules;
mod source;
mod text_rules;
mod toml;

pub(crate) use check::run;
