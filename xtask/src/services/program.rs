//! Finds a program that the system's packages bring along.

use std::env;
use std::path::{Path, PathBuf};

/// Debian keeps servers in `sbin`, which is not in everybody's PATH.
const SYSTEM_DIRS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// The program with this name, in the system's directories or in PATH.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = SYSTEM_DIRS.map(PathBuf::from).into_iter();
    in_dirs(dirs.chain(env::split_paths(&path)), Path::new(name))
}

/// A relative directory in PATH means another program in every directory.
fn in_dirs(mut dirs: impl Iterator<Item = PathBuf>, name: &Path) -> Option<PathBuf> {
    dirs.find_map(|dir| {
        let program = dir.join(name);
        (program.is_absolute() && program.is_file()).then_some(program)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_a_file_in_an_absolute_directory() {
        let dirs = |dirs: &'static [&str]| dirs.iter().map(PathBuf::from);
        let name = Path::new("sh");
        assert_eq!(in_dirs(dirs(&["bin", "/nowhere"]), name), None);
        let found = in_dirs(dirs(&["/nowhere", "/bin"]), name);
        assert_eq!(found, Some(PathBuf::from("/bin/sh")));
        assert_eq!(in_dirs(dirs(&["/"]), Path::new("bin")), None);
    }
}
