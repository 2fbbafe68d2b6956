//! The configuration file from the outside: text in, checked data, errors, words and schema out.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod agents;
mod environment;
mod errors;
mod explained;
mod fields;
mod limits;
mod messages;
mod ports;
mod schema;
mod secrets;
mod settings;
mod tokens;

use semel_policy::{CompiledRoute, Error, File, Gateway};

/// The file of a text, without any environment.
fn parse(text: &str) -> Result<File, Error> {
    File::parse("semel.yaml", text, [])
}

/// The gateway of a text.
fn gateway(text: &str) -> Gateway {
    let file = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    file.gateway.expect("the text has a gateway")
}

/// The first route of a text.
fn route(text: &str) -> CompiledRoute {
    let routes = gateway(text).routes().unwrap();
    routes.into_iter().next().expect("there is a route")
}

/// The page that describes the file.
const PAGE: &str = include_str!("../../../../docs/configuration.md");

/// The blocks of YAML on that page.
fn examples() -> impl Iterator<Item = &'static str> {
    let blocks = PAGE.split("```yaml\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap_or_default())
}
