//! Where a server's state is kept: `.services/<slot>/<service>/`.
//!
//! A slot is a set of servers with one owner. Tools have none: they lie next to the
//! slots, in `.services/tools/<tool>/`. Files in a place are small facts
//! that must survive the process that wrote them, such as an address.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

use super::hold::{self, Held};
use super::live;

const DIR: &str = ".services";
const TOOLS: &str = "tools";
const SHARED: &str = "shared";
const RUN_PREFIX: &str = "run-";
const RESULTS: &str = "results";
/// A server's path may have to fit into the address of a socket.
const NAME_MAX: usize = 40;
const HOME: &str = "home";
const ADDRESS: &str = "address";
const PORTS: &str = "ports";
const SECRET: &str = "secret";

/// A set of servers with one owner.
#[derive(Debug)]
pub(crate) struct Slot {
    services: PathBuf,
    name: String,
}

impl Slot {
    /// The slot of `services up`, which everyone in this workspace uses.
    pub(crate) fn shared(root: &Path) -> Self {
        Self::named(root, SHARED)
    }

    /// The slot of the test run that this process is.
    pub(crate) fn of_this_run(root: &Path) -> Self {
        Self::named(root, &format!("{RUN_PREFIX}{}", std::process::id()))
    }

    pub(super) fn named(root: &Path, name: &str) -> Self {
        Self {
            services: root.join(DIR),
            name: name.to_owned(),
        }
    }

    /// A slot that somebody asked for by this name. One named `run-<pid>-<word>` is
    /// cleaned up when that process is gone; others stay until they are stopped.
    pub(super) fn private(root: &Path, name: &str) -> Result<Self> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let named = !name.is_empty() && name.len() <= NAME_MAX && name.chars().all(plain);
        if !named || name == SHARED || name == TOOLS {
            return Err(Error::Usage(format!(
                "expected a slot named by at most {NAME_MAX} of a-z, 0-9 and `-`, other than \
                 {SHARED} and {TOOLS}, found `{name}`"
            )));
        }
        Ok(Self::named(root, name))
    }

    /// The slots of test runs whose process is gone.
    pub(super) fn abandoned(root: &Path) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(root.join(DIR)) else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.strip_prefix(RUN_PREFIX).is_some_and(is_gone))
            .map(|name| Self::named(root, &name))
            .collect()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_shared(&self) -> bool {
        self.name == SHARED
    }

    pub(super) fn place(&self, service: &str) -> Place {
        Place {
            dir: self.services.join(&self.name).join(service),
            label: format!("{}-{service}", self.name),
        }
    }

    /// Keeps others from starting or stopping this service's server in this slot meanwhile.
    pub(super) fn lock(&self, service: &str) -> Result<Held> {
        let place = format!("{}-{service}", self.name);
        hold::in_workspace(&self.services, &place)
    }

    /// Creates an empty directory in which the tests of a run write down what they
    /// found. It goes when the slot goes.
    pub(crate) fn create_results(&self) -> Result<PathBuf> {
        let dir = self.services.join(&self.name).join(RESULTS);
        remove_dir(&dir)?;
        create_dir(&dir)?;
        Ok(dir)
    }

    /// Removes the slot itself once its places are gone.
    pub(crate) fn remove(&self) {
        let dir = self.services.join(&self.name);
        // Either it was never created or it still has a place; both are fine.
        let _ = remove_dir(&dir.join(RESULTS));
        let _ = fs::remove_dir(dir);
    }
}

/// Whether the process is gone that owns the slot `run-<run>`, where `run` is its number
/// and possibly a `-` and more.
fn is_gone(run: &str) -> bool {
    let number = run.split('-').next().and_then(|number| number.parse().ok());
    number.is_some_and(|number| !live::lives(number))
}

/// The state of one server in one slot.
#[derive(Debug)]
pub(super) struct Place {
    dir: PathBuf,
    label: String,
}

impl Place {
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A name for this place that is unique in the workspace.
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn exists(&self) -> bool {
        self.dir.exists()
    }

    /// The address of the server that was started here.
    pub(super) fn address(&self) -> Option<String> {
        self.recall(ADDRESS)
    }

    pub(super) fn record_address(&self, address: &str) -> Result<()> {
        self.record(ADDRESS, address)
    }

    /// The ports that the server was given, of each process one after another.
    pub(super) fn ports(&self) -> Vec<u16> {
        let ports = self.recall(PORTS).unwrap_or_default();
        ports.split(',').flat_map(str::parse).collect()
    }

    pub(super) fn record_ports(&self, ports: &[u16]) -> Result<()> {
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        self.record(PORTS, &ports.join(","))
    }

    pub(super) fn secret(&self) -> Option<String> {
        self.recall(SECRET)
    }

    pub(super) fn record_secret(&self, secret: &str) -> Result<()> {
        self.record(SECRET, secret)
    }

    /// The directory that belongs to the server itself.
    pub(super) fn home(&self) -> Option<PathBuf> {
        let home = self.recall(HOME)?;
        Some(self.dir.join(home))
    }

    pub(super) fn record_home(&self, home: &Path) -> Result<()> {
        // A home inside of the place is recorded relative to it: a copy of the
        // workspace must not take the original's server for its own.
        let relative = home.strip_prefix(&self.dir).unwrap_or(home);
        let shown = relative.to_str();
        let shown = shown
            .ok_or_else(|| Error::failed(format!("{} is not a UTF-8 path", home.display())))?;
        self.record(HOME, shown)
    }

    /// Forgets everything about this place.
    pub(super) fn forget(&self) -> Result<()> {
        remove_dir(&self.dir)
    }

    fn recall(&self, fact: &str) -> Option<String> {
        fs::read_to_string(self.dir.join(fact)).ok()
    }

    fn record(&self, fact: &str, value: &str) -> Result<()> {
        create_dir(&self.dir)?;
        let path = self.dir.join(fact);
        // An address holds a password.
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&path).map_err(Error::at("write", &path))?;
        file.write_all(value.as_bytes())
            .map_err(Error::at("write", &path))
    }
}

/// The directory that a tool may be installed in.
pub(super) fn tool_dir(root: &Path, tool: &str) -> PathBuf {
    root.join(DIR).join(TOOLS).join(tool)
}

/// Creates a directory that others may pass through but not look into.
pub(super) fn create_dir(dir: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o711);
    builder.create(dir).map_err(Error::at("create", dir))
}

/// Removes a directory and all in it; one that is not there is fine.
pub(crate) fn remove_dir(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::at("remove", dir)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_gone_with_the_process_that_its_name_begins_with() {
        let own = std::process::id();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let table = [
            (format!("{own}"), false),
            (format!("{own}-redis-1"), false),
            (format!("{}", ended.id()), true),
            (format!("{}-redis", ended.id()), true),
            ("by-hand".to_owned(), false),
            (String::new(), false),
        ];
        for (run, expected) in table {
            assert_eq!(is_gone(&run), expected, "{run}");
        }
    }

    #[test]
    fn a_private_slot_has_a_plain_name_of_its_own() {
        let root = Path::new("/nowhere");
        for name in ["run-12-redis", "mine"] {
            assert_eq!(Slot::private(root, name).unwrap().name(), name);
        }
        for name in ["", "shared", "tools", "..", "a/b", "A", &"a".repeat(41)] {
            assert!(Slot::private(root, name).is_err(), "{name}");
        }
    }
}
