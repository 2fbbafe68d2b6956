//! `semel observe --topic URL`: reads a topic in a group of its own, delivers nothing, and says what Semel would have to deal with.

use std::time::Duration;

use semel_core::Scope;
use semel_core::duration::show;
use semel_inbox::source::{Delivery, Retained};
use semel_inbox::{Consumer, Rule, Source};
use semel_policy::value::{Broker, BrokerUrl};

use super::tally::{Counts, IDS_MAX, Tally};
use crate::commands::messages::drain::{Until, answered, drain};
use crate::commands::messages::url::UrlArg;
use crate::discovery::ConfigArg;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{output, serving, text};

/// Whose messages they would be.
const CONSUMER: &str = "semel-observe";
/// What brokers call the option that names a group.
const GROUPS: [&str; 2] = ["group", "durable"];
const QUEUE: &str =
    "a queue cannot be observed: whatever reads a message takes it away from its consumer";

/// Where messages say who they are.
pub(super) struct Reading {
    consumer: Consumer,
    rule: Rule,
}

impl Reading {
    /// As a consumer of the file has it, or as is usual at brokers.
    pub(super) fn new(name: Option<&Scope>, config: &ConfigArg) -> Result<Self> {
        let Some(name) = name else {
            let scope = CONSUMER.parse().expect("a plain name is a scope");
            return Ok(Self {
                consumer: Consumer::new(scope),
                rule: Rule::broker(),
            });
        };
        let bad = |error: semel_policy::Error| Error::new(Exit::Configuration, error.to_string());
        let known = config.load()?.map(|file| file.consumers()).transpose();
        let known = known.map_err(bad)?.unwrap_or_default();
        let found = known.iter().find(|known| known.name() == name);
        let found = found.ok_or_else(|| {
            let message = format!("there is no consumer {name} in a configuration file");
            Error::new(Exit::NotFound, message)
        })?;
        Ok(Self {
            consumer: found.policy.clone(),
            rule: serving::rule(found),
        })
    }
}

pub(super) async fn run(url: &UrlArg, reading: Reading, until: &Until, json: bool) -> Result<()> {
    let (url, mut tally) = (readable(url)?, Tally::default());
    let Reading { consumer, rule } = reading;
    let source = serving::broker_source(consumer.name(), CONSUMER, &url)?;
    must_keep(&*source).await?;
    let drained = drain(&*source, until, async |deliveries: &[Delivery]| {
        for Delivery { raw, .. } in deliveries {
            for message in rule.messages(&consumer, raw) {
                tally.look(&message, raw.published_at);
            }
        }
        Ok(())
    });
    let drained = drained.await?;
    // What was seen was seen, however the reading ended.
    match json {
        true => output::json(&tally.counts),
        false => print(&tally.counts),
    }?;
    if drained.is_cut {
        output::note("ended by --limit or --within: the rest was not looked at");
    }
    tell_limit(&tally.counts);
    drained.verdict()
}

/// Refuses a stream that deletes what is acknowledged, before anything is read. A broker that does not say so is not read either.
async fn must_keep(source: &dyn Source) -> Result<()> {
    let facts = answered(source, source.facts()).await?;
    match facts.retained == Some(Retained::UntilAcked) {
        true => Err(Error::new(Exit::Usage, QUEUE)),
        false => Ok(()),
    }
}

fn tell_limit(counts: &Counts) {
    if counts.unobserved > 0 {
        output::note(&format!(
            "only the first {} ids are remembered: duplicates of these are counted to the end, and {} with other ids were compared with nothing, \
             so there may be more duplicates, conflicts, ids made for each attempt and gaps than are counted",
            text::count(IDS_MAX as u64),
            text::plural(counts.unobserved, "message", "messages")
        ));
    }
}

/// Only what can be read without taking it away from others.
fn readable(url: &UrlArg) -> Result<BrokerUrl> {
    let url = url.read()?;
    match url.broker() {
        Broker::Kafka | Broker::Nats | Broker::RedisStreams => Ok(in_own_group(url)),
        _ => Err(Error::new(Exit::Usage, QUEUE)),
    }
}

/// The same without the group of a consumer, whose place would move: a URL of the file names one.
fn in_own_group(url: BrokerUrl) -> BrokerUrl {
    let is_foreign = |option: &str| {
        let (name, value) = option.split_once('=').unwrap_or_default();
        GROUPS.contains(&name) && !value.starts_with(CONSUMER)
    };
    let own = url.without_options(is_foreign);
    if own != url {
        output::note(&format!(
            "read in the group {CONSUMER}, so that the group of the URL stays where it is; one that begins with {CONSUMER} may be named"
        ));
    }
    own
}

fn print(counts: &Counts) -> Result<()> {
    let late = show(Duration::from_millis(counts.latest_duplicate_ms));
    let late = format!("the latest came {late} after the first");
    let lines = [
        ("messages", counts.messages, ""),
        (
            "duplicates",
            counts.duplicates,
            if counts.duplicates > 0 { &late } else { "" },
        ),
        (
            "conflicts",
            counts.conflicts,
            "another content under a known id",
        ),
        (
            "unreadable",
            counts.unreadable,
            "no id, or a rule is broken",
        ),
        (
            "same content",
            counts.same_content,
            "under another id: ids may be made for each attempt",
        ),
        (
            "times as ids",
            counts.times,
            "a time is another one for each attempt",
        ),
        ("gaps", counts.gaps, "versions that are missing"),
        (
            "older",
            counts.older,
            "versions at or below one that came before",
        ),
        (
            "unobserved",
            counts.unobserved,
            "more ids than are remembered: the numbers above are lower bounds",
        ),
    ];
    output::data(&text::counted(&lines))
}
