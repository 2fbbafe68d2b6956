//! `semel observe`: what doors in observe mode have seen.
//!
//! The counts are in the memory of the process that observes, so it is asked, at its admin side. What is in the store under `observe:` only
//! lets several gateways see each other's first requests.

mod ask;
mod table;

use semel_admin::view::{Observed, ObservedRoute};

use crate::discovery::ConfigArg;
use crate::error::Result;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The admin side of the process: HOST:PORT, http://…, https://… or unix:PATH; may be given many times, and the counts are added up
    /// [default: admin.listen of the configuration file, or 127.0.0.1:7071]
    #[arg(long, value_name = "URL")]
    admin: Vec<String>,

    /// Write JSON: an object with `since` and `routes`
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, config: &ConfigArg) -> Result<()> {
    let (addresses, token) = ask::whom(&args.admin, config)?;
    let mut all: Option<Observed> = None;
    for address in &addresses {
        let found = ask::observed(address, token.as_ref()).await?;
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
