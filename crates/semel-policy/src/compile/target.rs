//! A target of intents as the file says it to what its sender carries out.

use std::time::Duration;

use http::{HeaderName, Method, Uri};
use semel_core::duration::show;
use semel_core::{Retention, Scope};
use semel_http::path::JsonPath;
use semel_inbox::Retry;
use semel_inbox::vendors::Place;

use super::consumer::INTENT;
use super::{headers, retry};
use crate::file::intent::{self as written, Target, Unanswered, Vendor};
use crate::limits::TARGET_TIMEOUT_MAX;
use crate::tree::Path;
use crate::tree::read::Fault;
use crate::value::{Destination, RECONCILE_FIELDS, Secret};

/// How long a provider may take to answer unless the file says otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Where intents of one name are sent, with the policy of whoever sends them.
#[derive(Debug, Clone)]
pub struct CompiledTarget {
    /// The name that handlers give.
    pub name: String,
    /// Whoever sends them is this consumer: `intent:NAME@1`.
    pub sender: Scope,
    /// Where intents are sent.
    pub url: Destination,
    /// The method.
    pub method: Method,
    /// Whose conventions hold.
    pub vendor: Vendor,
    /// Where the provider expects the key; `None` if it takes none.
    pub key: Option<KeyPlace>,
    /// What stands in front of the key, such as `projects/p/locations/l/queues/q/tasks/`; mostly nothing.
    pub key_prefix: String,
    /// How long the provider recognises a key, if that is known. An intent that is older is not sent again.
    pub key_lifetime: Option<Duration>,
    /// How long the provider may take to answer.
    pub timeout: Duration,
    /// Headers that are sent.
    pub headers: Vec<(HeaderName, Secret)>,
    /// When to try again; then an intent is parked.
    pub retry: Retry,
    /// What happens when nobody knows whether it was done.
    pub unknown: OnUnanswered,
    /// How long an intent that was sent is remembered: at least as long as any message of the file.
    pub retention: Retention,
}

/// Where a provider expects the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// In a header.
    Header(HeaderName),
    /// In a field of the JSON body.
    Body(JsonPath),
    /// In a query parameter.
    Query(String),
}

/// What happens when nobody knows whether an intent was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnUnanswered {
    /// It is parked until a person decides.
    Hold,
    /// It is sent again with the same key.
    Retry,
    /// The provider is asked at this URL, with `{key}` filled in.
    Reconcile(String),
}

impl CompiledTarget {
    /// The longest time from the first attempt to the end of the last.
    pub fn horizon(&self) -> Duration {
        let attempts = self.timeout.saturating_mul(self.retry.attempts_max());
        self.retry.horizon().saturating_add(attempts)
    }
}

/// Compiles one target, whose records are kept so long. Faults are relative to it.
pub(super) fn compile(
    name: &str,
    target: &Target,
    retention: Retention,
) -> Result<CompiledTarget, Fault> {
    let sender = sender(name)?;
    is_of_http(target)?;
    let vendor = target.vendor.map_or(Vendor::None, |vendor| vendor.0);
    let key = target.key.as_ref().map(KeyPlace::from);
    let key = key.or_else(|| place(vendor));
    let retry = target.retry.as_ref().map(retry::compile).transpose();
    let retry = retry.map_err(|fault| fault.under(&at("retry")))?;
    let headers = headers::compile(&target.headers);
    let compiled = CompiledTarget {
        name: name.to_owned(),
        sender,
        url: target.url.0.clone(),
        method: method(target)?,
        vendor,
        key_prefix: prefix(target, vendor)?,
        key_lifetime: lifetime(target, vendor, key.is_some())?,
        timeout: timeout(target)?,
        headers: headers.map_err(|fault| fault.under(&at("headers")))?,
        retry: retry.unwrap_or_default(),
        // What is published carries its id, and readers recognise it.
        unknown: unknown(target, key.is_some() || target.url.broker().is_some())?,
        key,
        retention,
    };
    is_recognised(target, &compiled)?;
    Ok(compiled)
}

/// Refuses at a broker what only a service over HTTP has.
fn is_of_http(target: &Target) -> Result<(), Fault> {
    let Some(url) = target.url.broker() else {
        return Ok(());
    };
    let settings = [
        ("method", target.method.is_some()),
        ("vendor", target.vendor.is_some()),
        ("key", target.key.is_some()),
        ("key_lifetime", target.key_lifetime.is_some()),
        ("headers", !target.headers.is_empty()),
    ];
    match settings.into_iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => {
            let broker = url.broker().name();
            let message = format!(
                "expected none, because url is of {broker}, which is not sent to over HTTP"
            );
            Err(Fault::said(at(name), message).beside(at("url")))
        }
        None => Ok(()),
    }
}

/// The path of a key of a target.
fn at(name: &str) -> Path {
    Path::default().to(name)
}

fn sender(name: &str) -> Result<Scope, Fault> {
    let scope = Scope::new(format!("{INTENT}{name}"), 1).ok();
    let scope = scope.filter(|_| !name.is_empty() && !name.contains('@'));
    scope.ok_or_else(|| {
        let message = "expected a name of 1 to 248 bytes without control characters and without @";
        Fault::said(Path::default(), message).of_key()
    })
}

