//! The demo, shortened: nothing is damaged with Semel, and without it both kinds of damage show. Behind its dashboard everything shows that operators meet.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// Runs the demo; its last line is one object.
fn demo(options: &[&str]) -> Value {
    let ran = Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(["demo", "--json"])
        .args(options)
        .output()
        .expect("the demo runs");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let stdout = String::from_utf8(ran.stdout).expect("text");
    let last = stdout.lines().last().expect("a last line");
    serde_json::from_str(last).expect("one object")
}

fn count(outcome: &Value, name: &str) -> u64 {
    outcome[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} in {outcome}"))
}

#[test]
fn with_semel_every_payment_is_made_exactly_once() {
    let outcome = demo(&["--kills", "8"]);
    assert_eq!(count(&outcome, "double_effects"), 0, "{outcome}");
    assert_eq!(count(&outcome, "lost_effects"), 0, "{outcome}");
    assert_eq!(count(&outcome, "unresolved"), 0, "{outcome}");
    assert_eq!(count(&outcome, "kills"), 8);
    assert_eq!(count(&outcome, "effects"), count(&outcome, "distinct"));
    assert!(
        count(&outcome, "requests") > count(&outcome, "distinct"),
        "{outcome}"
    );
    assert!(count(&outcome, "replayed") > 0, "{outcome}");
}

#[test]
fn without_semel_payments_are_made_twice_and_lost() {
    let outcome = demo(&["--unguarded", "--kills", "8"]);
    assert!(count(&outcome, "double_effects") > 0, "{outcome}");
    assert!(count(&outcome, "lost_effects") > 0, "{outcome}");
}

/// How often the demo is asked until it shows something, and how long after one another; a machine that compiles beside it is slow.
const ASK_MAX: u32 = 1_800;
const ASK_EVERY: Duration = Duration::from_millis(50);

/// The demo behind its dashboard; killed with the test.
struct Served {
    child: Child,
    dashboard: SocketAddr,
    token: Option<&'static str>,
    file: PathBuf,
}

/// One demo starts after the other: two that look for the usual ports at the same moment both find them free.
static STARTS: Mutex<()> = Mutex::new(());

