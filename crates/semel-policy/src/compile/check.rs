//! Rules about several settings at once, and limits.

use std::time::Duration;

use semel_core::duration::show;
use semel_http::fingerprint::By;
use semel_http::key::Source;
use semel_http::rules::{Missing, Rules};

use super::{CompiledRoute, Level};
use crate::file::{Gateway, Settings};
use crate::limits::{
    BUFFERED_BYTES_MAX, BUFFERED_BYTES_MIN, HEADER_BYTES_MAX, HEADER_BYTES_MIN, REQUEST_BYTES_MAX,
    RESPONSE_BYTES_MAX, RESPONSE_HEADERS_MAX, TIMEOUT_MAX, WAIT_MAX,
};
use crate::load::File;
use crate::tree::Path;
use crate::tree::read::Fault;
use crate::value::Size;

/// Checks what holds for the gateway as a whole. Faults are relative to `gateway`.
pub(super) fn gateway(gateway: &Gateway) -> Result<(), Fault> {
    let limits = Path::default().to("limits");
    let header_bytes = gateway.limits.header_bytes.0;
    self::header_bytes(header_bytes, || limits.to("header_bytes"))?;
    at_most(gateway.limits.request_bytes.0, REQUEST_BYTES_MAX, || {
        limits.to("request_bytes")
    })?;
    at_most(gateway.limits.response_bytes.0, RESPONSE_BYTES_MAX, || {
        limits.to("response_bytes")
    })?;
    let header_bytes = gateway.limits.response_header_bytes.0;
    self::header_bytes(header_bytes, || limits.to("response_header_bytes"))?;
    let headers = gateway.limits.response_headers.0.0;
    if headers > RESPONSE_HEADERS_MAX {
        let message = format!("expected at most {RESPONSE_HEADERS_MAX}, found {headers}");
        return Err(Fault::said(limits.to("response_headers"), message));
    }
    for (name, timeout) in gateway.timeouts.all() {
        // Zero: no connection is used again; whatever is in flight is cut off.
        let may_be_zero = matches!(name, "upstream_idle" | "drain" | "drain_pause");
        if !(may_be_zero && timeout.is_zero()) {
            is_timeout(timeout, || Path::default().to("timeouts").to(name))?;
        }
    }
    Ok(())
}

impl File {
    /// Checks that the memory for bodies has room for the largest one. Faults are those of the whole file.
    pub(crate) fn check_memory(&self, routes: &[CompiledRoute]) -> Result<(), Fault> {
        let size = self.limits.buffered_bytes.0;
        let path = || ["limits", "buffered_bytes"].into_iter().collect::<Path>();
        at_most(size, BUFFERED_BYTES_MAX, path)?;
        let largest = routes.iter().map(|route| route.rules.request_bytes_max);
        let largest = largest.max().unwrap_or(0);
        let has_room = semel_http::Memory::body_bytes_max(size.0) >= largest;
        match size.0 >= BUFFERED_BYTES_MIN && has_room {
            true => Ok(()),
            false => {
                // Three quarters are for large bodies.
                let least = Size((largest + largest.div_ceil(3)).max(BUFFERED_BYTES_MIN));
                let why = match least.0 {
                    BUFFERED_BYTES_MIN => String::new(),
                    _ => format!(", which has room for a request of {}", Size(largest)),
                };
                let message = format!("expected at least {least}{why}, found {size}");
                Err(Fault::said(path(), message))
            }
        }
    }
}