fn timeout(target: &Target) -> Result<Duration, Fault> {
    let timeout = target.timeout.map_or(TIMEOUT, |timeout| timeout.0);
    match !timeout.is_zero() && timeout <= TARGET_TIMEOUT_MAX {
        true => Ok(timeout),
        false => {
            let (max, found) = (show(TARGET_TIMEOUT_MAX), show(timeout));
            let message = format!("expected a duration from 1ms to {max}, found {found}");
            Err(Fault::said(at("timeout"), message))
        }
    }
}

/// Without a key, sending again what may have been done would be the duplicate that we are here to avoid.
fn unknown(target: &Target, has_key: bool) -> Result<OnUnanswered, Fault> {
    match (&target.unknown, has_key) {
        (Some(Unanswered::Hold), _) | (None, false) => Ok(OnUnanswered::Hold),
        (Some(Unanswered::Retry), true) | (None, true) => Ok(OnUnanswered::Retry),
        (Some(Unanswered::Retry), false) => Err(Fault::said(
            at("unknown"),
            "expected hold or reconcile, because without vendor or key the provider cannot tell that it was done before",
        )),
        (Some(Unanswered::Reconcile(url)), _) => {
            let others = RECONCILE_FIELDS.iter().filter(|field| **field != "key");
            let mut others = others.map(|field| format!("{{{field}}}"));
            match others.find(|field| url.as_str().contains(field)) {
                None => Ok(OnUnanswered::Reconcile(url.as_str().to_owned())),
                Some(field) => {
                    let message = format!("expected only {{key}} between braces, found {field}");
                    Err(Fault::said(at("unknown").to("reconcile"), message))
                }
            }
        }
    }
}

/// What stands before the keys of a vendor that takes it from the URL.
fn prefix(target: &Target, vendor: Vendor) -> Result<String, Fault> {
    let prefix = vendor.keys().and_then(|keys| keys.prefix.as_ref());
    let Some(prefix) = prefix.filter(|_| target.key.is_none()) else {
        return Ok(String::new());
    };
    let uri: Option<Uri> = target.url.http().parse().ok();
    let path = uri.as_ref().map_or("", Uri::path).trim_matches('/');
    let found: Vec<&str> = path.split('/').skip(1).collect();
    let fits = |(wanted, found): (&&str, &&str)| *wanted == "*" || wanted == found;
    match found.len() == prefix.segments.len() && prefix.segments.iter().zip(&found).all(fits) {
        true => Ok(format!("{}/", found.join("/"))),
        false => {
            let (example, name) = (prefix.example, vendor.name());
            let message = format!("expected a URL such as {example}, because vendor is {name}");
            Err(Fault::said(at("url"), message).beside(at("vendor")))
        }
    }
}

fn method(target: &Target) -> Result<Method, Fault> {
    match target.method.map(|method| method.method()) {
        None => Ok(Method::POST),
        Some(Method::GET) => {
            let message =
                "expected POST, PUT, PATCH or DELETE, because an intent has an effect, found GET";
            Err(Fault::said(at("method"), message))
        }
        Some(method) => Ok(method),
    }
}

/// Where a vendor expects the key.
fn place(vendor: Vendor) -> Option<KeyPlace> {
    match vendor.keys()?.place? {
        Place::Header(name) => Some(KeyPlace::Header(HeaderName::from_static(name))),
        Place::Body(path) => {
            let path = path.parse().expect("the table's paths are valid");
            Some(KeyPlace::Body(path))
        }
        Place::Template(_) => None,
    }
}

fn lifetime(target: &Target, vendor: Vendor, has_key: bool) -> Result<Option<Duration>, Fault> {
    let path = || at("key_lifetime");
    match target.key_lifetime {
        None => Ok(vendor.key_lifetime()),
        Some(_) if !has_key => Err(Fault::said(
            path(),
            "expected vendor or key, because there is no key otherwise",
        )),
        Some(lifetime) if lifetime.is_zero() || lifetime.0 > Retention::MAX => {
            let found = show(lifetime.0);
            let message = format!("expected a duration from 1ms to ten years, found {found}");
            Err(Fault::said(path(), message))
        }
        Some(lifetime) => Ok(Some(lifetime.0)),
    }
}

/// The last attempt must still be recognised as the first.
fn is_recognised(target: &Target, compiled: &CompiledTarget) -> Result<(), Fault> {
    let horizon = compiled.horizon();
    let Some(lifetime) = compiled.key_lifetime.filter(|lifetime| *lifetime < horizon) else {
        return Ok(());
    };
    let attempts = compiled.retry.attempts_max();
    let message = format!(
        "expected {attempts} attempts to end within the {} that the provider recognises a key, found {}",
        show(lifetime),
        show(horizon)
    );
    let beside = match target.key_lifetime {
        Some(_) => "key_lifetime",
        None => "vendor",
    };
    Err(Fault::said(at("retry"), message).beside(at(beside)))
}

impl From<&written::KeyPlace> for KeyPlace {
    fn from(written: &written::KeyPlace) -> Self {
        match written {
            written::KeyPlace::Header(name) => Self::Header(name.0.clone()),
            written::KeyPlace::Body(path) => Self::Body(path.0.clone()),
            written::KeyPlace::Query(name) => Self::Query(name.0.0.clone()),
        }
    }
}
