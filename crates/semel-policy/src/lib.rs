//! The configuration file of Semel: parse, check, explain, schema.
//!
//! Read it in this order:
//!
//! 1. [`mod@file`] is what the file may say, section by section; its doc comments are the schema's
//!    descriptions.
//! 2. [`File`] loads it: YAML becomes a tree that knows where everything is written (`tree`), the
//!    environment is laid over it, `${VAR}` is filled in, and then serde reads it.
//! 3. `compile` turns routes into [`semel_http::Rules`], consumers and the targets of intents into
//!    [`semel_inbox::Consumer`]s, and checks what settings mean together.
//! 4. [`explain`](explain::explain) says in words what a file does, and warns; [`schema`] is for editors, [`openapi`]
//!    for the description of the API behind the gateway.
//!
//! [`limits`] lists every limit.
//!
//! This crate opens no socket and no store. It reads the file it is told to, and the key
//! files which that names.

mod compile;
mod error;
pub mod explain;
pub mod file;
pub mod limits;
mod load;
pub mod openapi;
mod schema;
mod tree;
pub mod value;

pub use compile::{
    CompiledConsumer, CompiledReconcile, CompiledRoute, CompiledTarget, consumer, target,
};
pub use error::{Error, Kind, Result};
pub use explain::{explain, warnings};
pub use file::Gateway;
pub use load::File;
pub use schema::schema;
pub use tree::{SourcePosition, Variables, closest, distance, filled};
