//! Kills real processes on the store on a single Redis and counts effects outside of them.

mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use semel_testkit::crash::Opening;

fn open(dir: PathBuf) -> Opening {
    common::open(common::SINGLE, dir)
}

fn main() -> ExitCode {
    semel_testkit::crash::main("Redis", open)
}
