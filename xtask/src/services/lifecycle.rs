//! Decides which server is used, and starts or stops it. How is up to the service.
//! Tools are only found or installed, which is [`tool`]'s business.

use std::env;
use std::path::Path;

use crate::error::{Error, Result};
use crate::output::note;

use super::endpoint::redacted;
use super::registry::{self, Need};
use super::service::{Service, Status};
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
    let shared = Slot::shared(root);
    let needs = registry::all().into_iter();
    needs
        .map(|need| match need {
            Need::Server(service) => ensure(service, &shared, own),
            Need::Tool(tool) => tool::ensure(tool, root),
        })
        .collect()
}

/// Stops what the test run with this slot started; the shared slot is left alone.
pub(crate) fn stop_run(root: &Path, slot: &str) -> Result<()> {
    let slot = Slot::named(root, slot);
    if slot.is_shared() {
        return Ok(());
    }
    for service in registry::servers() {
        if stop(service, &slot)? {
            note(&format!("{}: stopped", service.name()));
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

/// Finds the service's server in `shared` or the environment, or starts it in `own`.
pub(super) fn ensure(service: &dyn Service, shared: &Slot, own: &Slot) -> Result<Variable> {
    let place = own.place(service.name());
    let _lock = own.lock()?;
    let value = match find(service, shared) {
        Found::Named(url) => use_named(service, url)?,
        Found::Started(url) => {
            note(&format!("{}: already running", service.name()));
            url
        }
        Found::Broken(why) => {
            note(&format!("{}: starting afresh, {why}", service.name()));
            service.up(&place, &[])?
        }
        Found::Nothing => {
            note(&format!("{}: starting", service.name()));
            service.up(&place, &[])?
        }
    };
    note(&format!("{}: {}", service.name(), redacted(&value)));
    Ok(Variable {
        name: service.variable(),
        value,
    })
}

/// Stops the service's server in `slot`; says whether there was anything to stop.
pub(super) fn stop(service: &dyn Service, slot: &Slot) -> Result<bool> {
    let place = slot.place(service.name());
    if !place.exists() {
        return Ok(false);
    }
    let _lock = slot.lock()?;
    service.down(&place)?;
    Ok(true)
}

/// Looks for a server without starting one. What the environment names is meant for
/// everybody, so it never stands for the server of a private slot.
pub(super) fn find(service: &dyn Service, slot: &Slot) -> Found {
    let place = slot.place(service.name());
    let named = env::var(service.variable()).ok();
    let named = named.filter(|_| slot.is_shared());
    if let Some(url) = named.filter(|url| !url.is_empty()) {
        // A shell that evaluated our own `export` lines names our own server, and
        // that one may be started again if it is gone.
        if place.address().as_ref() != Some(&url) {
            return Found::Named(url);
        }
    }
    match service.status(&place) {
        Status::Up(url) => Found::Started(url),
        Status::Broken(why) => Found::Broken(why),
        Status::Down => Found::Nothing,
    }
}

fn use_named(service: &dyn Service, url: String) -> Result<String> {
    let (name, variable) = (service.name(), service.variable());
    match service.answers(&url) {
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
