//! PostgreSQL from the system's packages.
//!
//! Durability is what the tests are about, so the server keeps its defaults for
//! fsync and commits. It listens on loopback only, has no Unix socket, and wants a
//! password, because other users of the machine can reach loopback too.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

use super::account::Account;
use super::endpoint::{Endpoint, free_port, password};
use super::service::{Service, Status};
use super::slot::Place;
use super::{debian, home, process};

const START_WAIT_S: &str = "30";
const STOP_WAIT_S: &str = "30";
const LOG_LINES: usize = 30;

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

    fn up(&self, place: &Place) -> Result<String> {
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
            None => random_secret()?,
        };
        server.init(&secret)?;
        let port = free_port(earlier.and_then(|url| Some(endpoint(url).ok()?.port)))?;
        server.configure(port)?;
        server.start(port)?;
        let address = format!("postgres://semel:{secret}@127.0.0.1:{port}/postgres");
        place.record_address(&address)?;
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
    let Some(home) = place.home().filter(|home| postmaster(home).is_some()) else {
        return Ok(());
    };
    let server = Server {
        account: account()?,
        programs: Programs::find_or_install()?,
        home,
    };
    server.stop("fast").or_else(|_| server.stop("immediate"))
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

/// The server's process id, if that process is alive and really this server: after
/// a crash the system may have given the number to somebody else.
fn postmaster(home: &Path) -> Option<u32> {
    let pid_file = fs::read_to_string(data(home).join("postmaster.pid")).ok()?;
    let pid: u32 = pid_file.lines().next()?.trim().parse().ok()?;
    if !Path::new("/proc/self").exists() {
        return Some(pid);
    }
    let command_line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let data = data(home);
    let mut args = command_line.split(|byte| *byte == 0);
    args.any(|arg| arg == data.as_os_str().as_encoded_bytes())
        .then_some(pid)
}

fn random_secret() -> Result<String> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    fs::File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(Error::at("read", source))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
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

    fn configure(&self, port: u16) -> Result<()> {
        let path = data(&self.home).join("postgresql.conf");
        let settings = format!(
            "listen_addresses = '127.0.0.1'\n\
             port = {port}\n\
             unix_socket_directories = ''\n\
             max_connections = 200\n\
             fsync = on\n"
        );
        OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(settings.as_bytes()))
            .map_err(Error::at("write", &path))
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

/// The directory with the server's programs.
struct Programs(PathBuf);

impl Programs {
    fn find_or_install() -> Result<Self> {
        if let Some(found) = Self::find() {
            return Ok(found);
        }
        avoid_a_default_cluster()?;
        debian::install("postgresql")?;
        Self::find().ok_or_else(|| {
            Error::failed("the package postgresql is installed, but initdb is not to be found")
        })
    }

    /// Debian keeps each version in a directory of its own, outside of PATH.
    fn find() -> Option<Self> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
        let newest = versions
            .flatten()
            .filter_map(|entry| {
                let version: u32 = entry.file_name().to_str()?.parse().ok()?;
                Some((version, entry.path().join("bin")))
            })
            .filter(|(_, bin)| is_complete(bin))
            .max();
        if let Some((_, bin)) = newest {
            return Some(Self(bin));
        }
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .find(|dir| is_complete(dir))
            .map(Self)
    }

    fn path(&self, program: &str) -> PathBuf {
        self.0.join(program)
    }
}

fn is_complete(bin: &Path) -> bool {
    let needed = ["initdb", "pg_ctl", "pg_isready", "postgres"];
    needed.iter().all(|program| bin.join(program).exists())
}

/// Keeps Debian's package from creating and starting a cluster of its own. Settings
/// that somebody made earlier are left alone.
fn avoid_a_default_cluster() -> Result<()> {
    let dir = Path::new("/etc/postgresql-common");
    let file = dir.join("createcluster.conf");
    let may_write = super::account::own_uid()? == 0 && Path::new("/usr/bin/apt-get").exists();
    if !may_write || file.exists() {
        return Ok(());
    }
    fs::create_dir_all(dir).map_err(Error::at("create", dir))?;
    fs::write(&file, "create_main_cluster = false\n").map_err(Error::at("write", &file))
}
