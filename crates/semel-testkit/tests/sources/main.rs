//! The suite of sources on a broker in memory, and on brokers with bugs, so that each fact is known to fail.

mod memory;
mod seeded;

use memory::{Bug, fresh};

semel_testkit::source_conformance!("memory", fresh(Bug::None));
