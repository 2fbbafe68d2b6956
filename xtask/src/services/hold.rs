//! Names that one process holds at a time: a server that is being started, an installation, a port.
//!
//! A name is an abstract Unix socket. The kernel gives it to one holder on the machine and takes it back when the holder
//! ends, however it ends, so there are no files that an interrupted run could leave behind. Unlike a lock on a file it also
//! keeps two threads of one process apart.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};

use super::wait;

/// Installing packages takes the longest of all that happens under a name.
const WAIT: Duration = Duration::from_secs(600);

/// A name that no other process holds until this is dropped.
#[derive(Debug)]
pub(super) struct Held(#[expect(dead_code, reason = "it is kept to be dropped")] UnixListener);

/// Waits for `name`, which means the same on the whole machine.
pub(super) fn on_machine(name: &str) -> Result<Held> {
    let mut held = None;
    wait::until(WAIT, || {
        held = try_hold(name)?;
        match held {
            Some(_) => Ok(()),
            None => Err(Error::failed(format!(
                "another process held `{name}` for {} s",
                WAIT.as_secs()
            ))),
        }
    })?;
    held.ok_or_else(|| Error::failed(format!("`{name}` was not held")))
}

/// Waits for `name`, which other copies of the workspace use for something else.
pub(super) fn in_workspace(root: &Path, name: &str) -> Result<Held> {
    let mut hasher = DefaultHasher::new();
    root.hash(&mut hasher);
    on_machine(&format!("{:016x}-{name}", hasher.finish()))
}

/// Takes `name` if no process holds it.
pub(super) fn try_hold(name: &str) -> Result<Option<Held>> {
    let refused = |error| Error::failed(format!("cannot hold the name `{name}`: {error}"));
    let address = SocketAddr::from_abstract_name(format!("semel-{name}")).map_err(refused)?;
    match UnixListener::bind_addr(&address) {
        Ok(listener) => Ok(Some(Held(listener))),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Ok(None),
        Err(error) => Err(refused(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_held_once_until_it_is_dropped() {
        let name = format!("test-{}", std::process::id());
        let held = on_machine(&name).unwrap();
        assert!(try_hold(&name).unwrap().is_none());
        let root = Path::new("/nowhere");
        let elsewhere = in_workspace(root, &name).unwrap();
        drop(held);
        assert!(try_hold(&name).unwrap().is_some());
        drop(elsewhere);
    }
}
