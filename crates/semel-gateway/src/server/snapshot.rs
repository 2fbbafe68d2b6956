//! A configuration made ready for requests.

use std::sync::Arc;

use http::Uri;
use http::uri::PathAndQuery;
use semel_core::{Once, Tracer};
use semel_http::rules::Unknown;
use semel_http::tenant::{self, Jwks};
use semel_http::{Guard, RequestObserver};
use semel_listen::{AccessLog, Address};

use crate::budget::Budgets;
use crate::config::{Config, Route, Timeouts};
use crate::error::{Error, Result};
use crate::hygiene::Manners;
use crate::jwks::JwksUrl;
use crate::outcomes::Outcomes;
use crate::own::Own;
use crate::pool::{Dial, Pool};
use crate::reconcile::Reconciler;
use crate::reconcilers::Reconcilers;
use crate::routes::{Guarded, Table};
use crate::target::Target;

/// The most routes of one gateway.
const ROUTES_MAX: usize = 10_000;

/// Everything that a request needs to know.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) listen: Address,
    pub(crate) timeouts: Timeouts,
    pub(crate) manners: Manners,
    /// Whether there is an access log.
    pub(crate) is_logged: bool,
    pub(crate) routes: Table,
    /// What the gateway answers itself; `None` if it has no such address.
    pub(crate) outcomes: Option<Outcomes>,
    /// Whom operators ask about unknown outcomes.
    pub(crate) reconcilers: Reconcilers,
    /// Where unguarded requests go.
    pub(crate) pool: Arc<Pool>,
    /// The services that requests go to, each once.
    pub(crate) upstreams: Vec<Arc<Pool>>,
    /// What begins the spans of requests.
    pub(crate) tracer: Tracer,
    /// What is answered without an upstream.
    pub(crate) own: Own,
}

impl Snapshot {
    pub(crate) fn new(
        config: &Config,
        once: &Once,
        watch: &Arc<dyn RequestObserver>,
        budgets: &Budgets,
    ) -> Result<Self> {
        config.limits.check()?;
        config.timeouts.check()?;
        let mut routes = match config.routes.is_empty() {
            true => Route::catch_all(),
            false => config.routes.clone(),
        };
        for route in &mut routes {
            route.rules.outcomes.clone_from(&config.outcomes);
        }
        let own = Own::new(config.policy_page.as_deref(), &routes)?;
        let mut pools = Pools::new(config, &routes)?;
        let pool = pools.of(Target::parse(&config.upstream.url)?);
        let ready = ready(routes, &pool, &mut pools, once, watch, budgets)?;
        let outcomes = config.outcomes.clone();
        let mut upstreams = vec![pool.clone()];
        for (_, guarded) in &ready {
            if !upstreams
                .iter()
                .any(|known| Arc::ptr_eq(known, &guarded.pool))
            {
                upstreams.push(guarded.pool.clone());
            }
        }
        Ok(Self {
            upstreams,
            outcomes: outcomes.map(|place| Outcomes::new(place, ready.iter().map(|(_, one)| one))),
            reconcilers: Reconcilers::new(&ready),
            listen: config.listen.clone(),
            timeouts: config.timeouts,
            is_logged: config.access_log != AccessLog::Off,
            manners: Manners {
                host: config.upstream.host,
                trust_forwarded: config.trust_forwarded,
            },
            routes: Table::new(&ready, watch.clone())?,
            pool,
            tracer: config.tracer.clone(),
            own,
        })
    }
}

/// The routes with their guards.
fn ready(
    routes: Vec<Route>,
    default: &Arc<Pool>,
    pools: &mut Pools,
    once: &Once,
    watch: &Arc<dyn RequestObserver>,
    budgets: &Budgets,
) -> Result<Vec<(Route, Arc<Guarded>)>> {
    if routes.len() > ROUTES_MAX {
        let found = routes.len();
        return Err(Error::invalid(format!(
            "at most {ROUTES_MAX} routes, found {found}"
        )));
    }
    let mut ready = Vec::with_capacity(routes.len());
    for route in routes {
        let mut rules = route.rules.clone();
        let reconciler = route.reconcile.as_ref().map(|url| {
            let (pool, memory) = (pools.of(url.target().clone()), budgets.memory().clone());
            Arc::new(Reconciler::new(url.clone(), pool, rules.clone(), memory))
        });
        if let Some(reconciler) = &reconciler {
            rules.unknown = Unknown::Reconcile(reconciler.clone());
        }
        if let Some((set, url)) = key_set(&route) {
            set.load_by(JwksUrl::new(&url, pools.of(origin(&url)?)));
        }
        let pool = match &route.upstream {
            Some(url) => pools.of(Target::parse(url)?),
            None => default.clone(),
        };
        let guard = Guard::within(once, rules, watch.clone(), budgets.guards().clone());
        let path = route.path.as_str().into();
        let guarded = Guarded {
            guard,
            pool,
            reconciler,
            path,
        };
        ready.push((route, Arc::new(guarded)));
    }
    Ok(ready)
}

/// The set of keys that a route's callers are told by, if it is loaded from a URL.
fn key_set(route: &Route) -> Option<(&Jwks, Uri)> {
    let tenant::Source::Jwt(jwt) = &route.rules.tenant else {
        return None;
    };
    let set = jwt.set()?;
    let url: Uri = set.place().parse().ok()?;
    url.scheme().is_some().then_some((set, url))
}

/// Where a URL is, without what is asked for there.
fn origin(url: &Uri) -> Result<Target> {
    let mut parts = url.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::from_static("/"));
    let origin = Uri::from_parts(parts).expect("a URL without its path is one");
    Target::parse(&origin)
}

/// One pool for each target.
struct Pools {
    dial: Arc<Dial>,
    made: Vec<(Target, Arc<Pool>)>,
}

impl Pools {
    fn new(config: &Config, routes: &[Route]) -> Result<Self> {
        let mut needs_tls = Target::parse(&config.upstream.url)?.is_tls();
        for route in routes {
            let reconciled = route.reconcile.as_ref().map(|url| url.target().clone());
            let upstream = route.upstream.as_ref().map(Target::parse).transpose()?;
            let issuer = key_set(route).map(|(_, url)| origin(&url)).transpose()?;
            let targets = reconciled.iter().chain(&upstream).chain(&issuer);
            needs_tls |= targets.into_iter().any(Target::is_tls);
        }
        let Config {
            upstream,
            limits,
            timeouts,
            ..
        } = config;
        Ok(Self {
            dial: Arc::new(Dial::new(upstream, needs_tls, limits, timeouts)?),
            made: Vec::new(),
        })
    }

    fn of(&mut self, target: Target) -> Arc<Pool> {
        if let Some((_, pool)) = self.made.iter().find(|(made, _)| *made == target) {
            return pool.clone();
        }
        let pool = Pool::new(target.clone(), self.dial.clone());
        self.made.push((target, pool.clone()));
        pool
    }
}
