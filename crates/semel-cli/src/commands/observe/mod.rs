//! `semel observe`: what doors in observe mode have seen.
//!
//! The counts are in the memory of the process that observes, so it is asked, at its admin side. What is in the store under `observe:` only
//! lets several gateways see each other's first requests.
//!
//! `--topic` looks at messages of a broker in the same way, before anything is served.

mod table;
mod tally;
mod topic;

use std::path::PathBuf;
use std::time::Duration;

use semel_admin::view::{Observed, ObservedRoute};
use semel_core::Scope;

use crate::commands::ask;
use crate::commands::messages::drain::Until;
use crate::commands::messages::url::UrlArg;
use crate::discovery::ConfigArg;
use crate::error::Result;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The admin side of the process: HOST:PORT, http://…, https://… or unix:PATH; may be given many times, and the counts are added up
    /// [default: admin.listen of the configuration file, or 127.0.0.1:7071]
    #[arg(long, alias = "url", value_name = "URL")]
    admin: Vec<String>,

    /// The authorities that vouch for the admin side, as a PEM file, instead of this machine's; one that the configuration file serves on this
    /// machine is known by its own certificate
    #[arg(long, value_name = "FILE", conflicts_with = "topic")]
    ca: Option<PathBuf>,

    /// Look at a topic or stream instead, in a group of its own: the URL of Kafka, NATS JetStream or Redis Streams, as in
    /// consumers.NAME.source, in which ${VAR} is a variable of the environment. Nothing is stored or delivered
    #[arg(long, value_name = "URL", conflicts_with = "admin")]
    topic: Option<UrlArg>,

    /// With --topic: finds ids, keys and versions as this consumer of the configuration file does: NAME or NAME@VERSION
    #[arg(long, value_name = "NAME", requires = "topic")]
    consumer: Option<Scope>,

    /// With --topic: ends when nothing has come for so long and the broker says that nothing waits
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = semel_core::duration::parse, requires = "topic")]
    quiet: Duration,

    /// With --topic: ends after so many messages
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 100_000_000,
        requires = "topic"
    )]
    limit: u64,

    /// With --topic: ends after so long at the latest
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = semel_core::duration::parse, requires = "topic")]
    within: Duration,

    /// Write JSON: an object with `since` and `routes`, or the counts of a topic
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, config: &ConfigArg) -> Result<()> {
    if let Some(url) = &args.topic {
        let until = Until {
            quiet: args.quiet,
            count: args.limit,
            within: Some(args.within),
        };
        let reading = topic::Reading::new(args.consumer.as_ref(), config)?;
        return topic::run(url, reading, &until, args.json).await;
    }
    let (addresses, token) = ask::whom(&args.admin, args.ca.as_deref(), config)?;
    let mut all: Option<Observed> = None;
    for address in &addresses {
        let question = ("/api/v1/observations", "observes nothing");
        let found: Observed = ask::must(address, question, token.as_ref()).await?;
        all = Some(match all {
            Some(before) => together(before, found),
            None => found,
        });
    }
    let Some(mut found) = all else {
        return Ok(());
    };
    found
        .routes
        .sort_by_key(|row| std::cmp::Reverse(trouble(row)));
    if args.json {
        return output::json(&found);
    }
    table::print(&found, &addresses)
}

/// What stands first is what an operator should look at first.
const fn trouble(row: &ObservedRoute) -> (u64, u64, u64) {
    let repeated = row.duplicate + row.concurrent;
    (row.suspicious_key + row.mismatch, repeated, row.requests)
}

/// The sums of two processes.
fn together(mut one: Observed, other: Observed) -> Observed {
    one.since = one.since.min(other.since);
    for row in other.routes {
        let same = |known: &&mut ObservedRoute| {
            (&known.scope, &known.tenant, known.others) == (&row.scope, &row.tenant, row.others)
        };
        match one.routes.iter_mut().find(same) {
            Some(known) => add(known, row),
            None => one.routes.push(row),
        }
    }
    one
}

fn add(sum: &mut ObservedRoute, row: ObservedRoute) {
    sum.requests += row.requests;
    sum.first += row.first;
    sum.duplicate += row.duplicate;
    sum.concurrent += row.concurrent;
    sum.mismatch += row.mismatch;
    sum.suspicious_key += row.suspicious_key;
    sum.key_missing += row.key_missing;
    sum.key_invalid += row.key_invalid;
    sum.tenant_missing += row.tenant_missing;
    sum.body_too_large += row.body_too_large;
    sum.unobserved += row.unobserved;
    let (known, latest) = (&mut sum.latest, row.latest);
    known.mismatch = known.mismatch.take().or(latest.mismatch);
    known.suspicious_key = known.suspicious_key.take().or(latest.suspicious_key);
}

#[cfg(test)]
mod tests {
    use semel_core::{Identity, Timestamp};
    use semel_http::observe::{Finding, Report};
    use semel_http::{Event, RequestObserver, What};

    use super::*;

    fn seen(since: i64, clients: &[(&str, Finding)]) -> Observed {
        let report = Report::default();
        for (tenant, finding) in clients {
            let identity = Identity::parse(tenant, "pay", "k").unwrap();
            report.saw(&Event {
                scope: identity.scope(),
                identity: Some(&identity),
                what: What::Observed(*finding),
                status: 200,
                took: std::time::Duration::ZERO,
            });
        }
        Observed::of(Timestamp::from_millis(since), report.rows())
    }

    #[test]
    fn the_counts_of_several_processes_are_added_up() {
        let one = seen(2_000, &[("a", Finding::First), ("a", Finding::Duplicate)]);
        let other = seen(1_000, &[("a", Finding::Mismatch), ("b", Finding::First)]);
        let sum = together(one, other);
        assert_eq!(sum.since, Timestamp::from_millis(1_000).to_string());
        let [a, b] = sum.routes.as_slice() else {
            panic!("two clients: {sum:?}");
        };
        assert_eq!((a.requests, a.duplicate, a.mismatch), (3, 1, 1));
        assert_eq!(a.latest.mismatch.as_deref(), Some("k"));
        assert_eq!(b.requests, 1);
    }
}
