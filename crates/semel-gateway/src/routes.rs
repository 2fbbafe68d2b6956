//! Finds the route of a request, however the request is spelled.
//!
//! - `router` keeps the patterns of one method and matches paths the way lenient services read them.
//! - `methods` is which methods a request may mean.
//!
//! Routes for a host come before those for any host. What is found here decides about guarding only: a request is
//! forwarded as its client wrote it.

mod methods;
mod router;

use std::collections::HashMap;
use std::sync::Arc;

use http::{HeaderName, Method, Request, Uri};
use semel_http::fingerprint::UsualReading;
use semel_http::host::{self, HostPattern};
use semel_http::key::{self, IDEMPOTENCY_KEY};
use semel_http::rules::{Missing, Rules};
use semel_http::spelling::Reading;
use semel_http::{Guard, Problem, RequestObserver, Type};

use crate::config::Route;
use crate::error::{Error, Result};
use crate::hygiene::Relied;
use crate::pool::Pool;
use crate::reconcile::Reconciler;
use router::{Ambiguous, Hit, Router, Spelled};

/// A route that is ready for requests.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub(crate) guard: Guard,
    pub(crate) pool: Arc<Pool>,
    /// What asks the route's reconcile URL.
    pub(crate) reconciler: Option<Arc<Reconciler>>,
    /// The pattern, for traces.
    pub(crate) path: Box<str>,
}

/// What a pattern found in a path.
pub(crate) type Params = Vec<(String, String)>;

/// The route of a request and what its pattern found in the path, if a route guards it.
pub(crate) type Found = Result<Option<(Arc<Guarded>, Params)>, Problem>;

/// The routes of some hosts, each method's on its own: what one method's patterns are does not matter to another's.
type Methods = HashMap<Method, Router>;

/// All routes.
#[derive(Debug)]
pub(crate) struct Table {
    any_host: Methods,
    /// By the host's name, in small letters.
    hosts: HashMap<String, Methods>,
    /// Of those that match a host the first wins; the longest name stands first.
    wildcards: Vec<(HostPattern, Methods)>,
    /// Headers in which some route looks for a key.
    key_headers: Vec<HeaderName>,
    relied: Relied,
    watch: Arc<dyn RequestObserver>,
}

impl Table {
    /// A table of `routes`, whose patterns must not contradict each other.
    pub(crate) fn new(
        routes: &[(Route, Arc<Guarded>)],
        watch: Arc<dyn RequestObserver>,
    ) -> Result<Self> {
        let mut table = Self {
            any_host: Methods::new(),
            hosts: HashMap::new(),
            wildcards: Vec::new(),
            key_headers: key_headers(routes),
            relied: Relied::on(routes.iter().map(|(route, _)| &route.rules)),
            watch,
        };
        for (number, (route, guarded)) in (1..).zip(routes) {
            route
                .check()
                .map_err(|why| Error::invalid(format!("route {number} ({}) {why}", route.path)))?;
            table.each(route, |router, method| {
                let inserted = router.insert(route, guarded);
                inserted.map_err(|why| {
                    let path = &route.path;
                    Error::invalid(format!("route {number} ({method} {path}) {why}"))
                })
            })?;
        }
        // What `{*rest}` leaves out: nothing at all. A route that names that path itself is there already.
        for (route, guarded) in routes {
            table.each(route, |router, _| {
                router.insert_parent(route, guarded);
                Ok(())
            })?;
        }
        table
            .wildcards
            .sort_by_key(|(host, _)| std::cmp::Reverse(host.name().len()));
        Ok(table)
    }

    /// Visits the router of each host and method of a route.
    fn each(
        &mut self,
        route: &Route,
        mut visit: impl FnMut(&mut Router, &Method) -> Result<()>,
    ) -> Result<()> {
        let hosts = route.hosts.iter().map(Some);
        let any = route.hosts.is_empty().then_some(None);
        for host in hosts.chain(any) {
            let methods = self.methods(host);
            for method in &route.methods {
                visit(methods.entry(method.clone()).or_default(), method)?;
            }
        }
        Ok(())
    }

    fn methods(&mut self, host: Option<&HostPattern>) -> &mut Methods {
        let Some(host) = host else {
            return &mut self.any_host;
        };
        if !host.is_wildcard() {
            return self.hosts.entry(host.name().to_owned()).or_default();
        }
        let known = self.wildcards.iter().position(|(known, _)| known == host);
        let at = known.unwrap_or_else(|| {
            self.wildcards.push((host.clone(), Methods::new()));
            self.wildcards.len() - 1
        });
        &mut self.wildcards[at].1
    }

