//! Starts, watches and ends any server by its description.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use crate::error::{Error, Result};

use super::account::Account;
use super::server::{Server, Step};
use super::setting::Setting;
use super::slot::Place;
use super::template::Names;
use super::{home, live, part, port, process, secret, wait};

/// A server starts while compilers take all processors.
const START_WAIT: Duration = Duration::from_secs(120);
/// After this a server that was asked to end is killed.
const STOP_WAIT: Duration = Duration::from_secs(10);
const LOG: &str = "server.log";
const LOG_LINES: usize = 30;

/// The state of a place.
#[derive(Debug)]
pub(super) enum Status {
    /// A server runs and answers at this address.
    Up(String),
    /// A server was started but is gone or does not answer, for this reason.
    Broken(String),
    /// Nothing was started.
    Down,
}

/// What became of the server that was started in `place`.
pub(super) fn status(server: &Server, place: &Place) -> Status {
    if !place.exists() {
        return Status::Down;
    }
    let (Some(_), Some(address)) = (place.home(), place.address()) else {
        return Status::Broken("an earlier start did not finish".into());
    };
    let gone = server.nodes.saturating_sub(processes(server, place).len());
    if gone > 0 {
        return Status::Broken(format!(
            "processes that are gone: {gone} of {}",
            server.nodes
        ));
    }
    match server.check(&address) {
        Ok(()) => Status::Up(address),
        Err(error) => Status::Broken(error.to_string()),
    }
}

/// The processes that were started in `place` and still live, without the children that they come and go with, in the order
/// of the address.
pub(super) fn processes(server: &Server, place: &Place) -> Vec<u32> {
    let Some(home) = place.home() else {
        return Vec::new();
    };
    let nodes = (0..server.nodes).map(|node| node_dir(server, &home, node));
    nodes
        .flat_map(|dir| live::first_ones(&live::working_in(&dir, server.programs)))
        .collect()
}

/// Starts a fresh server in `place` with these settings on top of the usual ones, clearing away what is left of an earlier
/// one, and returns its address.
pub(super) fn up(server: &Server, place: &Place, settings: &[Setting]) -> Result<String> {
    let parts = part::installed(server.parts, server.name)?;
    stop(server, place)?;
    home::remove(place)?;
    let account = account(server)?;
    let home = home::create(place, account)?;
    // A server that is started again keeps its address, which shells may hold.
    let secret = place.secret().map_or_else(secret::password, Ok)?;
    let ports = port::free(server.nodes * server.ports, &place.ports())?;
    place.record_ports(&ports.numbers)?;
    place.record_secret(&secret)?;
    let instance = Instance {
        server,
        account,
        names: names(server, &home, parts, &ports.numbers, secret),
        home,
    };
    let address = instance.names[0].fill(server.address);
    place.record_address(&address)?;
    instance.set_up(settings)?;
    instance.start(&address, true)?;
    Ok(address)
}

/// Ends the server in `place` as a crash would, if it still lives, and starts it again with its settings, data and address.
pub(super) fn restart(server: &Server, place: &Place) -> Result<String> {
    let recorded = place.home().zip(place.address()).zip(place.secret());
    let ((home, address), secret) = recorded
        .ok_or_else(|| Error::failed(format!("there is no {} that was started", server.name)))?;
    let parts = part::installed(server.parts, server.name)?;
    live::kill(&home, server.programs)?;
    let instance = Instance {
        server,
        account: account(server)?,
        names: names(server, &home, parts, &place.ports(), secret),
        home,
    };
    instance.start(&address, false)?;
    Ok(address)
}

/// Stops the server in `place`, if there is one, and removes its data.
pub(super) fn down(server: &Server, place: &Place) -> Result<()> {
    stop(server, place)?;
    home::remove(place)?;
    place.forget()
}

/// Its data is about to be removed, so it need not save any.
fn stop(server: &Server, place: &Place) -> Result<()> {
    let Some(home) = place.home().filter(|home| home.exists()) else {
        return Ok(());
    };
    if server.stop != "KILL" {
        let all = live::working_in(&home, server.programs);
        live::signal(server.stop, &live::first_ones(&all));
        // A test may have frozen it, and what is frozen cannot stop.
        let all: Vec<u32> = all.iter().map(|process| process.id).collect();
        live::signal("CONT", &all);
        // What is left after the wait is killed.
        let _ = live::await_end(&home, server.programs, STOP_WAIT);
    }
    live::kill(&home, server.programs)
}

fn account(server: &Server) -> Result<Account> {
    match server.accounts {
        "" => Ok(Account::Own),
        names => Account::unprivileged(names),
    }
}

fn node_dir(server: &Server, home: &Path, node: usize) -> PathBuf {
    if server.nodes == 1 {
        return home.to_owned();
    }
    home.join(format!("node-{}", node + 1))
}

