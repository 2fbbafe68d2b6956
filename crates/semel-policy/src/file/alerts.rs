//! `alerts`: what the process judges about itself, and who hears of it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::value::{LargerThan, MoreThan, Name, Named, Secret, ShareAbove, TimeBound, Word};

/// Which alerts are judged, and who hears of them. What a consumer is judged by is in its own alerts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Alerts {
    /// What this process is called in notices. Default: the name of the machine, a slash, and the address of the admin side.
    pub instance: Option<Word<Name>>,
    /// Who hears of alerts that begin or end, by POST. Default: only log, metrics, dashboard and API.
    pub webhook: Option<AlertWebhook>,
    /// Beyond which values alerts fire, by their names with underscores; off switches one off.
    pub thresholds: Thresholds,
}

/// A receiver of notices about alerts. It gets each notice again until it takes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertWebhook {
    /// Where notices are posted; kept secret, because many receivers are known by their address alone.
    pub url: Word<Secret>,
    /// Headers that are sent; their values are kept secret.
    #[serde(default)]
    pub headers: Named<Word<Secret>>,
    /// Signs notices by Standard Webhooks: whsec_ and a secret in base64.
    pub secret: Option<Word<Secret>>,
    /// How long the receiver may take to answer. Default: 10s.
    pub timeout: Option<Word<Duration>>,
}

/// Beyond which values alerts fire, by their names with underscores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// The store does not read and write. Default: 0.
    pub store_away: Option<Word<MoreThan>>,
    /// Late outcomes in an hour: an effect may have happened twice. Default: 0.
    pub side_effect_duplicate: Option<Word<MoreThan>>,
    /// How far the clock jumped ahead of the store. Default: 0s.
    pub clock_jump: Option<Word<TimeBound>>,
    /// Unknown outcomes that wait for 5 minutes. Default: 0.
    pub unknown_waiting: Option<Word<MoreThan>>,
    /// How long the oldest operation has been running. Default: 15m.
    pub running_long: Option<Word<TimeBound>>,
    /// The share of duplicates among a route's requests in 5 minutes. Default: 10%.
    pub duplicate_rate: Option<Word<ShareAbove>>,
    /// What 95 % of the claims and look-ups in 5 minutes did not exceed. Default: 100ms.
    pub lookup_slow: Option<Word<TimeBound>>,
    /// The share of claims in 5 minutes that found their operation running. Default: 1%.
    pub lock_conflicts: Option<Word<ShareAbove>>,
    /// The size of the store on disk. Default: 1000000000.
    pub store_large: Option<Word<LargerThan>>,
    /// Steps of the sweep that failed in an hour. Default: 0.
    pub sweep_failing: Option<Word<MoreThan>>,
    /// How long ago the store's own sweep took a step, or for how long each step has left something. Default: 1h.
    pub sweep_behind: Option<Word<TimeBound>>,
    /// The share of a budget that is used for 2 minutes. Default: 90%.
    pub budget_full: Option<Word<ShareAbove>>,
    /// Requests with a key in an hour that no route guards. Default: 0.
    pub unguarded_requests: Option<Word<MoreThan>>,
    /// How long a certificate is still valid. Default: 14d.
    pub certificate_expiring: Option<Word<TimeBound>>,
    /// How long a token of the admin side is still taken. Default: 14d.
    pub token_expiring: Option<Word<TimeBound>>,
    /// The last reload failed. Default: 0.
    pub reload_failed: Option<Word<MoreThan>>,
    /// Messages of a consumer in progress whose lease ended 2 minutes ago. Default: 0.
    pub stale_in_progress: Option<Word<MoreThan>>,
    /// Sources of a consumer that are not read for 2 minutes. Default: 0.
    pub source_not_read: Option<Word<MoreThan>>,
    /// Messages in an hour that were replayed against their policy. Default: 0.
    pub replay_forced: Option<Word<MoreThan>>,
    /// Messages of a consumer in an hour that its handler refused for good. Default: 0.
    pub terminal_failures: Option<Word<MoreThan>>,
    /// Messages wait for a consumer that the file does not name. Default: true.
    pub unserved: Option<bool>,
    /// The handler or provider of a consumer is away. Default: true.
    pub circuit_open: Option<bool>,
    /// A person has paused a consumer. Default: true.
    pub paused: Option<bool>,
}

impl Thresholds {
    /// What the file says, by the names of alerts: counts, seconds, shares of 1, bytes; `None` switches an alert off.
    pub fn written(&self) -> Vec<(&'static str, Option<f64>)> {
        let numbers = self.numbers();
        let switches = [
            ("unserved", self.unserved),
            ("circuit-open", self.circuit_open),
            ("paused", self.paused),
        ];
        // What is switched on has the threshold of a number that is there or not.
        let switches = switches.map(|(name, on)| (name, on.map(|on| on.then_some(0.0))));
        let all = numbers.into_iter().chain(switches);
        all.filter_map(|(name, written)| Some((name, written?)))
            .collect()
    }

    fn numbers(&self) -> [(&'static str, Written); 20] {
        [
            ("store-away", count(self.store_away)),
            ("side-effect-duplicate", count(self.side_effect_duplicate)),
            ("clock-jump", seconds(self.clock_jump)),
            ("unknown-waiting", count(self.unknown_waiting)),
            ("running-long", seconds(self.running_long)),
            ("duplicate-rate", share(self.duplicate_rate)),
            ("lookup-slow", seconds(self.lookup_slow)),
            ("lock-conflicts", share(self.lock_conflicts)),
            ("store-large", bytes(self.store_large)),
            ("sweep-failing", count(self.sweep_failing)),
            ("sweep-behind", seconds(self.sweep_behind)),
            ("budget-full", share(self.budget_full)),
            ("unguarded-requests", count(self.unguarded_requests)),
            ("certificate-expiring", seconds(self.certificate_expiring)),
            ("token-expiring", seconds(self.token_expiring)),
            ("reload-failed", count(self.reload_failed)),
            ("stale-in-progress", count(self.stale_in_progress)),
            ("source-not-read", count(self.source_not_read)),
            ("replay-forced", count(self.replay_forced)),
            ("terminal-failures", count(self.terminal_failures)),
        ]
    }
}

/// What is written for an alert, if anything; `None` inside switches it off.
type Written = Option<Option<f64>>;

fn count(written: Option<Word<MoreThan>>) -> Written {
    written.map(|at| at.0.0.map(|count| count as f64))
}

fn seconds(written: Option<Word<TimeBound>>) -> Written {
    written.map(|at| at.0.0.map(|time| time.as_secs_f64()))
}

fn share(written: Option<Word<ShareAbove>>) -> Written {
    let share = |hundredths: u32| f64::from(hundredths) / 10_000.0;
    written.map(|at| at.0.0.map(share))
}

fn bytes(written: Option<Word<LargerThan>>) -> Written {
    written.map(|at| at.0.0.map(|size| size.0 as f64))
}
