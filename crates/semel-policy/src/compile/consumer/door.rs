//! How messages come in and where they go.

use std::time::Duration;

use ::http::HeaderName;
use semel_core::duration::show;

use semel_inbox::source::http;
use semel_inbox::vendors::Events;
use semel_inbox::{Ack, Vendor};

use super::at;
use super::fields::Locator;
use crate::compile::{headers, is_timeout};
use crate::file::Consumer;
use crate::file::consumer::{self as written, Encoding, Scheme};
use crate::limits::{SECRETS_MAX, WAIT_MAX};
use crate::tree::read::Fault;
use crate::value::{Endpoint, Secret, SourceUrl};

/// How long a sender waits for the effect unless the file says otherwise: less than senders usually have patience.
const WAIT: Duration = Duration::from_secs(10);
/// How old a signature with a time may be unless the file says otherwise.
const TOLERANCE: Duration = Duration::from_secs(300);

/// The service that handles messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deliver {
    /// Where messages are posted.
    pub url: Endpoint,
    /// How long it may take to answer; at most the consumer's deadline.
    pub timeout: Duration,
    /// Headers that are sent besides the message's own.
    pub headers: Vec<(HeaderName, Secret)>,
}

/// How posted messages are signed, and with what that is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Whose way of signing it is.
    pub scheme: Scheme,
    /// Any of them may have signed.
    pub secrets: Vec<Secret>,
    /// The header with the signature; `None` if it is in the body.
    pub header: Option<HeaderName>,
    /// How the signature is written; only for generic.
    pub encoding: Encoding,
    /// What stands in front of the signature; only for generic.
    pub prefix: String,
    /// How old a signature may be; `None` if it has no time.
    pub tolerance: Option<Duration>,
    /// The id that the webhook has at PayPal.
    pub webhook_id: Option<String>,
}

impl Signature {
    /// What the engine checks requests with.
    pub fn checker(&self) -> semel_core::Result<semel_inbox::Signature> {
        let secrets = self.secrets.iter().map(Secret::expose);
        let checker = match (self.scheme, &self.webhook_id) {
            (Scheme::Vendor(_), Some(id)) => semel_inbox::Signature::paypal(id, secrets)?,
            (Scheme::Vendor(vendor), None) => semel_inbox::Signature::vendor(vendor, secrets)?,
            (Scheme::Generic, _) => {
                let encoding = match self.encoding {
                    Encoding::Hex => http::Encoding::Hex,
                    Encoding::Base64 => http::Encoding::Base64,
                };
                let header = self.header.as_ref().map_or("", HeaderName::as_str);
                semel_inbox::Signature::generic(header, &self.prefix, encoding, secrets)?
            }
        };
        Ok(match self.tolerance {
            Some(tolerance) => checker.tolerance(tolerance),
            None => checker,
        })
    }

    /// Whether what is found at this place was signed. Without that, a request that was signed once can be sent again under another id.
    pub fn covers(&self, place: &Locator) -> bool {
        let signing = self.scheme.events().map(|events| &events.signing);
        let header = |name: &str| signing.is_some_and(|signing| signing.covers_header(name));
        let field = |path: &str| signing.is_none_or(|signing| signing.covers_field(path));
        match place {
            Locator::Header(name) => header(name.as_str()),
            Locator::Body(path) => field(path.as_str()),
            Locator::Template(template) => {
                let mut fields = template.fields();
                fields.all(|path| match path.strip_prefix("header.") {
                    Some(name) => header(name),
                    None => field(&path),
                })
            }
            Locator::Coordinates => false,
        }
    }
}

/// The service that handles messages. Faults are relative to the consumer.
pub(super) fn deliver(
    consumer: &Consumer,
    policy: &semel_inbox::Consumer,
) -> Result<Option<Deliver>, Fault> {
    let Some(deliver) = &consumer.deliver else {
        return Ok(None);
    };
    let path = || at(["deliver", "timeout"]);
    let timeout = deliver.timeout.unwrap_or(policy.deadline);
    is_timeout(timeout, path)?;
    if timeout > policy.deadline {
        let (deadline, found) = (show(policy.deadline), show(timeout));
        let message = format!("expected at most the deadline of {deadline}, found {found}");
        let fault = Fault::said(path(), message);
        return Err(match consumer.deadline {
            Some(_) => fault.beside(at(["deadline"])),
            None => fault,
        });
    }
    let headers = headers::compile(&deliver.headers);
    Ok(Some(Deliver {
        url: deliver.url.clone(),
        timeout,
        headers: headers.map_err(|fault| fault.under(&at(["deliver", "headers"])))?,
    }))
}