/// What the names in the templates of each process stand for.
fn names(
    server: &Server,
    home: &Path,
    parts: Vec<(&'static str, PathBuf)>,
    ports: &[u16],
    secret: String,
) -> Vec<Names> {
    let ports: Vec<&[u16]> = ports.chunks(server.ports).collect();
    let hosts: Vec<String> = ports
        .iter()
        .map(|ports| format!("127.0.0.1:{}", ports[0]))
        .collect();
    let mut common = Names::default();
    for (name, path) in parts {
        common.add(name, path.display());
    }
    common.add("home", home.display());
    common.add("secret", secret);
    common.add("hosts", hosts.join(","));
    common.add("host-words", hosts.join(" "));
    let of_node = |(node, ports): (usize, &&[u16])| {
        let mut names = common.clone();
        names.add("node", node_dir(server, home, node).display());
        names.add("port", ports[0]);
        for (number, port) in (2..).zip(&ports[1..]) {
            names.add(&format!("port{number}"), port);
        }
        names
    };
    ports.iter().enumerate().map(of_node).collect()
}

/// A server in its home directory.
struct Instance<'a> {
    server: &'a Server,
    account: Account,
    home: PathBuf,
    /// One for each process.
    names: Vec<Names>,
}

impl Instance<'_> {
    fn set_up(&self, settings: &[Setting]) -> Result<()> {
        for (node, names) in self.names.iter().enumerate() {
            let dir = self.node_dir(node);
            if dir != self.home {
                super::slot::create_dir(&dir)?;
                self.account.own(&dir)?;
            }
            for step in self.server.setup {
                match step {
                    Step::File(name, text) => self.append(&dir.join(name), &names.fill(text))?,
                    Step::Settings(name, text) => {
                        let mut text = names.fill(text);
                        let settings = settings.iter().map(self.server.setting);
                        text.extend(settings.map(|line| names.fill(&line)));
                        self.append(&dir.join(name), &text)?;
                    }
                    Step::Run(line) => drop(process::output(&mut self.command(node, line))?),
                }
            }
        }
        Ok(())
    }

    /// Starts every process on the data that is there and waits until the whole is ready.
    fn start(&self, address: &str, is_first: bool) -> Result<()> {
        let started = self.try_start(address, is_first);
        started.map_err(|error| {
            // No run would find, and so stop, a server that starts too late.
            let _ = live::kill(&self.home, self.server.programs);
            let log = fs::read_to_string(self.node_dir(0).join(LOG)).unwrap_or_default();
            let log = process::tail(&log, LOG_LINES);
            Error::failed(format!("{error}\nthe end of the server's log:\n{log}"))
        })
    }

    fn try_start(&self, address: &str, is_first: bool) -> Result<()> {
        let nodes = 0..self.names.len();
        let mut children = nodes
            .map(|node| self.spawn(node))
            .collect::<Result<Vec<Child>>>()?;
        let target = self.server.target(address)?;
        let ready = self.server.ready.unwrap_or(self.server.answers);
        if let Some(unite) = self.server.unite.as_ref().filter(|_| is_first) {
            await_success(&mut children, || (unite.answers)(&target))?;
            process::output(&mut self.command(0, unite.line))?;
        }
        await_success(&mut children, || ready(&target))
    }

    fn spawn(&self, node: usize) -> Result<Child> {
        let dir = self.node_dir(node);
        for stale in self.server.stale {
            remove_file(&dir.join(stale))?;
        }
        let log = dir.join(LOG);
        let log = File::options()
            .append(true)
            .create(true)
            .open(&log)
            .map_err(Error::at("open", &log))?;
        let errors = log.try_clone().map_err(Error::when("share the log"))?;
        self.command(node, self.server.start)
            .stdout(log)
            .stderr(errors)
            // What interrupts the command that started the server is not meant for it.
            .process_group(0)
            .spawn()
            .map_err(Error::when(&format!("start {}", self.server.name)))
    }

    /// A command in the directory of the process, by which it is recognised.
    fn command(&self, node: usize, line: &str) -> Command {
        let words = line
            .split_whitespace()
            .map(|word| self.names[node].fill(word));
        let mut command = self.account.command("sh");
        // What this process inherited, such as the lock of a program that started it, must not live on in a server.
        command.args(["-c", "exec \"$@\" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-", "sh"]);
        command.args(words).current_dir(self.node_dir(node));
        command
    }

    fn node_dir(&self, node: usize) -> PathBuf {
        node_dir(self.server, &self.home, node)
    }

    fn append(&self, path: &Path, text: &str) -> Result<()> {
        // Settings hold passwords.
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        options
            .open(path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(Error::at("write", path))?;
        self.account.own(path)
    }
}

/// A process that ended at once must not be waited for as if it were slow.
fn await_success(children: &mut [Child], attempt: impl Fn() -> Result<()>) -> Result<()> {
    let mut ended = None;
    wait::until(START_WAIT, || {
        for child in &mut *children {
            let status = child.try_wait();
            ended = ended.or(status.map_err(Error::when("look at the server"))?);
        }
        if ended.is_some() {
            return Ok(());
        }
        attempt()
    })?;
    match ended {
        Some(status) => Err(Error::failed(format!("the server ended with {status}"))),
        None => Ok(()),
    }
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::at("remove", path)(error)),
        _ => Ok(()),
    }
}
