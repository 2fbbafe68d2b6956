//! The verb `services`: `up`, `down` and `status` on the shared slot.

use std::path::Path;

use crate::error::{Error, Result};
use crate::output::{data, note};

use super::endpoint::redacted;
use super::lifecycle::{self, Found};
use super::registry::{self, Need};
use super::service::Service;
use super::slot::Slot;
use super::tool::{self, Tool};

/// Runs `services <verb> [NAME...]`.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let Some((verb, names)) = args.split_first() else {
        return Err(Error::Usage("`services` needs up, down or status".into()));
    };
    match verb.as_str() {
        "up" => up(root, names),
        "down" => down(root, names),
        "status" => status(root, names),
        unknown => Err(Error::Usage(format!(
            "unknown verb `services {unknown}`, expected up, down or status"
        ))),
    }
}

/// Prints nothing but `export` lines on stdout, so that a shell can evaluate it.
fn up(root: &Path, names: &[String]) -> Result<()> {
    let slot = Slot::shared(root);
    for need in registry::named(names)? {
        let variable = match need {
            Need::Server(service) => lifecycle::ensure(service, &slot, &slot)?,
            Need::Tool(tool) => tool::ensure(tool, root)?,
        };
        let value = quoted(&variable.value);
        data(&format!("export {}={value}", variable.name))?;
    }
    Ok(())
}

fn down(root: &Path, names: &[String]) -> Result<()> {
    for need in registry::named(names)? {
        match need {
            Need::Server(service) => stop(service, &Slot::shared(root))?,
            Need::Tool(tool) => note(&format!("{}: a tool, nothing to stop", tool.name())),
        }
    }
    lifecycle::stop_abandoned_runs(root)
}

fn stop(service: &dyn Service, slot: &Slot) -> Result<()> {
    let name = service.name();
    if lifecycle::stop(service, slot)? {
        note(&format!("{name}: stopped, its data is removed"));
        note(&format!("hint: unset {}", service.variable()));
    } else {
        note(&format!("{name}: nothing to stop"));
    }
    Ok(())
}

fn status(root: &Path, names: &[String]) -> Result<()> {
    for need in registry::named(names)? {
        let (word, detail) = match need {
            Need::Server(service) => server_status(service, &Slot::shared(root)),
            Need::Tool(tool) => tool_status(tool, root),
        };
        data(format!("{:<10} {word:<7} {detail}", need.name()).trim_end())?;
    }
    Ok(())
}

fn server_status(service: &dyn Service, slot: &Slot) -> (&'static str, String) {
    match lifecycle::find(service, slot) {
        Found::Named(url) => named_status(service, &url),
        Found::Started(url) => ("up", redacted(&url)),
        Found::Broken(why) => ("broken", why),
        Found::Nothing => ("down", String::new()),
    }
}

fn tool_status(tool: &dyn Tool, root: &Path) -> (&'static str, String) {
    match tool::find(tool, root) {
        tool::Found::Ready(program) => ("ready", program.display().to_string()),
        tool::Found::Nothing => ("missing", String::new()),
        tool::Found::Named(program) => {
            let named = format!("{} (named by {})", program.display(), tool.variable());
            match tool.works(&program) {
                Ok(()) => ("ready", named),
                Err(error) => ("broken", format!("{named}: {error}")),
            }
        }
    }
}

fn named_status(service: &dyn Service, url: &str) -> (&'static str, String) {
    let named = format!("{} (named by {})", redacted(url), service.variable());
    match service.answers(url) {
        Ok(()) => ("up", named),
        Err(error) => ("away", format!("{named}: {error}")),
    }
}

/// Quotes a value for a POSIX shell if it has to be.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_misread_is_quoted() {
        let table = [
            (
                "postgres://u:p@127.0.0.1:1/d",
                "postgres://u:p@127.0.0.1:1/d",
            ),
            ("postgres://h/d?a=1&b=2", "'postgres://h/d?a=1&b=2'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ];
        for (value, expected) in table {
            assert_eq!(quoted(value), expected);
        }
    }
}
