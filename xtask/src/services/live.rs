//! The processes of a server: whether they live, and how they are ended.
//!
//! A process is only ever signalled when it is known to be the server's: a number that
//! was written down may have been given to somebody else since.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::error::{Error, Result};

use super::wait;

/// The kernel ends a process at once, unless a disk or a debugger holds it.
const END_WAIT: Duration = Duration::from_secs(30);

/// Whether a process has this number. Without `/proc` nothing can be said, and what may
/// be alive must not be disturbed.
pub(super) fn lives(pid: u32) -> bool {
    let command_line = fs::read(format!("/proc/{pid}/cmdline"));
    // A process that ended but was not collected yet has an empty command line.
    !knows_processes() || command_line.is_ok_and(|line| !line.is_empty())
}

/// The process whose number is the first line of `pid_file`, if it is alive and has
/// `argument` on its command line.
pub(super) fn named_by(pid_file: &Path, argument: &Path) -> Option<u32> {
    let pid_file = fs::read_to_string(pid_file).ok()?;
    let pid: u32 = pid_file.lines().next()?.trim().parse().ok()?;
    if !knows_processes() {
        return Some(pid);
    }
    let command_line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut args = command_line.split(|byte| *byte == 0);
    args.any(|arg| arg == argument.as_os_str().as_encoded_bytes())
        .then_some(pid)
}

/// Every process of `program` that works in `dir`, which belongs to the server alone.
/// Children of a server that was killed are found too, a person's shell is not.
pub(super) fn working_in(dir: &Path, program: &Path) -> Vec<u32> {
    let (Ok(dir), Ok(program)) = (dir.canonicalize(), program.canonicalize()) else {
        return Vec::new();
    };
    let leads = |pid: u32, link: &str, to: &Path| {
        fs::read_link(format!("/proc/{pid}/{link}")).is_ok_and(|found| found == to)
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| leads(*pid, "cwd", &dir) && leads(*pid, "exe", &program))
        .collect()
}

/// Lets stopped processes go on, so that they can end when they are asked to.
pub(super) fn resume(pids: &[u32]) {
    signal("CONT", pids);
}

/// Ends processes for good, stopped ones too, and waits until they are gone.
pub(super) fn kill(pids: &[u32]) -> Result<()> {
    signal("KILL", pids);
    if !knows_processes() {
        return Ok(());
    }
    wait::until(END_WAIT, || {
        match pids.iter().copied().find(|pid| lives(*pid)) {
            Some(pid) => Err(Error::failed(format!("process {pid} does not end"))),
            None => Ok(()),
        }
    })
}

fn knows_processes() -> bool {
    Path::new("/proc/self").exists()
}

fn signal(name: &str, pids: &[u32]) {
    for pid in pids {
        // The shell's built-in is used because the `kill` program is not everywhere.
        // A process that has ended meanwhile is fine, so the result is of no interest.
        let _ = Command::new("sh")
            .args(["-c", &format!("kill -s {name} {pid}")])
            .stderr(Stdio::null())
            .status();
    }
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
        let pid = sleeper.id();
        signal("STOP", &[pid]);
        assert!(lives(pid));
        let program = crate::services::program::find("sleep").unwrap();
        assert_eq!(working_in(&dir, &program), [pid]);
        assert!(working_in(&dir, Path::new("/bin/sh")).is_empty());
        kill(&[pid]).unwrap();
        assert!(!lives(pid));
        sleeper.wait().unwrap();
        fs::remove_dir(&dir).unwrap();
    }

    #[test]
    fn a_number_is_believed_only_with_the_argument() {
        let file = std::env::temp_dir().join(format!("semel-pid-{}", std::process::id()));
        let own = std::process::id();
        fs::write(&file, format!("{own}\nmore\n")).unwrap();
        let own_program = std::env::args().next().unwrap();
        assert_eq!(named_by(&file, Path::new(&own_program)), Some(own));
        assert_eq!(named_by(&file, Path::new("/nowhere/else")), None);
        fs::remove_file(&file).unwrap();
        assert_eq!(named_by(&file, Path::new(&own_program)), None);
    }
}
