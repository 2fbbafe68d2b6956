//! What the tests are told, whether it is about a server or about a tool.

/// An environment variable for the tests.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) value: String,
}
