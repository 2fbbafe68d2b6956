//! Numbers for a metrics server, in the OpenMetrics text form that Prometheus reads.
//!
//! Neither a key nor a tenant is ever a label, and the numbers of scopes, consumers and event types that are is bounded by
//! [`SCOPES_MAX`], [`CONSUMERS_MAX`] and [`EVENT_TYPES_MAX`]. Counting touches atomics, behind a few read locks that are held to look one entry up:
//! by name, and by labels where these are more than a name. Only a name or a set of labels that was not seen before is written and allocated.

mod alerts;
mod beneath;
mod bounded;
mod budgets;
mod counts;
mod described;
mod duplicates;
pub(crate) mod flow;
mod gauges;
mod histogram;
mod inbox;
mod limited;
mod ports;
mod process;
mod readings;
mod requests;
mod spans;
mod upstream;
mod verbs;

pub use crate::sweeps::WHOLE;
pub use described::{Described, described};
pub(crate) use duplicates::Counted;
pub(crate) use inbox::WatchedConsumer;
pub use inbox::{CONSUMERS_MAX, EVENT_TYPES_MAX};
pub(crate) use readings::Readings;
pub use requests::SCOPES_MAX;
pub(crate) use verbs::Met;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use semel_core::clock::Doubt;
use semel_core::duplicate::Duplicate;
use semel_core::record::{Claim, UnknownCause};
use semel_core::store::{self, Swept};
use semel_core::{Budget, Error, Scope, Timestamp};
use semel_http::event::Answered;
use semel_inbox::CircuitState;
use semel_inbox::source::SourceView;

use crate::sweeps::{Moment, Sweeps};
use crate::tokens::Tokens;
use crate::{log, view};
use alerts::Alerts;
use beneath::Beneath;
use budgets::Budgets;
use counts::Counts;
use duplicates::Duplicates;
use flow::{Flow, Through};
use gauges::Gauges;
use inbox::{Circuits, Sources};
use limited::Limited;
use ports::Ports;
use process::Process;
use requests::Requests;
use spans::Spans;
use upstream::Upstream;
use verbs::Verbs;

/// The media type of [`Metrics::text`].
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Everything that is counted and measured.
///
/// Doors report to it as a [`semel_http::RequestObserver`], stores as a [`semel_core::store::StoreObserver`], engines as a
/// [`semel_inbox::Observer`], and [`crate::Metered`] counts what a store answers.
pub struct Metrics {
    registry: Registry,
    requests: Requests,
    pub(crate) verbs: Verbs,
    beneath: Beneath,
    budgets: Budgets,
    limited: Limited,
    gauges: Gauges,
    counted: inbox::Counted,
    duplicates: Duplicates,
    inbox: inbox::Gauges,
    circuits: Circuits,
    sources: Sources,
    ports: Ports,
    spans: Spans,
    flow: Flow,
    process: Process,
    upstream: Upstream,
    alerts: Alerts,
    counts: Counts,
}

impl Metrics {
    /// Nothing has been counted yet.
    pub fn new() -> Self {
        let mut registry = Registry::default();
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register("semel_build", "This build of Semel", Info::new(version));
        Self {
            requests: Requests::register(&mut registry),
            verbs: Verbs::register(&mut registry),
            beneath: Beneath::register(&mut registry),
            budgets: Budgets::register(&mut registry),
            limited: Limited::register(&mut registry),
            gauges: Gauges::register(&mut registry),
            counts: Counts::register(&mut registry),
            counted: inbox::Counted::register(&mut registry),
            duplicates: Duplicates::register(&mut registry),
            inbox: inbox::Gauges::register(&mut registry),
            circuits: Circuits::register(&mut registry),
            sources: Sources::register(&mut registry),
            ports: Ports::register(&mut registry),
            spans: Spans::register(&mut registry),
            process: Process::register(&mut registry),
            upstream: Upstream::register(&mut registry),
            alerts: Alerts::register(&mut registry),
            registry,
            flow: Flow::default(),
        }
    }

    /// Shows what is used of a budget, and its limit, from now on.
    pub fn watch_budget(&self, name: &'static str, budget: &Budget) {
        self.budgets.watch(name, budget);
    }

    /// What went through since the process began.
    pub(crate) fn through(&self) -> Through {
        self.flow.through()
    }

    /// How the sources of this process stand.
    pub(crate) fn source_views(&self) -> Vec<SourceView> {
        self.sources.views()
    }

    /// What is used of each budget, and how much may be.
    pub(crate) fn budgets(&self) -> Vec<(&'static str, usize, usize)> {
        self.budgets.read()
    }

    /// All series as text.
    pub fn text(&self) -> String {
        self.beneath.refresh();
        self.budgets.refresh();
        self.counts.refresh();
        self.ports.refresh();
        self.spans.refresh();
        self.sources.refresh();
        self.process.refresh();
        let mut text = String::new();
        // Writing to a string cannot fail, and no metric of ours does.
        encode(&mut text, &self.registry).expect("our metrics can be written to a string");
        text
    }

    /// Shows what is going on at a port of the process, by its name.
    pub fn watch_port(
        &self,
        port: &'static str,
        look: impl Fn() -> semel_listen::Load + Send + Sync + 'static,
    ) {
        self.ports.watch(port, Box::new(look));
    }

