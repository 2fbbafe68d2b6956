//! A consumer as the file says it to the policy that the engine carries out.
//!
//! Defaults of the strategy ← what the file says: each step overrides what it names. What the engine's policy does not
//! know (sources, places of fields, signatures) stands beside it.

mod check;
mod door;
mod fields;
mod policy;
mod processed;
mod strategy;

pub use door::{Deliver, Signature};
pub use fields::{Fields, Locator};
pub use processed::ProcessedLog;

use std::time::Duration;

use semel_core::Scope;

use crate::file;
use crate::file::consumer::{Fingerprint, Kind};
use crate::limits::MESSAGE_BYTES;
use crate::tree::Path;
use crate::tree::read::Fault;
use crate::value::SourceUrl;

/// How the names of the consumers that send intents begin.
pub(crate) const INTENT: &str = "intent:";

/// A consumer with its policy, and what the policy does not know.
#[derive(Debug, Clone)]
pub struct CompiledConsumer {
    /// What the engine carries out. Its name is the consumer's, with its version.
    pub policy: semel_inbox::Consumer,
    /// What guards its effect.
    pub strategy: Kind,
    /// Whether messages are stored first. Otherwise the policy is for a transactional consumer of the library, and nothing is
    /// to be served, or processed ids are in a log.
    pub has_inbox: bool,
    /// Where processed ids are remembered instead, if so.
    pub processed_log: Option<ProcessedLog>,
    /// Where its messages come from; `None`: programs hand them in.
    pub source: Option<SourceUrl>,
    /// The service that handles its messages; `None`: a program does.
    pub deliver: Option<Deliver>,
    /// Where a message says who it is.
    pub fields: Fields,
    /// What makes two messages with one id the same.
    pub fingerprint: Fingerprint,
    /// How posted messages are signed.
    pub signature: Option<Signature>,
    /// The largest message, in bytes.
    pub body_bytes_max: usize,
    /// How long a sender over HTTP waits for the effect; `None` if it is told when the message is stored.
    pub wait: Option<Duration>,
    /// Whether it is paused when it starts.
    pub paused: bool,
    /// The name of the view of processed messages that is to be made in the store.
    pub processed_view: Option<String>,
    /// How late a message can come again; the retention is at least the largest of them.
    pub windows: Windows,
}

/// How late a message can come again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Windows {
    /// How far back messages are replayed.
    pub replay: Option<Duration>,
    /// How long the source can deliver a message again.
    pub broker: Option<Duration>,
    /// How long messages stay in a dead-letter queue.
    pub dlq: Option<Duration>,
}

impl CompiledConsumer {
    /// Its name and version.
    pub const fn name(&self) -> &Scope {
        self.policy.name()
    }

    /// Whether `semel serve` has something to do for it: receive, or deliver.
    pub const fn is_served(&self) -> bool {
        self.source.is_some() || self.deliver.is_some()
    }

    /// Whether its messages are posted to `/inbox/NAME`.
    pub const fn is_posted(&self) -> bool {
        matches!(self.source, Some(SourceUrl::Http))
    }
}

/// Compiles one consumer. Faults are relative to it.
pub(super) fn compile(name: &str, written: &file::Consumer) -> Result<CompiledConsumer, Fault> {
    let scope = scope(name, written)?;
    check::inbox(written)?;
    let policy = policy::compile(scope, written)?;
    let fields = fields::compile(written)?;
    let processed_log = processed::compile(written)?;
    let consumer = CompiledConsumer {
        strategy: written.strategy.kind.unwrap_or_default(),
        has_inbox: written.inbox.enabled != Some(false) && processed_log.is_none(),
        processed_log,
        source: written.source.as_ref().map(|source| source.0.clone()),
        deliver: door::deliver(written, &policy)?,
        fields,
        fingerprint: fields::fingerprint(written),
        signature: door::signature(written)?,
        body_bytes_max: written.max_body.map_or(MESSAGE_BYTES, |size| size.0.0),
        wait: door::wait(written, &policy)?,
        paused: written.paused == Some(true),
        processed_view: written.dedup.table.as_ref().map(|view| view.0.0.clone()),
        windows: Windows {
            replay: written.replay.window.map(|window| window.0),
            broker: written.broker_retention.map(|window| window.0),
            dlq: written.dlq_retention.map(|window| window.0),
        },
        policy,
    };
    check::together(written, &consumer)?;
    Ok(consumer)
}

fn scope(name: &str, written: &file::Consumer) -> Result<Scope, Fault> {
    let of_name = |message: String| Fault::said(Path::default(), message).of_key();
    if name.starts_with(INTENT) {
        return Err(of_name(format!(
            "expected a name that does not begin with {INTENT}, because such are the senders of intents"
        )));
    }
    let version = written.version.map(|version| version.0.0);
    let (name, version) = match name.rsplit_once('@') {
        None => (name, version.unwrap_or(1)),
        // A version that still has messages stands beside the one that took its place.
        Some((before, said)) => match (said.parse::<u32>(), version) {
            (Ok(said), None) if said > 0 && !before.contains('@') => (before, said),
            (Ok(said), Some(version)) if said == version => (before, said),
            (Ok(_), Some(version)) => {
                return Err(of_name(format!(
                    "expected a name that ends in @{version}, because version is {version}"
                )));
            }
            _ => {
                return Err(of_name(
                    "expected a version from 1 on behind @, and no other @".to_owned(),
                ));
            }
        },
    };
    Scope::new(name, version).map_err(|_| {
        of_name("expected a name of 1 to 255 bytes without control characters".to_owned())
    })
}

/// The path of a field inside a consumer.
fn at<const N: usize>(steps: [&str; N]) -> Path {
    steps.into_iter().collect()
}
