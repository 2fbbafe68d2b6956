//! Whether the brokers that consumers read answer, and whether they keep messages for longer than ids are remembered.

use std::time::Duration;

use semel_core::duration::show;
use semel_inbox::source::{Facts, Retained};
use semel_policy::File;
use tokio::time::timeout;

use super::report::Report;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serving::{self, AtBroker};
use crate::text;

/// How long a broker may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// Looks at the source of every consumer at a broker, without joining its group.
pub(super) async fn check(report: &mut Report, file: &File) -> Result<()> {
    for found in serving::at_brokers(file)? {
        match facts(&found).await {
            Ok(facts) => {
                let shown = shown(&found, &facts);
                let refusal = facts.refusal(found.keep, found.after_effect);
                let checked = match refusal {
                    None => Ok((shown, ())),
                    Some(why) => Err(bad(&found, &why)),
                };
                report.add("broker", checked);
                let warnings = facts.advice(found.keep).into_iter();
                let warnings = warnings.map(|warning| format!("{}: {warning}", found.consumer));
                report.warn("broker", warnings.collect());
            }
            // What passes keeps nothing from starting: the consumer waits for its broker.
            Err(error) if error.is_retryable() => {
                let name = found.source.name();
                let warning = format!("{}: {name} does not answer: {error}", found.consumer);
                report.warn("broker", vec![warning]);
            }
            Err(error) => {
                report.add::<()>("broker", Err(bad(&found, &error.to_string())));
            }
        }
    }
    Ok(())
}

async fn facts(found: &AtBroker) -> semel_core::Result<Facts> {
    let late = |_| {
        let message = format!("no answer within {}", show(PATIENCE));
        semel_core::Error::new(semel_core::Kind::Unavailable, message)
    };
    timeout(PATIENCE, found.source.facts())
        .await
        .map_err(late)?
}

fn shown(found: &AtBroker, facts: &Facts) -> String {
    let kept = match facts.retained {
        Some(Retained::For(kept)) => format!(", which keeps messages for {}", show(kept)),
        Some(Retained::Forever) => ", which keeps messages for ever".to_owned(),
        _ => String::new(),
    };
    let lag = facts.lag.map(|lag| {
        format!(
            "; {} for it",
            text::plural(lag, "message waits", "messages wait")
        )
    });
    format!(
        "{} reads {}{kept}{}",
        found.consumer,
        found.source.name(),
        lag.unwrap_or_default()
    )
}

fn bad(found: &AtBroker, why: &str) -> Error {
    let message = format!(
        "consumer {}: {}: {why}",
        found.consumer,
        found.source.name()
    );
    Error::new(Exit::Configuration, message)
}