    /// Shows what became of spans from now on: each result with how many came to it so far.
    pub fn watch_spans(&self, look: Box<dyn Fn() -> Vec<(&'static str, u64)> + Send + Sync>) {
        self.spans.watch(look);
    }

    /// Shows how the sources of an engine stand, and those of no engine before it; with nothing, those of none.
    pub fn watch_sources(&self, look: Option<Box<dyn Fn() -> Vec<SourceView> + Send + Sync>>) {
        self.sources.watch(look);
    }

    /// Shows whether the store reads and writes, as readiness has found.
    pub(crate) fn store_is_up(&self, up: bool) {
        self.gauges.is_up(up);
    }

    /// Shows how often the read cache was asked: hits and misses.
    pub fn watch_cache(&self, look: impl Fn() -> (u64, u64) + Send + Sync + 'static) {
        self.process.watch_cache(Box::new(look));
    }

    /// Shows when the certificate of a port ends, in Unix time.
    pub fn watch_certificate(
        &self,
        port: &'static str,
        look: impl Fn() -> Option<i64> + Send + Sync + 'static,
    ) {
        self.process.watch_certificate(port, Box::new(look));
    }

    /// Shows when the tokens end that do, and no others.
    pub fn set_tokens(&self, tokens: &Tokens) {
        let ends = tokens.iter().filter_map(|token| {
            let name = token.name().as_str().to_owned();
            Some((name, token.expires()?))
        });
        self.process.set_tokens(ends);
    }

    /// The configuration in force was loaded at this moment.
    pub fn configuration_loaded(&self, now: Timestamp) {
        self.process.loaded(now);
    }

    /// The configuration was read again and taken over at this moment, or could not be.
    pub fn reloaded(&self, result: Result<Timestamp, ()>) {
        self.process.reloaded(result);
    }

    /// A run could not tell what became of its effect.
    pub(crate) fn became_unknown(&self, cause: UnknownCause) {
        self.beneath.became_unknown(cause);
    }

    /// Shows the circuit of a consumer or target as closed, before an engine has said anything about it.
    pub fn expect_circuit(&self, consumer: &Scope) {
        self.circuits.set(consumer, CircuitState::Closed);
    }

    /// Shows no circuit of a consumer or target, because no engine has it any more.
    pub fn forget_circuit(&self, consumer: &Scope) {
        self.circuits.forget(consumer);
    }

    /// How the circuit of a consumer or target stands in this process; `None` if no engine here has it.
    pub fn circuit_of(&self, consumer: &Scope) -> Option<CircuitState> {
        self.circuits.of(consumer)
    }

    /// What came again, by scope, since this was made.
    pub fn duplicates(&self) -> view::Duplicates {
        view::Duplicates::of(self.duplicates.since(), self.duplicates.rows())
    }

    /// Counts a duplicate.
    pub(crate) fn count_duplicate(&self, duplicate: &Duplicate<'_>) {
        self.duplicates.count(duplicate);
    }

    /// A part of the store sweeps itself from now on; until its first step has ended, its last one is now.
    pub fn expect_sweep(&self, part: &'static str) {
        self.beneath.sweeps().expect(part, Moment::now());
    }

    /// A step of the sweep of a part of the store has ended, in this share of it.
    pub fn swept_part(&self, place: (&'static str, usize), step: Result<&Swept, &Error>) {
        self.beneath.stepped(place, step);
        if let Err(error) = step {
            log::sweep_failed(place.0, error);
        }
    }

    /// Other processes have swept a part of the store, and nothing is left to do.
    pub fn swept_part_elsewhere(&self, part: &'static str) {
        self.beneath.sweeps().swept_elsewhere(part, Moment::now());
    }

    pub(crate) fn sweeps(&self) -> Arc<Sweeps> {
        self.beneath.sweeps().clone()
    }

    /// Counts what a step of the sweep did.
    pub(crate) fn count_swept(&self, swept: &Swept) {
        self.beneath.swept(swept);
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl semel_http::RequestObserver for Metrics {
    fn saw(&self, event: &semel_http::Event<'_>) {
        self.flow.saw(event);
        self.requests.saw(event);
    }

    fn saw_duplicate(&self, duplicate: &Duplicate<'_>) {
        self.count_duplicate(duplicate);
    }

    fn saw_unguarded(&self, method: &axum::http::Method) {
        self.requests.saw_unguarded(method);
    }

    fn saw_upstream(&self, scope: &Scope, answered: Answered, took: Duration) {
        self.upstream.saw(scope, answered, took);
    }
}

impl semel_http::quota::QuotaObserver for Metrics {
    fn limited(&self, limit: semel_http::quota::Limit, scope: &Scope) {
        self.limited.limited(limit, scope);
    }
}

impl store::StoreObserver for Metrics {
    fn committed(&self, calls: usize, took: Duration) {
        self.beneath.committed(calls, took);
    }

    fn lease_ended(&self, claim: &Claim) {
        self.beneath.lease_ended();
        log::lease_ended(claim);
    }

    fn swept_share(&self, share: usize, step: Result<&Swept, &Error>) {
        self.swept_part((WHOLE, share), step);
    }

    fn swept(&self, step: Result<&Swept, &Error>) {
        self.swept_share(0, step);
    }

    fn swept_elsewhere(&self) {
        self.swept_part_elsewhere(WHOLE);
    }

    fn clock_doubted(&self, doubt: Option<Doubt>) {
        self.beneath.clock_doubted(doubt);
        log::clock_doubted(doubt);
    }
}
