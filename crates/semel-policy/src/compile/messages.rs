//! Consumers and the targets of their intents, and what holds among them.

use semel_core::Retention;

use super::consumer::{self, CompiledConsumer};
use super::target::{self, CompiledTarget};
use super::{header_bytes, is_timeout};
use crate::error::{Error, Kind, Result};
use crate::file::{Consumer, InboxListen};
use crate::limits::{CONSUMERS_MAX, MESSAGE_RETENTION, TARGETS_MAX};
use crate::load::File;
use crate::tree::Path;
use crate::tree::read::Fault;

impl File {
    /// The consumers with their policies, those of both roots.
    ///
    /// ```
    /// use semel_policy::File;
    ///
    /// let text = "consumers: { mailer: { source: http, deliver: 'http://127.0.0.1:9000/mail', version: 2 } }";
    /// let file = File::parse("semel.yaml", text, [])?;
    /// let mailer = &file.consumers()?[0];
    /// assert_eq!(mailer.policy.name().to_string(), "mailer@2");
    /// assert!(mailer.is_posted());
    /// # Ok::<(), semel_policy::Error>(())
    /// ```
    pub fn consumers(&self) -> Result<Vec<CompiledConsumer>> {
        self.compile_messages()
            .map(|(consumers, _)| consumers)
            .map_err(unplaced)
    }

    /// Where intents are sent, with the policies of their senders.
    pub fn targets(&self) -> Result<Vec<CompiledTarget>> {
        self.compile_messages()
            .map(|(_, targets)| targets)
            .map_err(unplaced)
    }

    pub(crate) fn compile_messages(
        &self,
    ) -> Result<(Vec<CompiledConsumer>, Vec<CompiledTarget>), Fault> {
        listen(&self.inbox).map_err(|fault| fault.under(&root(["inbox"])))?;
        let consumers = self.compile_consumers()?;
        let targets = self.compile_targets(&consumers)?;
        self.keys_are_taken(&consumers, &targets)?;
        Ok((consumers, targets))
    }

    /// All consumers, with where each stands.
    fn written(&self) -> impl Iterator<Item = (Path, &str, &Consumer)> {
        let ours = self.consumers.iter();
        let ours = ours.map(|(name, one)| (root(["consumers"]).to(name), name, one));
        let theirs = self.idempotent_consumer.consumers.iter();
        let theirs = theirs.map(|(name, one)| {
            let path = root(["idempotentConsumer", "consumers"]).to(name);
            (path, name, one)
        });
        ours.chain(theirs)
    }

    fn compile_consumers(&self) -> Result<Vec<CompiledConsumer>, Fault> {
        let found = self.consumers.len() + self.idempotent_consumer.consumers.len();
        if found > CONSUMERS_MAX {
            let message = format!("expected at most {CONSUMERS_MAX} consumers, found {found}");
            return Err(Fault::said(root(["consumers"]), message));
        }
        for (name, _) in self.idempotent_consumer.consumers.iter() {
            if self.consumers.get(name).is_some() {
                let path = root(["idempotentConsumer", "consumers"]).to(name);
                let message = "expected a consumer that is not under the other root too";
                let fault = Fault::said(path, message).of_key();
                return Err(fault.beside(root(["consumers"]).to(name)));
            }
        }
        let mut all: Vec<CompiledConsumer> = Vec::new();
        for (path, name, one) in self.written() {
            let compiled = consumer::compile(name, one).map_err(|fault| fault.under(&path))?;
            if all.iter().any(|other| other.name() == compiled.name()) {
                let message = format!("expected one consumer {}, found another", compiled.name());
                return Err(Fault::said(path, message).of_key());
            }
            all.push(compiled);
        }
        Ok(all)
    }

    fn compile_targets(
        &self,
        consumers: &[CompiledConsumer],
    ) -> Result<Vec<CompiledTarget>, Fault> {
        let path = root(["intents"]);
        let found = self.intents.len();
        if found > TARGETS_MAX {
            let message = format!("expected at most {TARGETS_MAX} targets, found {found}");
            return Err(Fault::said(path, message));
        }
        let keep = longest(consumers);
        let compiled = self.intents.iter().map(|(name, target)| {
            let compiled = target::compile(name, target, keep);
            compiled.map_err(|fault| fault.under(&path.to(name)))
        });
        compiled.collect()
    }

    /// A consumer whose intents need a key must find a target that takes one.
    fn keys_are_taken(
        &self,
        consumers: &[CompiledConsumer],
        targets: &[CompiledTarget],
    ) -> Result<(), Fault> {
        let is_taken = targets.is_empty() || targets.iter().any(|target| target.key.is_some());
        let needs = consumers
            .iter()
            .position(|one| one.policy.provider_keys_required);
        match (is_taken, needs.and_then(|at| self.written().nth(at))) {
            (false, Some((path, ..))) => {
                let message = "expected a target with vendor or key in intents, because intents may only go to such, found none";
                let path = path.to("strategy").to("externalProviderIdempotency");
                Err(Fault::said(path, message).beside(root(["intents"])))
            }
            _ => Ok(()),
        }
    }
}

/// Without a file there is no place to tell.
fn unplaced(fault: Fault) -> Error {
    Error::whole(Kind::Invalid, "", fault.to_string()).of(fault.path())
}

fn root<const N: usize>(steps: [&str; N]) -> Path {
    steps.into_iter().collect()
}

/// An intent must be remembered for as long as the message that it comes from can be replayed.
fn longest(consumers: &[CompiledConsumer]) -> Retention {
    let usual = Retention::delete_after(MESSAGE_RETENTION).expect("the usual retention is valid");
    let kept = consumers.iter().map(|one| one.policy.plan.retention);
    kept.chain([usual])
        .max_by_key(|kept| kept.keep())
        .unwrap_or(usual)
}

/// Checks the door for messages. Faults are relative to `inbox`.
fn listen(inbox: &InboxListen) -> Result<(), Fault> {
    let path = || root(["limits", "header_bytes"]);
    header_bytes(inbox.limits.header_bytes.0, path)?;
    for (name, timeout) in inbox.timeouts.all() {
        // Zero: the socket is closed at once; what is in flight is cut off.
        if !(matches!(name, "drain" | "drain_pause") && timeout.is_zero()) {
            is_timeout(timeout, || root(["timeouts", name]))?;
        }
    }
    Ok(())
}
