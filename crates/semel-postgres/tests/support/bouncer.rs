//! A PgBouncer of a test's own, in front of the usual server.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// How often, and with what pause, it is looked whether the pooler listens.
const LOOKS_MAX: usize = 500;
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A pooler in transaction mode; it ends when dropped.
#[derive(Debug)]
pub struct Bouncer {
    child: Child,
    command: Command,
    port: u16,
    dir: PathBuf,
    /// Where clients connect to, without parameters of the store.
    pub url: String,
}

impl Bouncer {
    /// Starts one with two connections to the server, and further lines for its configuration.
    pub fn start(extra: &str) -> Self {
        let program = std::env::var_os("SEMEL_TEST_PGBOUNCER").expect(
            "SEMEL_TEST_PGBOUNCER is not set: run `cargo xtask test`, or \
             `cargo xtask services up pgbouncer` and export what it prints",
        );
        let seed = semel_testkit::random::fresh_seed();
        let dir = std::env::temp_dir().join(format!("semel-bouncer-{seed:016x}"));
        fs::create_dir(&dir).expect("a temporary directory");
        let account = account(&dir);
        let port = free_port();
        configure(&dir, port, extra);
        let mut command = Command::new(program);
        if let Some((name, uid, gid)) = &account {
            command.args(["-u", name]);
            for path in [dir.clone(), dir.join("bouncer.ini"), dir.join("users")] {
                chown(path, Some(*uid), Some(*gid)).expect("root gives files away");
            }
        }
        command
            .arg(dir.join("bouncer.ini"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().expect("PgBouncer runs");
        let (user, rest) = super::url()
            .split_once('@')
            .map(owned)
            .expect("a URL with a user");
        let (_, database) = rest.split_once('/').expect("a URL with a database");
        let url = format!("{user}@127.0.0.1:{port}/{database}");
        let bouncer = Self {
            child,
            command,
            port,
            dir,
            url,
        };
        bouncer.listens();
        bouncer
    }

    /// Kills it and starts it again at the same place: every connection through it is gone.
    pub fn restart(&mut self) {
        self.child.kill().expect("a child of our own");
        self.child.wait().expect("a child of our own");
        let _ = fs::remove_file(self.dir.join("pid"));
        self.child = self.command.spawn().expect("PgBouncer runs");
        self.listens();
    }

    fn listens(&self) {
        for _ in 0..LOOKS_MAX {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            sleep(LOOK_EVERY);
        }
        let log = fs::read_to_string(self.dir.join("log")).unwrap_or_default();
        panic!("expected PgBouncer to listen, found {log}");
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn owned((a, b): (&str, &str)) -> (String, String) {
    (a.to_owned(), b.to_owned())
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// For root, who may not run it: the account of the server.
fn account(dir: &Path) -> Option<(String, u32, u32)> {
    if fs::metadata(dir).expect("it was just made").uid() != 0 {
        return None;
    }
    let passwd = fs::read_to_string("/etc/passwd").expect("accounts");
    let line = passwd.lines().find(|line| line.starts_with("postgres:"));
    let fields: Vec<&str> = line
        .expect("an account for PostgreSQL")
        .split(':')
        .collect();
    let number = |at: usize| fields[at].parse().expect("a number");
    Some((fields[0].to_owned(), number(2), number(3)))
}

fn configure(dir: &Path, port: u16, extra: &str) {
    let url = super::url();
    let (scheme_user, rest) = url.split_once('@').expect("a URL with a user");
    let (_, user) = scheme_user.split_once("://").expect("a URL");
    let (user, password) = user.split_once(':').expect("a URL with a password");
    let (address, database) = rest.split_once('/').expect("a URL with a database");
    let (host, server_port) = address.split_once(':').expect("an address with a port");
    let at = dir.display();
    let ini = format!(
        "[databases]\n{database} = host={host} port={server_port}\n\
         [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
         auth_type = scram-sha-256\nauth_file = {at}/users\nlogfile = {at}/log\npidfile = {at}/pid\n\
         pool_mode = transaction\ndefault_pool_size = 2\nmax_client_conn = 200\n{extra}\n"
    );
    fs::write(dir.join("bouncer.ini"), ini).expect("a file can be written");
    fs::write(dir.join("users"), format!("\"{user}\" \"{password}\"\n"))
        .expect("a file can be written");
    for (name, mode) in [("users", 0o600), ("", 0o700)] {
        let path = if name.is_empty() {
            dir.to_owned()
        } else {
            dir.join(name)
        };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("files of our own");
    }
}
