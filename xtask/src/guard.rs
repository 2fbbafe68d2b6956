//! Makes sure that nothing outlives a test run, however the run ends.
//!
//! A run starts a second process of this binary, the guard, and holds the write
//! end of its stdin: the lifeline. When the lifeline closes, because the run
//! finished, was interrupted or was killed, the guard stops the step that was still
//! running and the services of the run. The kernel closes the lifeline in every
//! case, so no signal handler is needed, and a handler would be of no use against
//! SIGKILL anyway.
//!
//! The guard and each step live in process groups of their own: Ctrl-C reaches the
//! run alone, and the guard can end a step together with all its children.

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::output::note;
use crate::services::{self, Slot};

/// The hidden verb under which the guard process runs.
pub(crate) const VERB: &str = "__guard";

/// What the run writes to the lifeline when no step is running.
const IDLE: &str = "idle";

const POLL: Duration = Duration::from_millis(20);

/// The run's handle on its guard process.
pub(crate) struct Guard {
    process: Child,
    /// Present until the guard is told to clean up.
    lifeline: Option<ChildStdin>,
}

impl Guard {
    /// Starts a guard that will stop the services of `slot`, unless it is shared.
    pub(crate) fn start(slot: &Slot) -> Result<Self> {
        let program = std::env::current_exe().map_err(Error::when("find this program"))?;
        let mut process = Command::new(program)
            .args([VERB, slot.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(Error::when("start the guard process"))?;
        let lifeline = process.stdin.take();
        Ok(Self { process, lifeline })
    }

    /// Runs a step's command to its end, showing its output live.
    pub(crate) fn run(&mut self, command: Command) -> Result<()> {
        self.run_unless(command, &AtomicBool::new(false))
    }

    /// The same, but the command is ended once `is_pointless` is set, and killed if it is set again.
    pub(crate) fn run_unless(
        &mut self,
        mut command: Command,
        is_pointless: &AtomicBool,
    ) -> Result<()> {
        let shown = describe(&command);
        let mut child = command
            // A background process group that reads the terminal would be stopped.
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(Error::when(&format!("start `{shown}`")))?;
        self.tell(&child.id().to_string());
        let mut signals = ["TERM", "KILL"].into_iter();
        let ended = loop {
            let ended = child.try_wait().map_err(Error::when("wait for the step"))?;
            if let Some(status) = ended {
                break status;
            }
            if is_pointless.swap(false, Ordering::Relaxed) {
                signal_group(child.id(), signals.next().unwrap_or("KILL"));
            }
            thread::sleep(POLL);
        };
        self.tell(IDLE);
        if ended.success() {
            Ok(())
        } else {
            Err(Error::failed(format!("`{shown}` ended with {ended}")))
        }
    }

    /// Lets the guard clean up and waits until it has.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.release()
    }

    fn tell(&mut self, line: &str) {
        if let Some(lifeline) = &mut self.lifeline {
            // A guard that died cannot be told; `finish` reports that it did.
            let _ = writeln!(lifeline, "{line}");
        }
    }

    fn release(&mut self) -> Result<()> {
        drop(self.lifeline.take());
        let status = self.process.wait().map_err(Error::when("wait for guard"))?;
        if status.success() {
            Ok(())
        } else {
            Err(Error::failed(format!("the guard ended with {status}")))
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // After `finish` this only collects the same status again.
        let _ = self.release();
    }
}

/// The guard process: waits for the lifeline to close, then cleans up.
pub(crate) fn watch(root: &Path, args: &[String]) -> Result<()> {
    let [slot] = args else {
        return Err(Error::Usage(format!("`{VERB}` is for internal use")));
    };
    if let Some(step) = last_step(io::stdin().lock()) {
        note("interrupted: stopping the running step");
        signal_group(step, "TERM");
    }
    services::stop_run(root, slot)?;
    // Tests start servers of their own, and a test that fails may not stop them.
    services::stop_abandoned_runs(root)
}

/// Reads the lifeline to its end; a step is left over only if the run died in it.
fn last_step(lifeline: impl BufRead) -> Option<u32> {
    let last = lifeline.lines().map_while(io::Result::ok).last()?;
    last.parse().ok()
}

fn signal_group(id: u32, signal: &str) {
    // The shell's built-in is used because the `kill` program is not everywhere.
    // A group that has ended meanwhile is fine, so the result is of no interest.
    let _ = Command::new("sh")
        .args(["-c", &format!("kill -s {signal} -- -{id}")])
        .stderr(Stdio::null())
        .status();
}

fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or_default().to_string_lossy()];
    words.extend(command.get_args().map(|arg| arg.to_string_lossy()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_left_over_only_when_the_lifeline_ends_in_its_id() {
        let table = [
            ("", None),
            ("idle\n", None),
            ("12\nidle\n", None),
            ("12\nidle\n34\n", Some(34)),
        ];
        for (lifeline, expected) in table {
            assert_eq!(last_step(lifeline.as_bytes()), expected, "{lifeline:?}");
        }
    }

    #[test]
    fn a_command_that_became_pointless_is_ended() {
        let mut guard = Guard::start(&Slot::of_this_run(Path::new("/nowhere"))).unwrap();
        let mut sleep = Command::new("sleep");
        sleep.arg("600");
        let ended = guard.run_unless(sleep, &AtomicBool::new(true));
        let expected = "`sleep 600` ended with signal: 15 (SIGTERM)";
        assert_eq!(ended.unwrap_err().to_string(), expected);
    }
}