/// Checks the rules of one route.
pub(super) fn rules(rules: &Rules, levels: &[Level<'_>]) -> Result<(), Fault> {
    sizes(rules, levels)?;
    times(rules, levels)?;
    derived(rules, levels)
}

fn sizes(rules: &Rules, levels: &[Level<'_>]) -> Result<(), Fault> {
    at_most(Size(rules.request_bytes_max), REQUEST_BYTES_MAX, || {
        blame(levels, "request_bytes", |settings| {
            settings.request_bytes.is_some()
        })
    })?;
    at_most(Size(rules.response_bytes_max), RESPONSE_BYTES_MAX, || {
        blame(levels, "response_bytes", |settings| {
            settings.response_bytes.is_some()
        })
    })
}

fn times(rules: &Rules, levels: &[Level<'_>]) -> Result<(), Fault> {
    is_timeout(rules.timeout, || {
        blame(levels, "timeout", |settings| settings.timeout.is_some())
    })?;
    let wait = rules.in_progress.wait;
    if wait > WAIT_MAX {
        let path = blame(levels, "in_progress", |settings| {
            settings.in_progress.is_some()
        });
        let max = show(WAIT_MAX);
        let message = format!("expected a wait of at most {max}, found {}", show(wait));
        return Err(Fault::said(path, message));
    }
    // A client that comes back after its first attempt's lease must still find the outcome.
    let (kept, lease) = (rules.retention.keep(), rules.lease.get());
    if kept < lease {
        let path = blame(levels, "retention", |settings| settings.retention.is_some());
        let lease = show(lease);
        let message = format!(
            "expected at least the lease of {lease}, found {}",
            show(kept)
        );
        return Err(Fault::said(path, message));
    }
    Ok(())
}

fn derived(rules: &Rules, levels: &[Level<'_>]) -> Result<(), Fault> {
    let key = || blame(levels, "key", |settings| settings.key.is_some());
    let missing = || blame(levels, "missing", |settings| settings.missing.is_some());
    let derive = rules
        .key
        .iter()
        .position(|source| *source == Source::Derive);
    if derive.is_some_and(|at| at + 1 < rules.key.iter().count()) {
        let message =
            "expected derive at the end: it always finds a key, so nothing after it is tried";
        return Err(Fault::said(key(), message));
    }
    if derive.is_some() && rules.missing == Missing::Require {
        let message = "expected no require: the key is derived where it is missing";
        return Err(Fault::said(missing(), message));
    }
    let is_derived = derive.is_some() || rules.missing == Missing::Derive;
    if is_derived && rules.fingerprint == By::Off {
        let path = blame(levels, "fingerprint", |settings| {
            settings.fingerprint.is_some()
        });
        let message = "expected a fingerprint, because keys are derived from it, found off";
        return Err(Fault::said(path, message));
    }
    Ok(())
}

/// A template's part of the path must be a name of the route's pattern: otherwise no request would have its key.
pub(super) fn templates(rules: &Rules, pattern: &str, levels: &[Level<'_>]) -> Result<(), Fault> {
    let names = pattern.split('{').skip(1);
    let names: Vec<_> = names
        .filter_map(|rest| rest.split('}').next())
        .map(|name| name.trim_start_matches('*'))
        .collect();
    let templates = rules.key.iter().filter_map(|source| match source {
        Source::Template(template) => Some(template),
        _ => None,
    });
    for field in templates.flat_map(semel_core::Template::fields) {
        let named = field.strip_prefix("path.");
        if named.is_some_and(|named| !names.contains(&named)) {
            let path = blame(levels, "key", |settings| settings.key.is_some());
            let message = format!("expected a name of the pattern {pattern}, found {{{field}}}");
            return Err(Fault::said(path, message));
        }
    }
    Ok(())
}

/// The nearest level that has the setting; the route itself if it is a default that is to blame.
fn blame(levels: &[Level<'_>], name: &str, has: impl Fn(&Settings) -> bool) -> Path {
    let nearest = levels.iter().rev().find(|level| has(level.settings));
    let path = nearest.map(|level| level.path.to(name));
    path.or_else(|| levels.last().map(|level| level.path.to(name)))
        .unwrap_or_default()
}

/// A head must hold what the parser needs, and no more than fits in memory many times.
pub(super) fn header_bytes(size: Size, path: impl Fn() -> Path) -> Result<(), Fault> {
    at_most(size, HEADER_BYTES_MAX, &path)?;
    match size.0 >= HEADER_BYTES_MIN {
        true => Ok(()),
        false => {
            let message = format!("expected at least {}, found {size}", Size(HEADER_BYTES_MIN));
            Err(Fault::said(path(), message))
        }
    }
}

pub(super) fn at_most(size: Size, max: usize, path: impl FnOnce() -> Path) -> Result<(), Fault> {
    match size.0 <= max {
        true => Ok(()),
        false => {
            let message = format!("expected at most {}, found {size}", Size(max));
            Err(Fault::said(path(), message))
        }
    }
}

pub(super) fn is_timeout(timeout: Duration, path: impl FnOnce() -> Path) -> Result<(), Fault> {
    match !timeout.is_zero() && timeout <= TIMEOUT_MAX {
        true => Ok(()),
        false => {
            let max = show(TIMEOUT_MAX);
            let message = format!(
                "expected a duration from 1ms to {max}, found {}",
                show(timeout)
            );
            Err(Fault::said(path(), message))
        }
    }
}
