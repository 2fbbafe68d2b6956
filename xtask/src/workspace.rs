//! Where the workspace is, and which cargo is used on it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace root, which is the parent of this crate.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable at run time too. It is preferred because one
    // binary may be shared by several checkouts with a common target directory.
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map_or(manifest.clone(), Path::to_owned)
}

/// The cargo that runs this crate, so that one toolchain does everything.
pub(crate) fn cargo(root: &Path, args: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(args).current_dir(root);
    command
}
