//! A server whose tool is a script: two processes, one the child of the other.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::*;

/// Writes down how it is called. The server is a shell that has started another one; it is named by a
/// file, and ended by `down`.
const SCRIPT: &str = r#"#!/bin/sh
home=$(dirname "$0")
echo "$@" >> "$home/calls"
begin() {
    sh -c 'sleep 60 & wait' > /dev/null 2>&1 < /dev/null &
    echo $! > "$home/pid"
    echo "export SEMEL_SERVER_PIDS=$(cat "$home/pid")"
}
case "$2" in
    up) begin
        echo "export SEMEL_TEST_REDIS_URL='redis://:a&b@127.0.0.1:1'"
        echo "export SEMEL_SERVER_HOME=$home" ;;
    restart) begin ;;
    down) echo "stopped" >&2 ;;
esac
"#;

fn script() -> (Tool, PathBuf) {
    let unique = crate::random::fresh_seed();
    let home = std::env::temp_dir().join(format!("semel-server-{unique:016x}"));
    fs::create_dir_all(&home).unwrap();
    let path = home.join("tool");
    fs::write(&path, SCRIPT).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    (Tool::at(path), home)
}

/// The state letters of the server and its children, as the kernel has them.
fn states(pids: &[u32]) -> Vec<String> {
    let all = processes::with_descendants(pids);
    let stat = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let letter = |stat: String| stat.rsplit(')').next().unwrap().trim()[..1].to_owned();
    all.iter().map(stat).map(letter).collect()
}

/// The child is there a moment after its parent.
fn await_child(pids: &[u32]) {
    while processes::with_descendants(pids).len() < 2 {
        std::thread::yield_now();
    }
}

fn calls(home: &Path) -> Vec<String> {
    let text = fs::read_to_string(home.join("calls")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_server_is_paused_killed_restarted_and_removed_with_its_children() {
    let (tool, home) = script();
    let server = Server::start_by(tool, "redis", &["maxmemory=1mb", "appendonly=no"]);
    let (slot, pids) = (server.slot.clone(), server.pids());
    assert_eq!(server.url(), "redis://:a&b@127.0.0.1:1");
    assert_eq!(server.home(), home);

    await_child(&pids);
    server.pause();
    assert_eq!(states(&pids), ["T", "T"]);
    server.resume();
    assert!(!states(&pids).contains(&"T".to_owned()));

    server.kill();
    assert!(states(&pids).is_empty());
    server.restart();
    let restarted = server.pids();
    assert_ne!(restarted, pids);
    await_child(&restarted);
    server.kill();
    drop(server);
    assert_eq!(
        calls(&home),
        [
            format!("services up redis --slot {slot} --set maxmemory=1mb --set appendonly=no"),
            format!("services restart redis --slot {slot}"),
            format!("services down redis --slot {slot}"),
        ]
    );
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn a_tool_that_fails_is_quoted() {
    let failed = std::panic::catch_unwind(|| {
        Tool::at("/bin/false".into()).services(&["up", "redis"]);
    });
    let words = failed.unwrap_err().downcast::<String>().unwrap();
    assert!(words.starts_with("expected `services up redis` to succeed, found exit status: 1"));
}

#[test]
fn descendants_of_descendants_are_found() {
    let mut shell = Command::new("sh")
        .args(["-c", "sh -c 'sleep 60 & echo started; wait' & wait"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(shell.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert_eq!(processes::with_descendants(&[shell.id()]).len(), 3);
    processes::kill(&[shell.id()]);
    shell.wait().unwrap();
}
