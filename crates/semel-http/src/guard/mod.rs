//! The one implementation of Semel's HTTP semantics.
//!
//! A door calls [`Guard::admit`] with each request. `admit` reads what tells which operation is meant
//! and never runs anything. What is to be guarded comes back as [`Admitted`], and [`Admitted::run`]
//! claims, runs, settles, replays or refuses.
//!
//! - `admit` finds key, tenant and fingerprint, `call` in a message of the Model Context Protocol; `spool` reads the body
//!   within its limits.
//! - `limited` refuses tenants that bring more than their limits allow.
//! - `exchange` is what happens under a claim: the call to the service and what its answer means;
//!   `handover` tells whether the request left our hands.
//! - `stream` hands on a response that is too large to be kept; `silence` watches that the service goes
//!   on sending it.
//! - `events` hands on a stream of events in which the answer to a call stands.
//! - `begun` is when a request arrived, and its span.
//! - `answer` turns the core's replies and refusals into responses; `echo` is what they repeat of their requests; `outcome` says by the key what
//!   became of an operation.

mod admit;
mod answer;
mod begun;
mod call;
mod echo;
mod events;
mod exchange;
mod handover;
mod limited;
mod outcome;
mod recent;
mod silence;
mod spool;
mod stream;

use std::fmt;
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::Either;
use semel_core::once::Places;
use semel_core::{Budget, Once};

use crate::body::{AnyBody, Body};
use crate::event::RequestObserver;
use crate::memory::Memory;
use crate::observe::{Observation, Observer};
use crate::quota::Quotas;
use crate::rules::{Rules, Unknown};

pub use answer::Admitted;
pub(crate) use begun::Begun;
pub(crate) use echo::Echo;
pub use handover::Handover;
pub use outcome::{no_outcome, only_asked};
pub(crate) use spool::{Read, Spooled, spool};

/// Guards the requests of one route. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Guard(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) once: Once,
    pub(crate) rules: Rules,
    pub(crate) watch: Arc<dyn RequestObserver>,
    pub(crate) observer: Observer,
    pub(crate) budgets: Budgets,
    recent: recent::Recent,
}

/// What guards may use at once. Cheap to clone; guards with clones of one share it.
#[derive(Debug, Clone)]
pub struct Budgets {
    /// Bytes of bodies, requests' and responses', that are held in memory.
    pub memory: Memory,
    /// Request bodies that are slow to arrive.
    pub receiving: Budget,
    /// Operations that run, and duplicates that wait.
    pub places: Places,
    /// What each tenant may bring.
    pub quotas: Quotas,
}

impl Default for Budgets {
    /// [`BUFFERED_BYTES`](crate::memory::BUFFERED_BYTES) of memory and no other limit: the server around a layer has its own, and routes may
    /// limit their tenants by [`Rules::quota`].
    fn default() -> Self {
        Self {
            memory: Memory::default(),
            receiving: Budget::unlimited(),
            places: Places::unlimited(),
            quotas: Quotas::default(),
        }
    }
}

impl Guard {
    /// A guard by `rules`, on the store of `once`. Guards of one `Once` wake each other's duplicates.
    pub fn new(once: &Once, rules: Rules, watch: Arc<dyn RequestObserver>) -> Self {
        Self::within(once, rules, watch, Budgets::default())
    }

    /// The same, within budgets that it shares with others.
    pub fn within(
        once: &Once,
        rules: Rules,
        watch: Arc<dyn RequestObserver>,
        budgets: Budgets,
    ) -> Self {
        let once = once.clone().within(budgets.places.clone());
        let mut once = once.with_policy(rules.policy());
        if let Unknown::Reconcile(reconciler) = &rules.unknown {
            let reconciler = reconciler.clone();
            once = once.reconcile_with(reconciler);
        }
        let observer = Observer::new(&once, &rules);
        Self(Arc::new(Inner {
            once,
            rules,
            watch,
            observer,
            budgets,
            recent: recent::Recent::default(),
        }))
    }

    /// What it decides by.
    pub fn rules(&self) -> &Rules {
        &self.0.rules
    }
}

/// What is to be done with a request.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is moved once, and a box would be an allocation for each guarded request"
)]
pub enum Admission<B> {
    /// Answer so; nothing runs.
    Refused(Response<Body>),
    /// Forward it unguarded: it has no key, and the route lets it pass.
    Pass(Request<Either<B, Body>>),
    /// Forward it unguarded, and tell the observation how it ended.
    Observed(Request<Either<B, Body>>, Observation),
    /// Run it.
    Guarded(Admitted),
}

/// Whoever can do what a request asks: a service behind a proxy, or the inner service of a layer.
pub trait Upstream: Send + 'static {
    /// The body of its responses.
    type Body: AnyBody;

    /// Tells, while [`Upstream::call`] is under way, whether the request has been handed over. Asked
    /// once, before the call. A call that is given up before that leaves nothing unknown.
    fn handover(&self) -> Handover {
        Handover::default()
    }

    /// Sends the request. An error must tell whether anything can have happened.
    fn call(
        self,
        request: Request<Body>,
    ) -> impl Future<Output = Result<Response<Self::Body>, Failure>> + Send;
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Not one byte of the request reached the service: nothing happened.
    NotReached(String),
    /// The service, or the way to it, failed after it may have begun.
    Broken(String),
    /// The service did not answer in time; it may have begun.
    TimedOut(String),
    /// The service answered with something that is no answer: it did something, and what is not known.
    Unreadable(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReached(why) => write!(f, "the service was not reached: {why}"),
            Self::Broken(why) => write!(f, "the service broke off: {why}"),
            Self::TimedOut(why) => write!(f, "the service did not answer in time: {why}"),
            Self::Unreadable(why) => write!(f, "the service's answer cannot be used: {why}"),
        }
    }
}

impl std::error::Error for Failure {}
