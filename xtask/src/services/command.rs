//! The verb `services`: `up`, `down` and `status` on the shared slot or a private one,
//! and `restart` on a private one.

use std::path::Path;

use crate::error::{Error, Result};
use crate::output::{data, note};

use super::endpoint::redacted;
use super::lifecycle::{self, Found};
use super::options::Options;
use super::private;
use super::registry::{self, Need};
use super::server::Server;
use super::slot::Slot;
use super::tool::{self, Tool};
use super::variable::Variable;

const VERBS: &str = "up, restart, down or status";

/// Runs `services <verb> [NAME...] [--slot SLOT] [--set NAME=VALUE]...`.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let Some((verb, args)) = args.split_first() else {
        return Err(Error::Usage(format!("`services` needs {VERBS}")));
    };
    let options = Options::parse(args)?;
    match verb.as_str() {
        "up" => up(root, &options),
        "restart" => restart(root, &options.without_settings()?),
        "down" => down(root, &options.without_settings()?),
        "status" => status(root, &options.without_settings()?),
        unknown => Err(Error::Usage(format!(
            "unknown verb `services {unknown}`, expected {VERBS}"
        ))),
    }
}

/// Prints nothing but `export` lines on stdout, so that a shell can evaluate it.
fn up(root: &Path, options: &Options) -> Result<()> {
    if let Some(slot) = private_slot(root, options)? {
        let server = one_server(options)?;
        return export(&private::up(server, &slot, &options.settings)?);
    }
    let slot = Slot::shared(root);
    let (variables, failed) = lifecycle::ensure_all(&registry::named(&options.names)?, root, &slot);
    export(&variables)?;
    failed.map_or(Ok(()), Err)
}

/// Only for private slots: everybody's servers are not for one person to end.
fn restart(root: &Path, options: &Options) -> Result<()> {
    let slot = private_slot(root, options)?;
    let slot = slot.ok_or_else(|| Error::Usage("`services restart` needs `--slot`".into()))?;
    export(&private::restart(one_server(options)?, &slot)?)
}

fn down(root: &Path, options: &Options) -> Result<()> {
    let slot = private_slot(root, options)?;
    let slot = slot.unwrap_or_else(|| Slot::shared(root));
    for need in registry::named(&options.names)? {
        match need {
            Need::Server(server) => stop(server, &slot)?,
            Need::Tool(_) if !slot.is_shared() => {}
            Need::Tool(tool) => note(&format!("{}: a tool, nothing to stop", tool.name)),
        }
    }
    if slot.is_shared() {
        return lifecycle::stop_abandoned_runs(root);
    }
    slot.remove();
    Ok(())
}

fn private_slot(root: &Path, options: &Options) -> Result<Option<Slot>> {
    let name = options.slot.as_ref();
    name.map(|name| Slot::private(root, name)).transpose()
}

/// The variables of a private slot's server do not tell which server they are about.
fn one_server(options: &Options) -> Result<&'static Server> {
    match registry::named(&options.names)?.as_slice() {
        [Need::Server(server)] => Ok(*server),
        _ => Err(Error::Usage("`--slot` needs the name of one server".into())),
    }
}

fn export(variables: &[Variable]) -> Result<()> {
    variables.iter().try_for_each(|variable| {
        let value = quoted(&variable.value);
        data(&format!("export {}={value}", variable.name))
    })
}

fn stop(server: &Server, slot: &Slot) -> Result<()> {
    let name = server.name;
    if lifecycle::stop(server, slot)? {
        note(&format!("{name}: stopped, its data is removed"));
        if slot.is_shared() {
            note(&format!("hint: unset {}", server.variable));
        }
    } else {
        note(&format!("{name}: nothing to stop"));
    }
    Ok(())
}

fn status(root: &Path, options: &Options) -> Result<()> {
    let slot = private_slot(root, options)?;
    let slot = slot.unwrap_or_else(|| Slot::shared(root));
    for need in registry::named(&options.names)? {
        let (word, detail) = match need {
            Need::Server(server) => server_status(server, &slot),
            Need::Tool(_) if !slot.is_shared() => continue,
            Need::Tool(tool) => tool_status(tool, root),
        };
        data(format!("{:<13} {word:<7} {detail}", need.name()).trim_end())?;
    }
    Ok(())
}

fn server_status(server: &Server, slot: &Slot) -> (&'static str, String) {
    match lifecycle::find(server, slot) {
        Found::Named(url) => named_status(server, &url),
        Found::Started(url) => ("up", redacted(&url)),
        Found::Broken(why) => ("broken", why),
        Found::Nothing => ("down", String::new()),
    }
}

fn tool_status(tool: &Tool, root: &Path) -> (&'static str, String) {
    match tool::find(tool, root) {
        tool::Found::Ready(program) => ("ready", program.display().to_string()),
        tool::Found::Nothing => ("missing", String::new()),
        tool::Found::Named(program) => {
            let named = format!("{} (named by {})", program.display(), tool.variable);
            match tool.check(&program) {
                Ok(()) => ("ready", named),
                Err(error) => ("broken", format!("{named}: {error}")),
            }
        }
    }
}

fn named_status(server: &Server, url: &str) -> (&'static str, String) {
    let named = format!("{} (named by {})", redacted(url), server.variable);
    match server.check(url) {
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
