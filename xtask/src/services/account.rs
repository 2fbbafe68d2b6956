//! The account a server runs under, since some servers refuse to run as root.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs as unix_fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

use super::process;

/// An account of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Account {
    /// Whoever runs this program.
    Own,
    /// An unprivileged account that root switches to.
    Other {
        /// The user's number.
        uid: u32,
        /// The number of the user's main group.
        gid: u32,
    },
}

impl Account {
    /// The own account, or for root the first of `names` that exists.
    pub(super) fn unprivileged(names: &str) -> Result<Self> {
        if own_uid()? != 0 {
            return Ok(Self::Own);
        }
        let passwd = Path::new("/etc/passwd");
        let text = fs::read_to_string(passwd).map_err(Error::at("read", passwd))?;
        let found = names.split(' ').find_map(|name| find(&text, name));
        found.ok_or_else(|| {
            Error::failed(format!(
                "the server refuses to run as root, and there is no user named {}",
                names.replace(' ', " or ")
            ))
        })
    }

    /// A command that runs under this account and inherits nothing from this
    /// process that could change what a server does.
    pub(super) fn command(self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("LC_ALL", "C")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            // The directory we are in may be closed to the account.
            .current_dir("/")
            .stdin(Stdio::null());
        if let Self::Other { uid, gid } = self {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Gives `path` to this account.
    pub(super) fn own(self, path: &Path) -> Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Other { uid, gid } => {
                unix_fs::chown(path, Some(uid), Some(gid)).map_err(Error::at("chown", path))
            }
        }
    }

    /// Whether this account can get to `dir` and write there.
    pub(super) fn can_write(self, dir: &Path) -> Result<bool> {
        let mut test = self.command("test");
        test.arg("-w").arg(dir);
        let status = test.status().map_err(Error::when("run `test`"))?;
        Ok(status.success())
    }
}

/// The number of the user who runs this program.
pub(super) fn own_uid() -> Result<u32> {
    let mut id = Command::new("id");
    let shown = process::output(id.arg("-u"))?;
    shown.trim().parse().map_err(Error::when("read `id -u`"))
}

fn find(passwd: &str, name: &str) -> Option<Account> {
    let mut lines = passwd.lines().map(|line| line.split(':'));
    let mut fields = lines.find_map(|mut fields| (fields.next()? == name).then_some(fields))?;
    // The first field left is the password, which is never kept here.
    let uid = fields.nth(1)?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    Some(Account::Other { uid, gid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_exact_name() {
        let passwd = "root:x:0:0:root:/:/bin/sh\npostgres:x:101:104:,,,:/var:/bin/sh\n";
        let expected = Some(Account::Other { uid: 101, gid: 104 });
        assert_eq!(find(passwd, "postgres"), expected);
        assert_eq!(find(passwd, "post"), None);
    }
}
