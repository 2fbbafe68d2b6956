//! Signals to a server's processes and to all that they have started.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// How often, and with what pause, it is looked whether a signal has done its work.
const LOOKS_MAX: usize = 1_000;
const LOOK_EVERY: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy)]
pub(super) enum Signal {
    Stop,
    Continue,
    Kill,
}

/// A line of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    /// Ended, and not yet collected by its parent.
    ended: bool,
    /// Stopped by a signal.
    stopped: bool,
}

/// Stops everything: the parents first, so that nobody starts anything while the rest is stopped.
pub(super) fn freeze(pids: &[u32]) -> BTreeSet<u32> {
    let mut frozen = pids.iter().copied().collect();
    send(Signal::Stop, &frozen);
    loop {
        // A signal takes a moment to arrive, and until then its receiver may start something.
        await_all(&frozen, |process| process.stopped || process.ended);
        let all = with_descendants(pids);
        let fresh: BTreeSet<u32> = all.difference(&frozen).copied().collect();
        if fresh.is_empty() {
            return frozen;
        }
        send(Signal::Stop, &fresh);
        frozen.extend(fresh);
    }
}

/// Kills everything and waits until it is gone. Frozen first: once a parent is dead, nobody can tell
/// which processes were its children.
pub(super) fn kill(pids: &[u32]) {
    let all = freeze(pids);
    send(Signal::Kill, &all);
    await_all(&all, |process| process.ended);
}

/// Waits until each of these is as wanted, or gone altogether.
fn await_all(pids: &BTreeSet<u32>, wanted: impl Fn(&Process) -> bool) {
    let mut table = table();
    for _ in 0..LOOKS_MAX {
        table.retain(|process| pids.contains(&process.pid) && !wanted(process));
        if table.is_empty() {
            return;
        }
        sleep(LOOK_EVERY);
        table = self::table();
    }
    panic!("expected processes to obey a signal, found {table:?}");
}

/// The processes among `pids` that run, and all that descend from them.
pub(super) fn with_descendants(pids: &[u32]) -> BTreeSet<u32> {
    let table = table();
    let running = table.iter().filter(|p| !p.ended && pids.contains(&p.pid));
    let mut found: BTreeSet<u32> = running.map(|p| p.pid).collect();
    loop {
        let is_new =
            |p: &&Process| !p.ended && found.contains(&p.parent) && !found.contains(&p.pid);
        let fresh: Vec<u32> = table.iter().filter(is_new).map(|p| p.pid).collect();
        if fresh.is_empty() {
            return found;
        }
        found.extend(fresh);
    }
}

/// Sends a signal; a process that has just ended needs none.
pub(super) fn send(signal: Signal, pids: &BTreeSet<u32>) {
    let name = match signal {
        Signal::Stop => "STOP",
        Signal::Continue => "CONT",
        Signal::Kill => "KILL",
    };
    for pid in pids {
        // The shell's own `kill`: not every machine has a program of that name.
        let sent = Command::new("sh")
            .args(["-c", "kill -s \"$0\" \"$1\" 2>&1", name, &pid.to_string()])
            .output()
            .expect("a shell runs");
        let gone = || !table().iter().any(|p| p.pid == *pid && !p.ended);
        assert!(
            sent.status.success() || gone(),
            "expected to signal process {pid}, found {}",
            String::from_utf8_lossy(&sent.stdout).trim()
        );
    }
}

/// Every process that may be seen.
fn table() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc/self").and_then(|_| fs::read_dir("/proc")) else {
        return table_of_ps();
    };
    let stats = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
    });
    // A process that ends meanwhile is not in the table.
    stats
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .filter_map(|stat| process_of_stat(&stat))
        .collect()
}

/// For systems without `/proc`.
fn table_of_ps() -> Vec<Process> {
    let output = Command::new("ps")
        .args(["-A", "-o", "pid=,ppid=,stat="])
        .output()
        .expect("ps runs where there is no /proc");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(process_of_ps).collect()
}

fn process_of_ps(line: &str) -> Option<Process> {
    let mut words = line.split_whitespace();
    let (pid, parent) = (words.next()?, words.next()?);
    process(pid, parent, words.next()?)
}

/// `pid (name) state parent …`; the name may hold anything, so the last bracket counts.
fn process_of_stat(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(' ')?;
    let (_, rest) = rest.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let state = words.next()?;
    process(pid, words.next()?, state)
}

fn process(pid: &str, parent: &str, state: &str) -> Option<Process> {
    Some(Process {
        pid: pid.parse().ok()?,
        parent: parent.parse().ok()?,
        ended: state.starts_with(['Z', 'X']),
        stopped: state.starts_with('T'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_process_table_are_read() {
        let running = Process {
            pid: 7,
            parent: 3,
            ended: false,
            stopped: false,
        };
        let stopped = Process {
            stopped: true,
            ..running
        };
        let ended = Process {
            ended: true,
            ..running
        };
        assert_eq!(process_of_stat("7 (a) b) S 3 1 1"), Some(running));
        assert_eq!(process_of_stat("7 (postgres: x) Z 3 1"), Some(ended));
        assert_eq!(process_of_ps("  7   3 Ss"), Some(running));
        assert_eq!(process_of_ps("7 3 Z+"), Some(ended));
        assert_eq!(process_of_stat("7 (a) T 3 1"), Some(stopped));
        assert_eq!(process_of_stat(""), None);
    }
}
