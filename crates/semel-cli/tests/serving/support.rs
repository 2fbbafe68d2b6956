//! A service that counts, a `semel` process beside it, and a client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long anything may take before the test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// How often, and after which pauses, metrics are asked for: for a minute.
const TRIES_MAX: usize = 600;
const PAUSE: Duration = Duration::from_millis(100);

/// A service that counts its effects. A request to `/slow` is announced and waits for a word.
pub(crate) struct Shop {
    pub(crate) addr: SocketAddr,
    effects: Arc<AtomicUsize>,
    began: Receiver<Sender<()>>,
}

impl Shop {
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let effects = Arc::<AtomicUsize>::default();
        let (announce, began) = channel();
        let counted = effects.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (effects, announce) = (counted.clone(), announce.clone());
                thread::spawn(move || serve(stream.unwrap(), &effects, &announce));
            }
        });
        Self {
            addr,
            effects,
            began,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn effects(&self) -> usize {
        self.effects.load(Ordering::SeqCst)
    }

    /// Waits for a request to `/slow`; sending to (or dropping) what it returns lets it go on.
    pub(crate) fn began(&self) -> Sender<()> {
        self.began.recv_timeout(PATIENCE).unwrap()
    }
}

fn serve(mut stream: TcpStream, effects: &AtomicUsize, announce: &Sender<Sender<()>>) {
    let Some((head, _)) = read_message(&mut stream) else {
        return;
    };
    let nth = effects.fetch_add(1, Ordering::SeqCst) + 1;
    if head.contains(" /slow ") {
        let (go, wait) = channel();
        announce.send(go).unwrap();
        let _ = wait.recv_timeout(PATIENCE);
    }
    let body = format!("effect {nth}");
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 201 Created\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    // A gateway that was killed does not hear it.
    let _ = stream.write_all(answer.as_bytes());
}

/// The head and the body of a request; nothing if it breaks off.
pub(crate) fn read_message(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = field(&head, "content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}

/// The value of a header.
pub(crate) fn field<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case(wanted).then_some(value.trim())
    })
}

/// A `semel` process that serves, and is killed with the test.
pub(crate) struct Semel {
    child: Child,
    lines: Receiver<String>,
    seen: Mutex<Vec<String>>,
    pub(crate) gateway: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) inbox: SocketAddr,
}

impl Semel {
    /// Runs it in `dir` and waits until its gateway serves.
    pub(crate) fn start(dir: &Path, args: &[&str]) -> Self {
        let mut semel = Self::spawn(dir, args);
        semel.admin = semel.address("the admin side serves");
        semel.gateway = semel.address("the gateway serves");
        semel
    }

    /// The same where the admin side has no port.
    pub(crate) fn start_gateway(dir: &Path, args: &[&str]) -> Self {
        let mut semel = Self::spawn(dir, args);
        semel.gateway = semel.address("the gateway serves");
        semel
    }

    /// Runs what `semel.yaml` in `dir` names and waits until its inbox listens.
    pub(crate) fn start_inbox(dir: &Path) -> Self {
        Self::serve_inbox(dir, &["--log", "debug"])
    }

    /// The same with other flags.
    pub(crate) fn serve_inbox(dir: &Path, flags: &[&str]) -> Self {
        let mut semel = Self::spawn(dir, &[&["serve", "--config", "semel.yaml"], flags].concat());
        semel.admin = semel.address("the admin side serves");
        semel.find_inbox();
        semel.wait_for("is up");
        semel
    }

    /// The same without an inbox, for now; the file is found and not named.
    pub(crate) fn serve(dir: &Path, flags: &[&str]) -> Self {
        let mut semel = Self::spawn(dir, &[&["serve"], flags].concat());
        semel.admin = semel.address("the admin side serves");
        semel.wait_for("is up");
        semel
    }

    /// Waits until its admin side serves.
    pub(crate) fn find_admin(&mut self) {
        self.admin = self.address("the admin side serves");
    }

    /// Waits until its gateway serves, which it does after all else.
    pub(crate) fn find_gateway(&mut self) {
        self.gateway = self.address("the gateway serves");
    }

    /// Waits until its inbox listens.
    pub(crate) fn find_inbox(&mut self) {
        self.inbox = self.address("the inbox listens");
    }

    fn spawn(dir: &Path, args: &[&str]) -> Self {
        Self::spawn_with(dir, args, &[])
    }

    /// Runs it with these variables besides those of the test.
    pub(crate) fn spawn_with(dir: &Path, args: &[&str], variables: &[(&str, &Path)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_semel"))
            .args(args)
            .current_dir(dir)
            .env_remove("SEMEL_STORE")
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = child.stderr.take().unwrap();
        let (send, lines) = channel();
        thread::spawn(move || {
            BufReader::new(stderr).lines().for_each(|line| {
                let _ = send.send(line.unwrap());
            });
        });
        let unset = "0.0.0.0:0".parse().unwrap();
        Self {
            child,
            lines,
            seen: Mutex::default(),
            gateway: unset,
            admin: unset,
            inbox: unset,
        }
    }

    fn address(&self, said: &str) -> SocketAddr {
        let line = self.wait_for(said);
        line.split_once("listen=").unwrap().1.parse().unwrap()
    }

    /// The next line of the log that says `said`.
    pub(crate) fn wait_for(&self, said: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| {
                panic!("no {said:?} in the log: {:#?}", self.seen.lock().unwrap())
            });
            self.seen.lock().unwrap().push(line.clone());
            if line.contains(said) {
                return line;
            }
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let done = Command::new("kill").args(["-s", name, &id]).status();
        assert!(done.unwrap().success());
    }

    /// Waits for its end; the exit code, or `None` if a signal ended it.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Everything that was logged so far, as far as it was waited for.
    pub(crate) fn log(&self) -> String {
        self.seen.lock().unwrap().join("\n")
    }

    /// POST with a key to the gateway.
    pub(crate) fn post(&self, path: &str, key: &str) -> Answer {
        ask(
            self.gateway,
            "POST",
            path,
            &[("Idempotency-Key", key)],
            "{}",
        )
        .unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        ask(self.admin, "GET", path, &[], "").unwrap()
    }

    /// The metrics as soon as they say this: counts may be a second old.
    pub(crate) fn metrics_with(&self, series: &str) -> String {
        let mut metrics = String::new();
        for _ in 0..TRIES_MAX {
            metrics = self.get("/metrics").body;
            if metrics.contains(series) {
                return metrics;
            }
            thread::sleep(PAUSE);
        }
        panic!("{series} is not in {metrics}");
    }
}

impl Drop for Semel {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn is_replay(&self) -> bool {
        self.head.contains("idempotent-replayed: true")
    }
}

/// One request on a connection of its own; `None` if there is no answer.
pub(crate) fn ask(
    addr: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Answer> {
    let mut stream = TcpStream::connect(addr).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let fields: String = headers
        .iter()
        .map(|(n, v)| format!("{n}: {v}\r\n"))
        .collect();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n{fields}\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some(Answer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        head: head.to_owned(),
        body: body.to_owned(),
    })
}

/// Runs `semel` to its end: exit code, stdout, stderr.
pub(crate) fn semel(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(args)
        .current_dir(dir)
        .env_remove("SEMEL_STORE")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}
