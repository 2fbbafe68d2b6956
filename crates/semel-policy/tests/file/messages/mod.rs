//! Consumers, the targets of intents, and the door for messages.

mod doors;
mod errors;
mod explained;
mod fields;
mod intents;
mod strategies;
mod template;
mod together;

use semel_policy::{CompiledConsumer, CompiledTarget, File};

use super::parse;

fn file(text: &str) -> File {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The first consumer of a text.
fn consumer(text: &str) -> CompiledConsumer {
    let consumers = file(text).consumers().unwrap();
    consumers.into_iter().next().expect("there is a consumer")
}

/// The consumer with these settings.
fn with(settings: &str) -> CompiledConsumer {
    consumer(&format!("consumers: {{ a: {{ {settings} }} }}"))
}

/// The first target of a text.
fn target(text: &str) -> CompiledTarget {
    let targets = file(text).targets().unwrap();
    targets.into_iter().next().expect("there is a target")
}

/// What is wrong with a text.
fn error(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}
