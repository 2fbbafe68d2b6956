//! Child processes that a test talks to in lines.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How long a line may take. It is never reached unless something is wrong.
const LINE_WAIT: Duration = Duration::from_secs(30);

/// Below the ports that the system gives to outgoing connections: a port that is free between a
/// kill and a restart must not become the near end of somebody's connection.
const PORTS_FROM: u32 = 20_000;
const PORTS: u32 = 10_000;

/// A running process; killed when dropped.
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Process {
    /// Starts one of this directory's scripts with the Python that has its packages.
    pub(crate) fn script(name: &'static str, args: &[&str]) -> Self {
        let python = env::var_os("SEMEL_TEST_PYTHON").unwrap_or_else(|| {
            panic!(
                "SEMEL_TEST_PYTHON is not set: run `cargo xtask test`, or `cargo xtask services \
                 up python` and the export line that it prints"
            )
        });
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/stripe")
            .join(name);
        let mut command = Command::new(python);
        command.args(["-I", "-B"]).arg(script).args(args);
        Self::start(name, command)
    }

    /// Starts a process that inherits nothing of the tester's environment, such as a proxy.
    pub(crate) fn start(name: &'static str, mut command: Command) -> Self {
        let spawned = command
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = spawned.unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut read = stdout.lines().map_while(Result::ok);
            // It ends with the process, or when nobody listens any more.
            read.try_for_each(|line| sender.send(line))
        });
        Self {
            name,
            child,
            stdin,
            lines,
        }
    }

    /// Writes a line to its standard input.
    pub(crate) fn tell(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
    }

    /// Says that there is nothing more to tell.
    pub(crate) fn end_of_input(&mut self) {
        self.stdin = None;
    }

    /// The next line that it prints; nothing when it has ended.
    pub(crate) fn line(&self) -> Option<String> {
        match self.lines.recv_timeout(LINE_WAIT) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{} has said nothing for {LINE_WAIT:?}", self.name)
            }
        }
    }

    /// Whether it is gone.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Ends it with SIGKILL and collects it.
    pub(crate) fn kill(&mut self) {
        // It may have ended by itself, which is the same.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port of the loopback interface that nobody listens on and nobody is given by chance.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(31);
    let tried = (0..PORTS).map(|_| NEXT.fetch_add(1, Ordering::Relaxed));
    let mut ports = tried.map(|n| PORTS_FROM + first.wrapping_add(n) % PORTS);
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports
        .find_map(|port| u16::try_from(port).ok().filter(free))
        .unwrap()
}
