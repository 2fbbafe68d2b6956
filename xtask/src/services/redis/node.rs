//! One Redis process in a directory of its own, alone or in a cluster.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::error::{Error, Result};

use super::super::account::Account;
use super::super::endpoint::Endpoint;
use super::super::setting::Setting;
use super::super::slot::create_dir;
use super::super::{debian, live, process, program, wait};
use super::wire::{self, Login};

const SERVER: &str = "redis-server";
const START_WAIT: Duration = Duration::from_secs(30);
const LOG_LINES: usize = 30;

/// A node's directory, port and password; whether it runs is another matter.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) dir: PathBuf,
    pub(super) port: u16,
    pub(super) secret: String,
}

impl Node {
    /// Writes the node's settings into its directory, which may be there already.
    /// Among several settings of one name the last one counts.
    pub(super) fn configure(&self, account: Account, settings: &[Setting]) -> Result<()> {
        create_dir(&self.dir)?;
        account.own(&self.dir)?;
        let path = self.settings_file();
        let mut options = OpenOptions::new();
        // The settings hold the password.
        options.write(true).create(true).truncate(true).mode(0o600);
        options
            .open(&path)
            .and_then(|mut file| file.write_all(self.settings(settings).as_bytes()))
            .map_err(Error::at("write", &path))?;
        account.own(&path)
    }

    /// Starts the process on the data that is there and waits until it answers.
    pub(super) fn start(&self, account: Account) -> Result<()> {
        let child = account
            .command(find_or_install()?)
            .arg(self.settings_file())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What interrupts the command that started the server is not meant for it.
            .process_group(0)
            .spawn()
            .map_err(Error::when("start redis-server"))?;
        self.await_answer(child).map_err(|error| {
            let log = fs::read_to_string(self.log_file()).unwrap_or_default();
            let log = process::tail(&log, LOG_LINES);
            Error::failed(format!("{error}\nthe end of the server's log:\n{log}"))
        })
    }

    /// The node's process, if it lives.
    pub(super) fn process(&self) -> Option<u32> {
        live::named_by(&self.pid_file(), &self.settings_file())
    }

    /// Ends the process as a crash would, and whatever it had started.
    pub(super) fn kill(&self) -> Result<()> {
        let mut pids: Vec<u32> = self.process().into_iter().collect();
        if let Some(program) = program::find(SERVER) {
            pids.extend(live::working_in(&self.dir, &program));
        }
        live::kill(&pids)
    }

    /// Asks the node one thing.
    pub(super) fn ask(&self, command: &[&str]) -> Result<String> {
        let login = Login {
            user: "",
            password: Some(&self.secret),
        };
        wire::ask(&self.endpoint(), login, command)
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint {
            host: "127.0.0.1".to_owned(),
            port: self.port,
        }
    }

    /// A process that ended at once must not be waited for as if it were slow.
    fn await_answer(&self, mut child: Child) -> Result<()> {
        let mut ended = None;
        wait::until(START_WAIT, || {
            ended = child
                .try_wait()
                .map_err(Error::when("look at the server"))?;
            if ended.is_some() {
                return Ok(());
            }
            self.ask(&["PING"]).map(drop)
        })?;
        match ended {
            Some(status) => Err(Error::failed(format!("{SERVER} ended with {status}"))),
            None => Ok(()),
        }
    }

    fn settings(&self, extra: &[Setting]) -> String {
        let Self { port, secret, .. } = self;
        let dir = self.dir.display();
        let (pid_file, log_file) = (self.pid_file(), self.log_file());
        let (pid_file, log_file) = (pid_file.display(), log_file.display());
        let mut settings = format!(
            "bind 127.0.0.1\n\
             port {port}\n\
             protected-mode yes\n\
             requirepass {secret}\n\
             masterauth {secret}\n\
             daemonize no\n\
             # The process is recognised by the path of this file.\n\
             set-proc-title no\n\
             dir \"{dir}\"\n\
             pidfile \"{pid_file}\"\n\
             logfile \"{log_file}\"\n\
             save \"\"\n\
             appendonly yes\n\
             appendfsync everysec\n\
             maxmemory-policy noeviction\n\
             # A new replica is served at once instead of waiting for others to come.\n\
             repl-diskless-sync-delay 0\n"
        );
        for Setting { name, value } in extra {
            let value = if value.is_empty() { "\"\"" } else { value };
            settings.push_str(&format!("{name} {value}\n"));
        }
        settings
    }

    fn settings_file(&self) -> PathBuf {
        self.dir.join("redis.conf")
    }

    fn pid_file(&self) -> PathBuf {
        self.dir.join("redis.pid")
    }

    fn log_file(&self) -> PathBuf {
        self.dir.join("server.log")
    }
}

/// The account that every node runs under, which the package brings along.
pub(super) fn account() -> Result<Account> {
    Account::unprivileged(&["redis", "nobody"])
}

/// The server program, installed if it is missing; `redis-cli` comes with it.
pub(super) fn find_or_install() -> Result<PathBuf> {
    if let Some(found) = program::find(SERVER) {
        return Ok(found);
    }
    debian::install(SERVER)?;
    debian::keep_off(SERVER)?;
    program::find(SERVER).ok_or_else(|| {
        Error::failed("the package redis-server is installed, but the program is not to be found")
    })
}

/// Ends the processes of all nodes.
pub(super) fn kill_all(nodes: &[Node]) -> Result<()> {
    nodes.iter().try_for_each(Node::kill)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Node {
        Node {
            dir: PathBuf::from("/home of/redis"),
            port: 1,
            secret: "s3cret".to_owned(),
        }
    }

    #[test]
    fn an_extra_setting_comes_last_and_an_empty_one_is_quoted() {
        let extra = ["maxmemory-policy=allkeys-lru", "save="];
        let extra = extra.map(|text| Setting::parse(text).unwrap());
        let settings = node().settings(&extra);
        assert!(settings.ends_with("maxmemory-policy allkeys-lru\nsave \"\"\n"));
        assert!(settings.contains("dir \"/home of/redis\"\n"));
    }

    #[test]
    fn a_node_that_was_never_started_has_no_process() {
        assert_eq!(node().process(), None);
        assert!(node().kill().is_ok());
    }
}