    /// How a request for a route that derives keys is usually read, if it is written otherwise.
    pub(crate) fn usual_reading<B>(rules: &Rules, request: &Request<B>) -> Option<UsualReading> {
        let derives = rules.missing == Missing::Derive
            || rules
                .key
                .iter()
                .any(|source| *source == key::Source::Derive);
        if !derives {
            return None;
        }
        let (method, reading) = (
            methods::usual(request.method()),
            Reading::of(request.uri().path()),
        );
        if *method == *request.method() && reading.folded == request.uri().path() {
            return None;
        }
        let path = match request.uri().query() {
            Some(query) => format!("{}?{query}", reading.folded),
            None => reading.folded.into_owned(),
        };
        let mut uri = request.uri().clone().into_parts();
        uri.path_and_query = Some(path.parse().ok()?);
        Some(UsualReading {
            method: method.into_owned(),
            uri: Uri::from_parts(uri).ok()?,
        })
    }

    /// The headers that the gateway acts on.
    pub(crate) const fn relied(&self) -> &Relied {
        &self.relied
    }

    /// The route for a request, or a refusal if services could disagree about which one it is.
    pub(crate) fn find<B>(&self, request: &Request<B>) -> Found {
        let named = methods::named(request);
        self.choose(request, &named)
            .map_err(|Ambiguous(why)| Problem::new(Type::BadRequest, format!("{why}; nothing ran")))
    }

    fn choose<B>(
        &self,
        request: &Request<B>,
        named: &[Method],
    ) -> Result<Option<(Arc<Guarded>, Params)>, Ambiguous> {
        let path = Spelled::new(request.uri().path());
        let groups = self.groups(request);
        let own = methods::usual(request.method());
        let is_own = *request.method() == *own;
        let mut found = groups.read(&own, &path, is_own)?;
        for method in named {
            let other = groups.read(method, &path, false)?;
            found = match (found, other) {
                (Some(a), Some(b)) if !Arc::ptr_eq(a.guarded(), b.guarded()) => {
                    // Without a key it passes in either case.
                    let passes = |hit: &Hit<'_>| passes(hit.guarded().guard.rules(), request);
                    match passes(&a) && passes(&b) {
                        true => Some(a),
                        false => return Err(Ambiguous(methods::AMBIGUOUS)),
                    }
                }
                (a, b) => a.or(b),
            };
        }
        let passes = |hit: &Hit<'_>| passes(hit.guarded().guard.rules(), request);
        if found.as_ref().is_none_or(passes) && methods::may_be_named_in_the_body(request) {
            for method in methods::IN_BODIES {
                let other = groups.read(&method, &path, false)?;
                // A route that lets everything pass must not hide a stricter one.
                if found.is_none() || other.as_ref().is_some_and(|hit| !passes(hit)) {
                    found = other.or(found);
                }
            }
        }
        Ok(found.map(|hit| (hit.guarded().clone(), hit.params)))
    }

    /// The routes that may be for a request's host, the more particular ones first.
    fn groups<B>(&self, request: &Request<B>) -> Groups<'_> {
        let mut groups = Vec::new();
        if !(self.hosts.is_empty() && self.wildcards.is_empty())
            && let Some(host) = host::meant(request.uri(), request.headers())
        {
            groups.extend(self.hosts.get(&host));
            let wildcards = self.wildcards.iter();
            let matching = wildcards.filter(|(pattern, _)| pattern.matches(&host));
            groups.extend(matching.map(|(_, methods)| methods));
        }
        Groups(groups, &self.any_host)
    }

    /// Reports a request that no route guards although it carries a key.
    pub(crate) fn note_unguarded<B>(&self, request: &Request<B>) {
        let mut keys = self.key_headers.iter();
        if !request.method().is_safe() && keys.any(|name| request.headers().contains_key(name)) {
            self.watch.saw_unguarded(request.method());
        }
    }
}

/// The routes of a request's host, which are seldom any, and those of any host.
struct Groups<'t>(Vec<&'t Methods>, &'t Methods);

impl<'t> Groups<'t> {
    fn read(
        &self,
        method: &Method,
        path: &Spelled<'_>,
        is_own: bool,
    ) -> Result<Option<Hit<'t>>, Ambiguous> {
        let groups = self.0.iter().copied().chain([self.1]);
        for router in groups.filter_map(|methods| methods.get(method)) {
            if let Some(hit) = router.read(path, is_own)? {
                return Ok(Some(hit));
            }
        }
        Ok(None)
    }
}

/// Whether rules let a request pass because it has no key.
fn passes<B>(rules: &Rules, request: &Request<B>) -> bool {
    let is_absent = |source: &key::Source| match source {
        key::Source::Header(name) => !request.headers().contains_key(name),
        _ => false,
    };
    rules.missing == Missing::Pass && rules.key.iter().all(is_absent)
}

fn key_headers(routes: &[(Route, Arc<Guarded>)]) -> Vec<HeaderName> {
    let mut names = vec![IDEMPOTENCY_KEY];
    for source in routes.iter().flat_map(|(route, _)| route.rules.key.iter()) {
        if let key::Source::Header(name) = source
            && !names.contains(name)
        {
            names.push(name.clone());
        }
    }
    names
}

#[cfg(test)]
mod tests;
