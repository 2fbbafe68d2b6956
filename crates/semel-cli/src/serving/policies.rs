//! What the file says about consumers, for operators' acts.

use semel_admin::Policies;
use semel_core::inbox::Plan;
use semel_inbox::Replay;
use semel_policy::File;

use super::Source;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// The plans and replay policies of all consumers and of the senders of intents.
pub(crate) fn policies(file: &File) -> Result<Policies> {
    let bad = |error: semel_policy::Error| Error::new(Exit::Configuration, error.to_string());
    let consumers = file.consumers().map_err(bad)?.into_iter();
    let consumers = consumers.map(|consumer| (consumer.policy.plan, consumer.policy.replay));
    let senders = file.targets().map_err(bad)?.into_iter();
    let senders = senders.map(|target| {
        let mut plan = Plan::new(target.sender);
        plan.retention = target.retention;
        // What was sent reached others: it is sent again only by force.
        (plan, Replay::default())
    });
    Ok(Policies::new(consumers.chain(senders)))
}

/// The same of a process that serves. Without a file that names them, it says nothing about which consumers there are.
pub(super) fn policies_of(file: &File, source: &Source) -> Result<Policies> {
    let policies = policies(file)?;
    match source.has_file() || policies.names().next().is_some() {
        true => Ok(policies),
        false => Ok(Policies::default()),
    }
}
