//! One target of intents in words.

use semel_core::duration::show;

use super::Lines;
use super::route::header;
use super::waits;
use crate::compile::CompiledTarget;
use crate::compile::target::{KeyPlace, OnUnanswered};
use crate::file::intent::Vendor;

/// What becomes of intents to a target.
pub(super) fn describe(target: &CompiledTarget) -> Lines {
    vec![
        ("sent", sent(target)),
        ("key", key(target)),
        ("attempts", waits::attempts(&target.retry)),
        ("then", "parked for a person to look at".to_owned()),
        ("unknown", unknown(&target.unknown)),
        ("remembered", show(target.retention.keep())),
    ]
}

fn sent(target: &CompiledTarget) -> String {
    let headers: Vec<_> = target
        .headers
        .iter()
        .map(|(name, _)| header(name))
        .collect();
    let headers = match headers.is_empty() {
        true => String::new(),
        false => format!(", with {}", headers.join(", ")),
    };
    let timeout = show(target.timeout);
    if let Some(url) = target.url.broker() {
        let broker = url.broker().name();
        return format!("published to {url}; {broker} has {timeout} to confirm");
    }
    format!(
        "{} {}{headers}; the provider has {timeout} to answer",
        target.method, target.url
    )
}

fn key(target: &CompiledTarget) -> String {
    let place = match &target.key {
        None if target.url.broker().is_some() => {
            return "its id, the same for every attempt; the broker or its readers recognise it"
                .to_owned();
        }
        None => return "none: as far as this file says, the provider takes none".to_owned(),
        Some(KeyPlace::Header(name)) => format!("the header {}", header(name)),
        Some(KeyPlace::Body(path)) => format!("{} in the body", path.as_str()),
        Some(KeyPlace::Query(name)) => format!("the query parameter {name}"),
    };
    let vendor = match target.vendor {
        Vendor::None => String::new(),
        vendor => format!(" ({})", vendor.name()),
    };
    match target.key_lifetime {
        None => format!("{place}{vendor}, the same for every attempt"),
        Some(lifetime) => format!(
            "{place}{vendor}, the same for every attempt; recognised for {}, and all attempts end within {}",
            show(lifetime),
            show(target.horizon())
        ),
    }
}

fn unknown(unknown: &OnUnanswered) -> String {
    match unknown {
        OnUnanswered::Hold => "parked until a person decides".to_owned(),
        OnUnanswered::Retry => "sent again with the same key".to_owned(),
        OnUnanswered::Reconcile(url) => {
            let shown = url.split('?').next().unwrap_or_default();
            format!("{shown} is asked whether it happened")
        }
    }
}
