//! Where the workspace is, and which cargo is used on it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace root, which is the directory that this crate lies in.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable at run time too. It is preferred because one
    // binary may be shared by several checkouts with a common target directory.
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let built = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A test that runs this binary has the variable of its own crate.
    let found = manifest.as_deref().and_then(enclosing);
    found.unwrap_or_else(|| built.parent().unwrap_or(built).to_owned())
}

fn enclosing(dir: &Path) -> Option<PathBuf> {
    let mut dirs = dir.ancestors();
    let root = dirs.find(|dir| dir.join("xtask/Cargo.toml").is_file())?;
    Some(root.to_owned())
}

/// The cargo that runs this crate, so that one toolchain does everything.
pub(crate) fn cargo(root: &Path, args: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(args).current_dir(root);
    // What is built once gains nothing from being prepared for the next time.
    if env::var_os("CI").is_some() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_found_from_any_crate() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = own.parent().unwrap();
        for dir in [root.join("crates/semel-core"), own.to_owned()] {
            assert_eq!(enclosing(&dir).as_deref(), Some(root));
        }
        assert_eq!(enclosing(Path::new("/nowhere")), None);
    }
}
