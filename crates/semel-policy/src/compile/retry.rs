//! How often something is tried.

use std::time::Duration;

use semel_core::duration::show;
use semel_inbox::Retry;
use semel_inbox::policy::retry::{Backoff, DELAY_MAX};

use crate::file::consumer::{self as written, Backoff as Growth};
use crate::tree::Path;
use crate::tree::read::Fault;

/// The attempts and waits that are meant. Faults are relative to `retry`.
pub(super) fn compile(retry: &written::Retry) -> Result<Retry, Fault> {
    let usual = Retry::default();
    let attempts = retry
        .max_attempts
        .map_or(usual.attempts_max(), |attempts| attempts.0.0);
    let backoff = backoff(retry, usual.backoff())?;
    Retry::new(attempts, backoff).map_err(|error| Fault::said(Path::default(), error.to_string()))
}

fn backoff(retry: &written::Retry, usual: Backoff) -> Result<Backoff, Fault> {
    let (exponential, jitter) = match retry.backoff {
        None | Some(Growth::ExponentialJitter) => (true, true),
        Some(Growth::Exponential) => (true, false),
        Some(Growth::Fixed) => (false, false),
        Some(Growth::FixedJitter) => (false, true),
    };
    let (first, max) = (retry.first.map(|first| first.0), retry.max.map(|max| max.0));
    is_wait("first", first)?;
    is_wait("max", max)?;
    if !exponential && max.is_some() {
        let message = "expected it only with waits that grow; first says how long all of them are";
        let fault = Fault::said(Path::default().to("max"), message);
        return Err(fault.beside(Path::default().to("backoff")));
    }
    if let (Some(first), Some(max)) = (first, max)
        && first > max
    {
        let message = format!(
            "expected at most the longest wait of {}, found {}",
            show(max),
            show(first)
        );
        let fault = Fault::said(Path::default().to("first"), message);
        return Err(fault.beside(Path::default().to("max")));
    }
    // What is not written gives way to what is.
    let first = first.unwrap_or_else(|| usual.first.min(max.unwrap_or(usual.first)));
    let max = match exponential {
        true => max.unwrap_or(usual.max.max(first)),
        false => first,
    };
    Ok(Backoff {
        first,
        max,
        exponential,
        jitter,
    })
}

fn is_wait(name: &str, wait: Option<Duration>) -> Result<(), Fault> {
    match wait {
        Some(wait) if wait.is_zero() || wait > DELAY_MAX => {
            let (max, found) = (show(DELAY_MAX), show(wait));
            let message = format!("expected a duration from 1ms to {max}, found {found}");
            Err(Fault::said(Path::default().to(name), message))
        }
        _ => Ok(()),
    }
}
