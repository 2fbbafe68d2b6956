//! The processes of a server: whether they live, and how they are ended.
//!
//! No process numbers are written down: a number may have been given to another process since. A server's process is one
//! of its programs that works in its directory, which belongs to the server alone.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::error::{Error, Result};

use super::wait;

/// The kernel ends a process at once, unless a disk or a debugger holds it.
const END_WAIT: Duration = Duration::from_secs(30);

/// A process and the one that started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: u32,
    parent: u32,
}

/// Whether a process has this number. One that ended but was not collected yet has an empty command line.
pub(super) fn lives(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// Every process of one of the `programs`, which have spaces between, that works in `dir` or below. Children of a server that was killed are found too, a
/// person's shell is not.
pub(super) fn working_in(dir: &Path, programs: &str) -> Vec<Process> {
    let Ok(dir) = dir.canonicalize() else {
        return Vec::new();
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut found: Vec<Process> = processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|id| is_at_work(*id, &dir, programs))
        .filter_map(|id| {
            Some(Process {
                id,
                parent: parent(id)?,
            })
        })
        .collect();
    found.sort_by_key(|process| process.id);
    found
}

/// Those that none of the others started.
pub(super) fn first_ones(all: &[Process]) -> Vec<u32> {
    let is_child = |process: &Process| all.iter().any(|other| other.id == process.parent);
    let first = all.iter().filter(|process| !is_child(process));
    first.map(|process| process.id).collect()
}

/// Sends a signal such as `TERM` to processes; those that ended meanwhile are fine.
pub(super) fn signal(name: &str, pids: &[u32]) {
    for pid in pids {
        // The shell's built-in is used because the `kill` program is not everywhere.
        let _ = Command::new("sh")
            .args(["-c", &format!("kill -s {name} {pid}")])
            .stderr(Stdio::null())
            .status();
    }
}

/// Waits until no process of `programs` works in `dir`.
pub(super) fn await_end(dir: &Path, programs: &str, bound: Duration) -> Result<()> {
    wait::until(bound, || match working_in(dir, programs).first() {
        Some(Process { id, .. }) => Err(Error::failed(format!("process {id} does not end"))),
        None => Ok(()),
    })
}

/// Ends the processes of `programs` in `dir` for good, stopped ones too, and waits until they are gone.
pub(super) fn kill(dir: &Path, programs: &str) -> Result<()> {
    let pids: Vec<u32> = working_in(dir, programs)
        .iter()
        .map(|process| process.id)
        .collect();
    signal("KILL", &pids);
    await_end(dir, programs, END_WAIT)
}

fn is_at_work(id: u32, dir: &Path, programs: &str) -> bool {
    let works_here = fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir));
    works_here
        && fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|program| {
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            // This is how a program is named that an upgrade has replaced.
            let name = name.trim_end_matches(" (deleted)");
            programs.split(' ').any(|program| program == name)
        })
}

/// The fourth word of `12 (a name) S 1 …`; the name may hold anything.
fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_process_is_found_by_its_directory_and_ended() {
        let dir = std::env::temp_dir().join(format!("semel-live-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let mut sleeper = Command::new("sleep");
        let mut sleeper = sleeper.arg("600").current_dir(&dir).spawn().unwrap();
        let (id, parent) = (sleeper.id(), std::process::id());
        let found = || working_in(&dir, "sleep");
        wait::until(END_WAIT, || match found().len() {
            1 => Ok(()),
            _ => Err(Error::failed("not started yet")),
        })
        .unwrap();
        signal("STOP", &[id]);
        assert!(lives(id));
        assert_eq!(found(), [Process { id, parent }]);
        assert!(working_in(&dir, "sh").is_empty());
        kill(&dir, "sleep").unwrap();
        assert!(!lives(id));
        sleeper.wait().unwrap();
        fs::remove_dir(&dir).unwrap();
    }

    #[test]
    fn a_child_is_not_among_the_first_ones() {
        let all = [(7, 1), (9, 7), (12, 9), (13, 2)].map(|(id, parent)| Process { id, parent });
        assert_eq!(first_ones(&all), [7, 13]);
    }
}
