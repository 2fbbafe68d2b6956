//! `semel dlq import`: brings the dead letters of a broker into the inbox.

use std::time::Duration;

use semel_core::Scope;
use semel_core::duration;
use semel_inbox::Rule;
use semel_inbox::source::{Delivery, Locator};
use semel_policy::value::{Broker, BrokerUrl};

use crate::commands::messages::OpenInbox;
use crate::commands::messages::drain::{Until, drain};
use crate::commands::messages::intake::Intake;
use crate::commands::messages::url::UrlArg;
use crate::error::{Error, Result};
use crate::serving;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// To whom they belong: NAME or NAME@VERSION; no version means 1
    consumer: Scope,

    /// The dead letter topic, queue or stream: the URL of a broker as in consumers.NAME.source, in which ${VAR} is a variable of the environment
    url: UrlArg,

    /// Ends when nothing has come for so long and the broker says that nothing waits
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    quiet: Duration,

    /// Write the counts as JSON
    #[arg(long)]
    json: bool,
}

/// Receives until the broker is quiet. Each delivery is acknowledged once it is durable in the inbox, where it keeps its id and headers and runs as any
/// message of its consumer, unless it is known.
pub(crate) async fn run(args: &Args, open: &OpenInbox) -> Result<()> {
    open.must_take(&args.consumer).await?;
    let (consumer, known) = open.consumer(&args.consumer)?;
    let url = args.url.read()?;
    keeps_ids(&known, &url)?;
    // What a broker moved aside has its id where that broker's producers put it.
    let rule = Rule {
        id_later: Rule::broker().id_later,
        id: [known.id.clone(), Rule::broker().id].concat(),
        ..known
    };
    let group = format!("semel-dlq-{}", serving::broker_group(&args.consumer));
    let source = serving::broker_source(&args.consumer, &group, &url)?;
    let mut intake = Intake::new(open, consumer, rule);
    let until = Until {
        quiet: args.quiet,
        count: u64::MAX,
        within: None,
    };
    let drained = drain(&*source, &until, async |deliveries: &[Delivery]| {
        intake.take(deliveries).await
    });
    let drained = drained.await?;
    // What was stored is stored, however the reading ended.
    intake.counts().print(args.json)?;
    drained.verdict()
}

/// A message that was moved aside has other coordinates than before, so they cannot be its id. Advisories of JetStream stand for the messages
/// themselves, which are where they were.
fn keeps_ids(rule: &Rule, url: &BrokerUrl) -> Result<()> {
    let by_coordinates = rule.id.contains(&Locator::Coordinates);
    if !by_coordinates || is_of_advisories(url) {
        return Ok(());
    }
    let message = "the consumer's ids are coordinates, and a dead letter has others than the message had: each would run as a new message";
    Err(Error::refused(message).hint("send each under the id that it had: semel inbox send --id"))
}

fn is_of_advisories(url: &BrokerUrl) -> bool {
    let (_, options) = url.expose().split_once('?').unwrap_or_default();
    let is_asked = || options.split('&').any(|option| option == "advisories=true");
    url.broker() == Broker::Nats && is_asked()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_no_ids_of_what_was_moved_aside() {
        let rule = |id| Rule {
            id: vec![id],
            ..Rule::default()
        };
        let kept = |rule: &Rule, url: &str| {
            let url: UrlArg = url.parse().unwrap();
            keeps_ids(rule, &url.read().unwrap()).is_ok()
        };
        let (header, coordinates) = (
            rule(Locator::Header("message-id".into())),
            rule(Locator::Coordinates),
        );
        assert!(kept(&header, "kafka://h/t"));
        assert!(!kept(&coordinates, "kafka://h/t"));
        assert!(!kept(&coordinates, "nats://h/S?durable=d"));
        assert!(kept(&coordinates, "nats://h/S?durable=d&advisories=true"));
        assert!(!kept(&coordinates, "kafka://h/t?advisories=true"));
    }
}
