//! PostgreSQL from the system's packages.
//!
//! Durability is what the tests are about, so the server keeps its defaults for
//! fsync and commits. It listens on loopback only, has no Unix socket, and wants a
//! password, because other users of the machine can reach loopback too.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

use super::account::Account;
use super::endpoint::{Endpoint, password};
use super::service::{Service, Status};
use super::setting::Setting;
use super::slot::Place;
use super::{home, live, port, process, secret};

mod programs;

pub(super) use programs::PostgresPrograms;
use programs::Programs;

const START_WAIT_S: &str = "30";
const STOP_WAIT_S: &str = "30";
const LOG_LINES: usize = 30;
const PID_FILE: &str = "postmaster.pid";

/// Asks a server whether it speaks TLS; only PostgreSQL answers with one letter.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// The service `postgres`.
pub(super) struct Postgres;

impl Service for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn variable(&self) -> &'static str {
        "SEMEL_TEST_POSTGRES_URL"
    }

    fn answers(&self, address: &str) -> Result<()> {
        let mut stream = endpoint(address)?.connect()?;
        let mut answer = [0];
        stream
            .write_all(&SSL_REQUEST)
            .and_then(|()| stream.read_exact(&mut answer))
            .map_err(|error| Error::failed(format!("no answer to a first message: {error}")))?;
        match answer {
            [b'S' | b'N'] => Ok(()),
            _ => Err(Error::failed("what answers is not PostgreSQL")),
        }
    }

    fn status(&self, place: &Place) -> Status {
        if !place.exists() {
            return Status::Down;
        }
        let (Some(home), Some(address)) = (place.home(), place.address()) else {
            return Status::Broken("an earlier start did not finish".into());
        };
        if postmaster(&home).is_none() {
            return Status::Broken("its process is gone".into());
        }
        match self.answers(&address) {
            Ok(()) => Status::Up(address),
            Err(error) => Status::Broken(error.to_string()),
        }
    }

    fn processes(&self, place: &Place) -> Vec<u32> {
        let home = place.home();
        home.and_then(|home| postmaster(&home))
            .into_iter()
            .collect()
    }

    fn up(&self, place: &Place, settings: &[Setting]) -> Result<String> {
        let programs = Programs::find_or_install()?;
        let earlier = place.address();
        stop(place)?;
        home::remove(place)?;
        let account = account()?;
        let server = Server {
            account,
            programs,
            home: home::create(place, account)?,
        };
        // A server that is started again keeps its address, which shells may hold.
        let earlier = earlier.as_deref();
        let secret = match earlier.and_then(password) {
            Some(secret) => secret.to_owned(),
            None => secret::password()?,
        };
        server.init(&secret)?;
        let port = port::free(earlier.and_then(|url| Some(endpoint(url).ok()?.port)))?;
        server.configure(port, settings)?;
        server.start(port)?;
        let address = format!("postgres://semel:{secret}@127.0.0.1:{port}/postgres");
        place.record_address(&address)?;
        Ok(address)
    }

    fn restart(&self, place: &Place) -> Result<String> {
        let (Some(home), Some(address)) = (place.home(), place.address()) else {
            return Err(Error::failed("there is no postgres that was started"));
        };
        let server = Server {
            account: account()?,
            programs: Programs::find_or_install()?,
            home,
        };
        server.kill()?;
        server.start(endpoint(&address)?.port)?;
        Ok(address)
    }

    fn down(&self, place: &Place) -> Result<()> {
        stop(place)?;
        home::remove(place)?;
        place.forget()
    }
}

/// Stops the server in `place` if it runs; never signals a process not its own.
fn stop(place: &Place) -> Result<()> {
    let Some(home) = place.home().filter(|home| home.exists()) else {
        return Ok(());
    };
    let server = Server {
        account: account()?,
        programs: Programs::find_or_install()?,
        home,
    };
    if postmaster(&server.home).is_some() {
        // A test may have frozen it, and what is frozen cannot stop.
        live::resume(&server.processes());
        server.stop("fast").or_else(|_| server.stop("immediate"))?;
    }
    // A server that was killed leaves children behind, which end when they notice.
    live::kill(&server.processes())
}

