//! The processes behind the dashboard: the demo, and one that asks for a token.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// The token of one who looks at [`Guarded`].
pub(crate) const READER: &str = "correct-horse-battery-staple";
/// The token of one who acts there.
pub(crate) const OPERATOR: &str = "another-horse-battery-staple";
/// How often, and after which pauses, the demo is asked whether something has happened: for a minute and a half.
const TRIES_MAX: usize = 450;
const PAUSE: Duration = Duration::from_millis(200);

/// A program that is killed with its test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // SIGTERM, so that the demo removes its directory and its own processes.
        let pid = self.0.id().to_string();
        let _ = Command::new("kill").arg(pid).status();
        let _ = self.0.wait();
    }
}

/// `semel demo --serve`.
pub(crate) struct Demo {
    pub(crate) url: String,
    _process: Killed,
}

impl Demo {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_semel"))
            .args([
                "demo",
                "--serve",
                "--seed",
                "7",
                "--admin",
                "127.0.0.1:0",
                "--for",
                "5m",
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        thread::spawn(move || lines.for_each(drop));
        let url = first.strip_prefix("dashboard  ").unwrap().to_owned();
        Self {
            url,
            _process: Killed(child),
        }
    }

    /// Waits until there is something to look at on every page.
    pub(crate) fn is_full_of_life(&self) {
        self.wait_for("/api/v1/stats", |text| !text.contains("\"unknown\":0"));
        self.wait_for("/api/v1/inbox?state=PARKED", |text| {
            text.contains("\"PARKED\"")
        });
        self.wait_for("/metrics", |text| {
            let lines = text
                .lines()
                .filter(|line| line.starts_with("semel_requests_total"));
            let all = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
            all.sum::<f64>() > 150.0
        });
    }

    fn wait_for(&self, path: &str, is_there: impl Fn(&str) -> bool) {
        let mut text = String::new();
        for _ in 0..TRIES_MAX {
            text = get(&self.url, path);
            if is_there(&text) {
                return;
            }
            thread::sleep(PAUSE);
        }
        panic!("{path} never said so: {text}");
    }
}

/// `semel serve` with tokens, and a consumer whose handler the browser's script plays.
pub(crate) struct Guarded {
    /// The dashboard.
    pub(crate) url: String,
    /// Where messages are posted to.
    pub(crate) inbox: String,
    /// The port that the handler is expected on.
    pub(crate) handler: u16,
    _process: Killed,
    _dir: TempDir,
}

impl Guarded {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Free again in a moment, for the handler.
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let handler = free.local_addr().unwrap().port();
        let file = format!(
            "store: sqlite:semel.db\n\
             admin:\n  listen: 127.0.0.1:0\n  tokens:\n\
             \x20   - {{ name: rita, role: read, token: {READER} }}\n\
             \x20   - {{ name: oli, role: operate, token: {OPERATOR} }}\n\
             inbox: {{ listen: 127.0.0.1:0 }}\n\
             consumers:\n  mailer:\n    source: http\n    deliver: http://127.0.0.1:{handler}/mail\n\
             \x20   inbox: {{ retry: {{ maxAttempts: 2, first: 10ms }} }}\n"
        );
        drop(free);
        std::fs::write(dir.path().join("semel.yaml"), file).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_semel"))
            .args(["serve", "--config", "semel.yaml"])
            .current_dir(dir.path())
            .env_remove("SEMEL_STORE")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap())
            .lines()
            .map(Result::unwrap);
        let url = address(&mut lines, "the admin side serves");
        let inbox = address(&mut lines, "the inbox listens");
        thread::spawn(move || lines.for_each(drop));
        Self {
            url,
            inbox,
            handler,
            _process: Killed(child),
            _dir: dir,
        }
    }
}

impl Guarded {
    /// What a script needs to act as an operator, and as the handler.
    pub(crate) fn options(&self) -> [String; 3] {
        [
            format!("token={OPERATOR}"),
            format!("inbox={}", self.inbox),
            format!("handler={}", self.handler),
        ]
    }
}

/// The address in the next line of the log that says so.
fn address(lines: &mut impl Iterator<Item = String>, said: &str) -> String {
    let line = lines.find(|line| line.contains(said)).unwrap();
    let listen = line.split_once("listen=").unwrap().1;
    format!("http://{}/", listen.split(' ').next().unwrap())
}

/// What the admin side answers.
fn get(url: &str, path: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
