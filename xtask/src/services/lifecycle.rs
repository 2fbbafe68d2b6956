//! Decides which server is used, and has it started or stopped. How is up to the runner.
//! Tools are only found or installed, which is [`tool`]'s business.

use std::env;
use std::path::Path;
use std::thread;

use crate::error::{Error, Result};
use crate::output::note;

use super::endpoint::redacted;
use super::registry::{self, Need};
use super::runner::{self, Status};
use super::server::Server;
use super::slot::Slot;
use super::tool;
use super::variable::Variable;

/// Where a server was found before anything was started.
pub(super) enum Found {
    /// The environment names a server that was not started from here.
    Named(String),
    /// The slot has a running server at this address.
    Started(String),
    /// The slot has the remains of a server.
    Broken(String),
    /// There is none.
    Nothing,
}

/// Everything that the tests need: named, shared or, if missing, started in `own`.
pub(crate) fn for_tests(root: &Path, own: &Slot) -> Result<Vec<Variable>> {
    only(&[], root, own)
}

/// The same for what has these names.
pub(crate) fn only(names: &[String], root: &Path, own: &Slot) -> Result<Vec<Variable>> {
    let (variables, failed) = ensure_all(&registry::named(names)?, root, own);
    failed.map_or(Ok(variables), Err)
}

/// Finds, installs and starts things side by side. What succeeded comes in the order of `needs`, and one error tells all that
/// failed.
pub(super) fn ensure_all(
    needs: &[Need],
    root: &Path,
    own: &Slot,
) -> (Vec<Variable>, Option<Error>) {
    let shared = Slot::shared(root);
    let ensure_one = |need: Need| match need {
        Need::Server(server) => ensure(server, &shared, own),
        Need::Tool(tool) => tool::ensure(tool, root),
    };
    let results: Vec<Result<Variable>> = thread::scope(|scope| {
        let ensure_one = &ensure_one;
        let threads = needs
            .iter()
            .map(|need| scope.spawn(move || ensure_one(*need)));
        // All of them have to be spawned before the first is waited for.
        let threads: Vec<_> = threads.collect();
        let ended = threads.into_iter().map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(Error::failed("its thread panicked")))
        });
        ended.collect()
    });
    let mut variables = Vec::new();
    let mut failed = Vec::new();
    for (need, result) in needs.iter().zip(results) {
        match result {
            Ok(variable) => variables.push(variable),
            Err(error) => failed.push(format!("{}: {error}", need.name())),
        }
    }
    let error = (!failed.is_empty()).then(|| Error::failed(failed.join("\n")));
    (variables, error)
}

/// Stops what the test run with this slot started; the shared slot is left alone.
pub(crate) fn stop_run(root: &Path, slot: &str) -> Result<()> {
    let slot = Slot::named(root, slot);
    if slot.is_shared() {
        return Ok(());
    }
    for server in registry::servers() {
        if stop(server, &slot)? {
            note(&format!("{}: stopped", server.name));
        }
    }
    slot.remove();
    Ok(())
}

/// Stops what test runs left behind whose guard was killed as well, and what tests
/// started for themselves and did not stop.
pub(crate) fn stop_abandoned_runs(root: &Path) -> Result<()> {
    let abandoned = Slot::abandoned(root);
    abandoned.iter().try_for_each(|slot| {
        note(&format!("cleaning up after {}", slot.name()));
        stop_run(root, slot.name())
    })
}

/// Finds the server in `shared` or the environment, or starts it in `own`.
fn ensure(server: &Server, shared: &Slot, own: &Slot) -> Result<Variable> {
    let name = server.name;
    let place = own.place(name);
    let _held = own.lock(name)?;
    let value = match find(server, shared) {
        Found::Named(url) => use_named(server, url)?,
        Found::Started(url) => {
            note(&format!("{name}: already running"));
            url
        }
        Found::Broken(why) => {
            note(&format!("{name}: starting afresh, {why}"));
            runner::up(server, &place, &[])?
        }
        Found::Nothing => {
            note(&format!("{name}: starting"));
            runner::up(server, &place, &[])?
        }
    };
    note(&format!("{name}: {}", redacted(&value)));
    Ok(Variable {
        name: server.variable,
        value,
    })
}

/// Stops the server in `slot`; says whether there was anything to stop.
pub(super) fn stop(server: &Server, slot: &Slot) -> Result<bool> {
    let place = slot.place(server.name);
    if !place.exists() {
        return Ok(false);
    }
    let _held = slot.lock(server.name)?;
    runner::down(server, &place)?;
    Ok(true)
}

/// Looks for a server without starting one. What the environment names is meant for
/// all tests, so it never stands for the server of a private slot.
pub(super) fn find(server: &Server, slot: &Slot) -> Found {
    let place = slot.place(server.name);
    let named = env::var(server.variable).ok();
    let named = named.filter(|_| slot.is_shared());
    if let Some(url) = named.filter(|url| !url.is_empty()) {
        // A shell that evaluated our own `export` lines names our own server, and
        // that one may be started again if it is gone.
        if place.address().as_ref() != Some(&url) {
            return Found::Named(url);
        }
    }
    match runner::status(server, &place) {
        Status::Up(url) => Found::Started(url),
        Status::Broken(why) => Found::Broken(why),
        Status::Down => Found::Nothing,
    }
}

fn use_named(server: &Server, url: String) -> Result<String> {
    let Server { name, variable, .. } = server;
    match server.check(&url) {
        Ok(()) => {
            note(&format!("{name}: using the one that {variable} names"));
            Ok(url)
        }
        Err(error) => Err(Error::failed(format!(
            "{variable} names {}, but that server does not answer: {error}\n\
             start it, or unset {variable} and run `cargo xtask services up {name}` \
             to have one started",
            redacted(&url),
        ))),
    }
}
