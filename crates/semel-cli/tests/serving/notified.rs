//! What a service manager hears over its socket, and what asks a running process: `semel health` and `semel top`.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{PATIENCE, Semel};

/// The manager's end of `NOTIFY_SOCKET`.
struct Manager(UnixDatagram);

impl Manager {
    fn listen(at: &Path) -> Self {
        let socket = UnixDatagram::bind(at).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(socket)
    }

    /// The next datagram that is not about the watchdog.
    fn hears(&self) -> String {
        loop {
            let mut bytes = [0; 4096];
            let read = self.0.recv(&mut bytes).unwrap();
            let said = String::from_utf8(bytes[..read].to_vec()).unwrap();
            if said.trim() != "WATCHDOG=1" {
                return said;
            }
        }
    }
}

fn states(said: &str) -> Vec<&str> {
    said.lines()
        .filter(|line| !line.starts_with("STATUS="))
        .collect()
}

fn ask(semel: &Semel, args: &[&str]) -> Output {
    let address = semel.admin.to_string();
    Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(args)
        .args(["--admin", &address])
        .env_remove("SEMEL_STORE")
        .output()
        .unwrap()
}

#[test]
fn a_service_manager_hears_of_readiness_reloads_and_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("notify");
    let manager = Manager::listen(&at);
    fs::write(
        dir.path().join("semel.yaml"),
        "admin: { listen: '127.0.0.1:0' }\n",
    )
    .unwrap();
    let mut semel = Semel::spawn_with(dir.path(), &["serve"], &[("NOTIFY_SOCKET", &at)]);
    assert_eq!(states(&manager.hears()), ["READY=1"]);
    // The port was bound before.
    semel.find_admin();
    assert_eq!(semel.get("/healthz").status, 200);

    semel.signal("HUP");
    let reloading = manager.hears();
    let reloading = states(&reloading);
    assert_eq!(reloading[0], "RELOADING=1");
    assert!(reloading[1].starts_with("MONOTONIC_USEC="), "{reloading:?}");
    assert_eq!(states(&manager.hears()), ["READY=1"]);

    fs::write(dir.path().join("semel.yaml"), "nonsense: 1\n").unwrap();
    semel.signal("HUP");
    assert!(manager.hears().contains("RELOADING=1"));
    let refused = manager.hears();
    assert_eq!(states(&refused), ["READY=1"]);
    assert!(refused.contains("is not used"), "{refused}");

    semel.signal("TERM");
    assert_eq!(states(&manager.hears()), ["STOPPING=1"]);
    assert_eq!(semel.wait(), Some(0));
}

#[test]
fn a_watchdog_is_told_that_the_process_works() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("notify");
    let manager = UnixDatagram::bind(&at).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let usec = Path::new("200000");
    let variables = [("NOTIFY_SOCKET", at.as_path()), ("WATCHDOG_USEC", usec)];
    let flags = ["serve", "--admin", "127.0.0.1:0"];
    let _semel = Semel::spawn_with(dir.path(), &flags, &variables);
    let mut beats = 0;
    while beats < 3 {
        let mut bytes = [0; 256];
        let read = manager.recv(&mut bytes).unwrap();
        beats += usize::from(bytes[..read].trim_ascii() == b"WATCHDOG=1");
    }
}

#[test]
fn health_and_top_ask_a_running_process() {
    let dir = tempfile::tempdir().unwrap();
    let upstream = "http://127.0.0.1:9";
    let semel = Semel::start(
        dir.path(),
        &[
            "gateway",
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
            "--upstream",
            upstream,
        ],
    );
    for _ in 0..3 {
        assert_eq!(semel.post("/payments", "order-1").status, 502);
    }

    let health = ask(&semel, &["health"]);
    let said = String::from_utf8(health.stdout).unwrap();
    assert!(health.status.success(), "{said}");
    assert!(said.contains("store                ready"), "{said}");
    // The service is not reached, and the process is ready all the same.
    assert!(
        said.contains("upstream 127.0.0.1:9          not ready: the last 3 connections failed"),
        "{said}"
    );
    assert!(ask(&semel, &["health", "--live"]).status.success());

    let top = ask(&semel, &["top", "--once", "--every", "200ms"]);
    let shown = String::from_utf8(top.stdout).unwrap();
    assert!(top.status.success(), "{shown}");
    for wanted in [
        "ready",
        "records running 0",
        "SCOPE",
        "POST /",
        "127.0.0.1:9: the last",
    ] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    let top = ask(&semel, &["top", "--json", "--every", "200ms"]);
    let frame: Value = serde_json::from_slice(&top.stdout).unwrap();
    assert_eq!(frame["ready"], true, "{frame}");
    assert_eq!(frame["records"]["unknown"], 0, "{frame}");

    drop(semel);
    let away = Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(["health", "--admin", "127.0.0.1:9"])
        .output()
        .unwrap();
    assert_eq!(away.status.code(), Some(69));
}

#[test]
fn a_service_that_is_not_reached_counts_where_the_file_says_so_until_it_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let service = closed.local_addr().unwrap();
    drop(closed);
    fs::write(
        dir.path().join("semel.yaml"),
        format!(
            "admin: {{ listen: '127.0.0.1:0', readiness: [upstreams] }}\n\
             gateway: {{ listen: '127.0.0.1:0', upstream: 'http://{service}' }}\n"
        ),
    )
    .unwrap();
    let semel = Semel::start(dir.path(), &["serve"]);
    assert_eq!(semel.get("/readyz").status, 200);
    for _ in 0..2 {
        assert_eq!(semel.post("/payments", "order-1").status, 502);
    }
    let unready = semel.get("/readyz");
    assert_eq!(unready.status, 503, "{}", unready.body);
    let health = ask(&semel, &["health"]);
    assert_eq!(health.status.code(), Some(1));

    // A load balancer sends no more requests; the process finds out by itself.
    let _listener = TcpListener::bind(service).unwrap();
    semel.wait_for("a service is reached again");
    let ready = semel.get("/readyz");
    assert_eq!(ready.status, 200, "{}", ready.body);
}