impl Served {
    fn start(token: Option<&'static str>) -> Self {
        let _alone = STARTS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut child = Command::new(env!("CARGO_BIN_EXE_semel"))
            .args(["demo", "--serve", "--seed", "7", "--admin", "127.0.0.1:0"])
            .env_remove("SEMEL_ADMIN_TOKEN")
            .envs(token.map(|token| ("SEMEL_ADMIN_TOKEN", token)))
            // Neither is for the demo, which has a store and a file of its own.
            .env("SEMEL_STORE", "redis://127.0.0.1:1")
            .env("SEMEL_GATEWAY__UPSTREAM", "http://127.0.0.1:1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let said: Vec<String> = stdout.lines().take(11).map(Result::unwrap).collect();
        let dashboard = said[0].strip_prefix("dashboard  http://").unwrap();
        let dashboard = dashboard.trim_end_matches('/').parse().unwrap();
        let file = said.last().unwrap().split_once("--config ").unwrap().1;
        Self {
            child,
            dashboard,
            token,
            file: file.into(),
        }
    }

    /// What the admin side answers.
    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.dashboard).unwrap();
        let token = self.token.map_or_else(String::new, |token| {
            format!("Authorization: Bearer {token}\r\n")
        });
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{token}Connection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
        body.to_owned()
    }

    fn directory(&self) -> &Path {
        self.file.parent().unwrap()
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill")
            .args(["-s", name, &self.child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
    }

    /// How it ended, which it does soon.
    fn ended(&mut self) -> ExitStatus {
        for _ in 0..ASK_MAX {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            thread::sleep(ASK_EVERY);
        }
        panic!("the demo goes on");
    }

    /// Asks until the answer is as wanted.
    fn shows(&self, path: &str, wanted: impl Fn(&Value) -> bool) {
        let read = |body: String| serde_json::from_str(&body).unwrap_or(Value::String(body));
        let mut found = Value::Null;
        for _ in 0..ASK_MAX {
            found = read(self.get(path));
            if wanted(&found) {
                return;
            }
            thread::sleep(ASK_EVERY);
        }
        panic!("{path} is still {found:#}");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The list under `name`.
fn list<'a>(found: &'a Value, name: &str) -> &'a [Value] {
    found[name].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn behind_its_dashboard_the_demo_shows_all_that_operators_meet() {
    let mut demo = Served::start(None);
    demo.shows("/readyz", |found| found["ready"] == true);
    let requests = |wanted: &'static str| {
        demo.shows("/metrics", move |found| {
            found.as_str().is_some_and(|text| text.contains(wanted))
        });
    };
    requests("outcome=\"replayed\"");
    requests("outcome=\"key-reused\"");
    requests("outcome=\"upstream-failed\"");
    requests("semel_inbox_circuit{consumer=\"search-index@1\"} 2");
    requests("semel_inbox_circuit{consumer=\"search-index@1\"} 0");
    demo.shows("/api/v1/records?state=unknown", |found| {
        !list(found, "records").is_empty()
    });
    demo.shows("/api/v1/records", |found| {
        let records = list(found, "records").iter();
        let tenants: BTreeSet<_> = records.filter_map(|one| one["tenant"].as_str()).collect();
        tenants.len() >= 3
    });
    demo.shows("/api/v1/observations", |found| {
        let mut routes = list(found, "routes").iter();
        routes.any(|route| route["duplicate"].as_u64() > Some(0))
    });
    demo.shows(
        "/api/v1/inbox?state=PARKED,FAILED_TERMINAL&limit=1000",
        |found| {
            let causes: BTreeSet<_> = list(found, "messages")
                .iter()
                .filter_map(|message| message["cause"].as_str())
                .collect();
            let wanted = [
                "attempts-exhausted",
                "behind-failed",
                "conflict",
                "gap",
                "terminal",
                "unknown",
            ];
            wanted.iter().all(|cause| causes.contains(cause))
        },
    );
    demo.shows("/api/v1/inbox/gaps?consumer=stock-levels", |found| {
        !list(found, "gaps").is_empty()
    });
    demo.shows("/api/v1/inbox/counts", |found| {
        let consumers = list(found, "consumers");
        let named = |name: &str| consumers.iter().find(|one| one["consumer"] == name);
        let paused = named("loyalty-points@1")
            .is_some_and(|one| !one["paused"].is_null() && one["received"].as_u64() > Some(0));
        paused && named("intent:mail@1").is_some()
    });
    demo.shows("/api/v1/audit", |found| {
        list(found, "audit")
            .iter()
            .any(|line| line["by"] == "no-token:ada")
    });
    assert!(demo.file.exists(), "{}", demo.file.display());
    demo.signal("INT");
    assert!(demo.ended().success());
    assert!(!demo.directory().exists());
}

#[test]
fn the_dashboard_of_the_demo_wants_the_token_of_the_environment() {
    let demo = Served::start(Some("a-token-that-is-long-enough"));
    demo.shows("/readyz", |found| found["ready"] == true);
    demo.shows("/api/v1/stats", |found| found["settled"].as_u64() > Some(0));
    let anonymous = Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(["top", "--json", "--admin", &demo.dashboard.to_string()])
        .env_remove("SEMEL_ADMIN_TOKEN")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&anonymous.stderr);
    assert!(stderr.contains("refuses the token"), "{stderr}");
}

#[test]
fn the_directory_of_the_demo_is_its_own_and_goes_with_its_terminal() {
    let mut demo = Served::start(None);
    let mode = demo.directory().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let name = demo.directory().file_name().unwrap().to_str().unwrap();
    assert_ne!(name, format!("semel-demo-{}", demo.child.id()));
    demo.signal("HUP");
    assert!(demo.ended().success());
    assert!(!demo.directory().exists());
}

#[test]
fn a_demo_that_is_interrupted_again_and_again_leaves_nothing_behind() {
    let mut demo = Served::start(None);
    for _ in 0..ASK_MAX {
        if demo.child.try_wait().unwrap().is_some() {
            break;
        }
        demo.signal("INT");
        thread::sleep(Duration::from_millis(5));
    }
    demo.ended();
    assert!(!demo.directory().exists());
}
