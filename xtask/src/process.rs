//! Runs helper programs whose output matters only when they fail.

use std::process::{Command, Output};

use crate::error::{Error, Result};

/// Runs a command to its end and returns what it wrote to stdout.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(Error::when(&format!("run {program}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let status = output.status;
    let said = said(&output);
    Err(Error::failed(format!(
        "{program} ended with {status}: {said}"
    )))
}

/// The last `lines` lines of a text.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

fn said(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    tail(format!("{stdout}\n{stderr}").trim(), 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_at_most_the_whole_text() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a\n", 2), "a");
        assert_eq!(tail("", 2), "");
    }

    #[test]
    fn a_failing_command_is_quoted_in_the_error() {
        let mut command = Command::new("sh");
        let error = output(command.args(["-c", "echo sorry >&2; exit 3"])).unwrap_err();
        assert!(matches!(error, Error::Failed(why) if why.ends_with("exit status: 3: sorry")));
    }
}
