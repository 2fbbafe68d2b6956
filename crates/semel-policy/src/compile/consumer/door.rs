//! How messages come in and where they go.

use std::time::Duration;

use http::HeaderName;
use semel_core::duration::show;

use semel_inbox::Ack;

use super::at;
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

/// How posted messages are signed: HMAC-SHA256 with one of the secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Whose way of signing it is.
    pub scheme: Scheme,
    /// Any of them may have signed.
    pub secrets: Vec<Secret>,
    /// The header with the signature.
    pub header: HeaderName,
    /// How the signature is written.
    pub encoding: Encoding,
    /// What stands in front of the signature.
    pub prefix: String,
    /// How old a signature may be; `None` if it has no time.
    pub tolerance: Option<Duration>,
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
    let header = match (signature.scheme, &signature.header) {
        (Scheme::Stripe, _) => HeaderName::from_static("stripe-signature"),
        (Scheme::Github, _) => HeaderName::from_static("x-hub-signature-256"),
        (Scheme::Generic, Some(header)) => header.0.clone(),
        (Scheme::Generic, None) => {
            let message = "expected header, because a generic signature may be anywhere";
            return Err(Fault::said(at(["signature"]), message));
        }
    };
    let prefix = signature.prefix.as_ref().map(|prefix| prefix.0.0.clone());
    let is_timed = signature.scheme == Scheme::Stripe;
    let tolerance = signature
        .tolerance
        .map_or(TOLERANCE, |tolerance| tolerance.0);
    is_timeout(tolerance, || at(["signature", "tolerance"]))?;
    Ok(Some(Signature {
        scheme: signature.scheme,
        secrets,
        header,
        encoding: signature.encoding.unwrap_or_default(),
        prefix: match signature.scheme {
            Scheme::Github => "sha256=".to_owned(),
            Scheme::Stripe | Scheme::Generic => prefix.unwrap_or_default(),
        },
        tolerance: is_timed.then_some(tolerance),
    }))
}

fn secrets(signature: &written::Signature) -> Result<Vec<Secret>, Fault> {
    match (&signature.secret, &signature.secrets) {
        (Some(secret), None) => Ok(vec![secret.0.clone()]),
        (None, Some(secrets)) if (1..=SECRETS_MAX).contains(&secrets.len()) => {
            Ok(secrets.iter().map(|secret| secret.0.clone()).collect())
        }
        (None, Some(secrets)) => {
            let found = secrets.len();
            let message = format!("expected 1 to {SECRETS_MAX} secrets, found {found}");
            Err(Fault::said(at(["secrets"]), message))
        }
        (None, None) => Err(Fault::said(
            at([]),
            "expected secret or secrets, found neither",
        )),
        (Some(_), Some(_)) => {
            let fault = Fault::said(at(["secrets"]), "expected secret or secrets, found both");
            Err(fault.beside(at(["secret"])))
        }
    }
}

/// A vendor's way leaves nothing to choose.
fn fits(signature: &written::Signature) -> Result<(), Fault> {
    let scheme = signature.scheme;
    for (name, is_written, only) in [
        ("header", signature.header.is_some(), Scheme::Generic),
        ("encoding", signature.encoding.is_some(), Scheme::Generic),
        ("prefix", signature.prefix.is_some(), Scheme::Generic),
        ("tolerance", signature.tolerance.is_some(), Scheme::Stripe),
    ] {
        if is_written && scheme != only {
            let message = format!("expected it only with scheme: {}", only.name());
            return Err(Fault::said(at([name]), message).beside(at(["scheme"])));
        }
    }
    Ok(())
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
            "expected ack.timing: after-effect, because otherwise nobody waits".to_owned(),
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
