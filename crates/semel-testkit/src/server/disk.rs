//! A disk that can be made full.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file system in memory, gone with it. Only root can make one, or a `sudo` that asks for no password.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// A disk of `megabytes` that belongs to the owner of `path`, such as a server's data.
    pub fn mount(megabytes: usize, path: &Path) -> Self {
        let owner = std::fs::metadata(path).expect("the server's data is there");
        let (uid, gid) = (owner.uid(), owner.gid());
        let seed = crate::random::fresh_seed();
        let dir = std::env::temp_dir().join(format!("semel-small-{seed:016x}"));
        let options = format!("size={megabytes}m,mode=700,uid={uid},gid={gid}");
        std::fs::create_dir(&dir).expect("a temporary directory");
        let tmpfs = ["-t", "tmpfs", "-o", &options, "tmpfs"].map(Path::new);
        as_root("mount", &[&tmpfs[..], &[dir.as_path()]].concat());
        Self(dir)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves no byte free, until the file that this returns the path of is removed.
    pub fn fill(&self) -> PathBuf {
        use std::io::Write;
        let path = self.0.join("filler");
        let mut filler = std::fs::File::create(&path).expect("an empty file needs no room");
        for size in [1 << 20, 1 << 10, 1] {
            while filler
                .write(&vec![0; size])
                .is_ok_and(|written| written > 0)
            {}
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A server that a failed test left may still use it.
        as_root("umount", &[Path::new("-l"), &self.0]);
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn as_root(program: &str, args: &[&Path]) {
    let own = Command::new(program).args(args).output();
    if own.is_ok_and(|output| output.status.success()) {
        return;
    }
    let sudo = Command::new("sudo")
        .arg("-n")
        .arg(program)
        .args(args)
        .output();
    assert!(
        sudo.is_ok_and(|output| output.status.success()),
        "expected `{program}` to work: a disk can only be made full by root, or with a sudo that asks for no password"
    );
}