/// How posted messages are signed. Faults are relative to the consumer.
pub(super) fn signature(consumer: &Consumer) -> Result<Option<Signature>, Fault> {
    let Some(signature) = &consumer.signature else {
        return Ok(None);
    };
    if !matches!(consumer.source.as_deref(), Some(SourceUrl::Http)) {
        let message = "expected source: http, because only posted messages are signed";
        return Err(beside_source(
            consumer,
            Fault::said(at(["signature"]), message),
        ));
    }
    let under = |fault: Fault| fault.under(&at(["signature"]));
    let secrets = secrets(signature).map_err(under)?;
    fits(signature).map_err(under)?;
    let scheme = signature.scheme.0;
    let signing = scheme.events().map(|events| &events.signing);
    let tolerance = signature
        .tolerance
        .map_or(TOLERANCE, |tolerance| tolerance.0);
    is_timeout(tolerance, || at(["signature", "tolerance"]))?;
    let prefix = signature.prefix.as_ref().map(|prefix| prefix.0.0.clone());
    let compiled = Signature {
        scheme,
        secrets,
        header: match signing {
            Some(signing) => signing.header.map(HeaderName::from_static),
            None => signature.header.as_ref().map(|header| header.0.clone()),
        },
        encoding: signature.encoding.unwrap_or_default(),
        prefix: prefix.unwrap_or_default(),
        tolerance: signing.and_then(|signing| signing.is_timed.then_some(tolerance)),
        webhook_id: signature.webhook_id.as_ref().map(|id| id.0.0.clone()),
    };
    // What a secret must look like is the vendor's convention; no error quotes one.
    let checked = compiled.checker();
    checked.map_err(|error| Fault::said(at(["signature"]), error.to_string()))?;
    Ok(Some(compiled))
}

fn secrets(signature: &written::Signature) -> Result<Vec<Secret>, Fault> {
    let found = signature.secret.len();
    if !(1..=SECRETS_MAX).contains(&found) {
        let message = format!("expected 1 to {SECRETS_MAX} secrets, found {found}");
        return Err(Fault::said(at(["secret"]), message));
    }
    let secrets = signature.secret.iter();
    Ok(secrets.map(|secret| secret.0.clone()).collect())
}

/// A vendor's way leaves nothing to choose.
fn fits(signature: &written::Signature) -> Result<(), Fault> {
    let scheme = signature.scheme.0;
    let is_generic = scheme == Scheme::Generic;
    let is_timed = |events: &Events| events.signing.is_timed;
    let timed = scheme.events().is_some_and(is_timed);
    let is_paypal = scheme == Scheme::Vendor(Vendor::PayPal);
    for (name, is_written, is_right, only) in [
        (
            "header",
            signature.header.is_some(),
            is_generic,
            "scheme: generic",
        ),
        (
            "encoding",
            signature.encoding.is_some(),
            is_generic,
            "scheme: generic",
        ),
        (
            "prefix",
            signature.prefix.is_some(),
            is_generic,
            "scheme: generic",
        ),
        (
            "tolerance",
            signature.tolerance.is_some(),
            timed,
            "a scheme that signs the time",
        ),
        (
            "webhook_id",
            signature.webhook_id.is_some(),
            is_paypal,
            "scheme: paypal",
        ),
    ] {
        if is_written && !is_right {
            let message = format!("expected it only with {only}");
            return Err(Fault::said(at([name]), message).beside(at(["scheme"])));
        }
    }
    let missing = match (is_generic, is_paypal) {
        (true, _) if signature.header.is_none() => {
            "expected header, because a generic signature may be anywhere"
        }
        (_, true) if signature.webhook_id.is_none() => {
            "expected webhook_id, because PayPal signs it"
        }
        _ => return Ok(()),
    };
    Err(Fault::said(at([]), missing))
}

/// How long a sender waits for the effect. Faults are relative to the consumer.
pub(super) fn wait(
    consumer: &Consumer,
    policy: &semel_inbox::Consumer,
) -> Result<Option<Duration>, Fault> {
    let is_posted = matches!(consumer.source.as_deref(), Some(SourceUrl::Http));
    let is_late = policy.ack == Ack::AfterEffect;
    let Some(wait) = consumer.wait else {
        return Ok((is_posted && is_late).then_some(WAIT));
    };
    let fault = |message: String| Fault::said(at(["wait"]), message);
    if !is_posted {
        let fault = fault("expected source: http, because only its senders wait".to_owned());
        return Err(beside_source(consumer, fault));
    }
    if !is_late {
        return Err(fault(
            "expected ack.timing: after-effect, because otherwise the sender has its answer before the handler runs".to_owned(),
        ));
    }
    match wait.0 <= WAIT_MAX {
        true => Ok(Some(wait.0)),
        false => Err(fault(format!(
            "expected a wait of at most {}, found {}",
            show(WAIT_MAX),
            show(wait.0)
        ))),
    }
}

fn beside_source(consumer: &Consumer, fault: Fault) -> Fault {
    match consumer.source {
        Some(_) => fault.beside(at(["source"])),
        None => fault,
    }
}