fn account() -> Result<Account> {
    Account::unprivileged(&["postgres", "nobody"])
}

fn endpoint(url: &str) -> Result<Endpoint> {
    Endpoint::parse(url, &["postgres", "postgresql"], 5432)
}

fn data(home: &Path) -> PathBuf {
    home.join("data")
}

/// The server's process id, if that process is alive and really this server.
fn postmaster(home: &Path) -> Option<u32> {
    let data = data(home);
    live::named_by(&data.join(PID_FILE), &data)
}

/// A server in its home directory.
struct Server {
    account: Account,
    programs: Programs,
    home: PathBuf,
}

impl Server {
    fn init(&self, secret: &str) -> Result<()> {
        let secret_file = self.home.join("secret");
        fs::write(&secret_file, secret).map_err(Error::at("write", &secret_file))?;
        let mut initdb = self.command("initdb");
        initdb
            .args(["--username=semel", "--auth=scram-sha-256"])
            .args(["--encoding=UTF8", "--locale=C"])
            // Only the empty cluster is not synced; the server itself does sync.
            .arg("--no-sync")
            .arg("--pwfile")
            .arg(&secret_file);
        process::output(&mut initdb)?;
        fs::remove_file(&secret_file).map_err(Error::at("remove", &secret_file))
    }

    fn configure(&self, port: u16, extra: &[Setting]) -> Result<()> {
        let path = data(&self.home).join("postgresql.conf");
        let mut settings = format!(
            "listen_addresses = '127.0.0.1'\n\
             port = {port}\n\
             unix_socket_directories = ''\n\
             max_connections = 200\n\
             fsync = on\n"
        );
        settings.extend(extra.iter().map(line));
        OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(settings.as_bytes()))
            .map_err(Error::at("write", &path))
    }

    /// The server itself, first, and every other process that works on its data.
    fn processes(&self) -> Vec<u32> {
        let program = self.programs.path("postgres");
        let first = postmaster(&self.home);
        let all = live::working_in(&data(&self.home), &program);
        let others = all.into_iter().filter(|pid| Some(*pid) != first);
        first.into_iter().chain(others).collect()
    }

    /// Ends the server as a crash would.
    fn kill(&self) -> Result<()> {
        live::kill(&self.processes())?;
        // The next server would take an ended process that nobody collected for a live
        // one, and refuse to start. Here it is known that all of them have ended.
        let pid_file = data(&self.home).join(PID_FILE);
        match fs::remove_file(&pid_file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::at("remove", &pid_file)(error))
            }
            _ => Ok(()),
        }
    }

    fn start(&self, port: u16) -> Result<()> {
        let log = self.home.join("server.log");
        let mut start = self.command("pg_ctl");
        start.args(["start", "--silent", "--wait"]);
        start.args(["--timeout", START_WAIT_S, "--log"]).arg(&log);
        let ready = || {
            let mut ready = self.account.command(self.programs.path("pg_isready"));
            ready.args(["--host=127.0.0.1", "--timeout=5"]);
            process::output(ready.arg(format!("--port={port}")))
        };
        let started = process::output(&mut start).and_then(|_| ready());
        started.map(drop).map_err(|error| {
            let log = fs::read_to_string(&log).unwrap_or_default();
            let log = process::tail(&log, LOG_LINES);
            Error::failed(format!("{error}\nthe end of the server's log:\n{log}"))
        })
    }

    fn stop(&self, mode: &str) -> Result<()> {
        let mut stop = self.command("pg_ctl");
        stop.args(["stop", "--silent", "--wait", "--mode", mode]);
        process::output(stop.args(["--timeout", STOP_WAIT_S])).map(drop)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = self.account.command(self.programs.path(program));
        command.arg("--pgdata").arg(data(&self.home));
        command
    }
}

/// Among several settings of one name the last one counts.
fn line(Setting { name, value }: &Setting) -> String {
    format!("{name} = '{}'\n", value.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_quoted_whatever_it_is() {
        let table = [
            ("max_connections=10", "max_connections = '10'\n"),
            ("a.b=it's", "a.b = 'it''s'\n"),
        ];
        for (text, expected) in table {
            assert_eq!(line(&Setting::parse(text).unwrap()), expected);
        }
    }
}
