//! Routes as the file says them to rules as the guard takes them; consumers and targets to the engine's policies.
//!
//! Defaults ← profile ← `mcp` ← `gateway` ← route: each step overrides what it names.

mod apply;
mod check;
pub mod consumer;
pub(crate) mod encryption;
mod fingerprint;
mod headers;
mod jwt;
mod mcp;
mod messages;
pub(crate) mod quota;
mod reconcile;
mod retry;
pub mod target;
mod tokens;
mod tracing;

pub use consumer::CompiledConsumer;
pub use reconcile::CompiledReconcile;
pub use target::CompiledTarget;

use apply::set;
use check::{at_most, header_bytes, is_timeout};

use std::collections::HashMap;

use http::Method;
use semel_core::Scope;
use semel_http::Rules;
use semel_http::host::HostPattern;
use semel_http::pattern::folded;
use semel_http::policy::{Policy, Stated};
use semel_http::profile::Profile;
use semel_http::rules::MinRate;

use crate::error::{Error, Kind, Result};
use crate::file::{self, Gateway, Pattern, Route, Settings};
use crate::limits::{HOSTS_MAX, ROUTES_MAX};
use crate::tree::Path;
use crate::tree::read::Fault;
use crate::value::{Text, Word};

/// What is guarded when no routes are named.
const EVERYTHING: &str = "/{*rest}";

/// A route with its rules.
#[derive(Debug, Clone)]
pub struct CompiledRoute {
    /// The methods it is for.
    pub methods: Vec<Method>,
    /// The pattern of its paths; `{*rest}` stands for any number of segments, none included.
    pub path: String,
    /// The hosts it is for; none means any.
    pub hosts: Vec<HostPattern>,
    /// Whether method and path are compared byte by byte.
    pub exact: bool,
    /// What it decides by. Where `reconcile` is set they still say `hold`: whoever can send requests
    /// puts the reconciler in.
    pub rules: Rules,
    /// Its service, if it is not the gateway's.
    pub upstream: Option<String>,
    /// Whom to ask about unknown outcomes.
    pub reconcile: Option<CompiledReconcile>,
}

impl Gateway {
    /// The routes with their rules. A gateway that names none guards every POST and PATCH.
    pub fn routes(&self) -> Result<Vec<CompiledRoute>> {
        self.compile()
            .map_err(|fault| Error::whole(Kind::Invalid, "", fault.to_string()).of(fault.path()))
    }

    /// What callers may know of the routes.
    pub fn policy(&self) -> Result<Policy> {
        let routes = self.routes()?;
        Ok(Policy::of(routes.iter().map(|route| Stated {
            methods: &route.methods,
            hosts: &route.hosts,
            path: &route.path,
            rules: &route.rules,
            reconciles: route.reconcile.is_some(),
        })))
    }

    pub(crate) fn compile(&self) -> Result<Vec<CompiledRoute>, Fault> {
        let path: Path = ["gateway"].into_iter().collect();
        check::gateway(self).map_err(|fault| fault.under(&path))?;
        let Some(routes) = &self.routes else {
            return self.compile_everything(&path);
        };
        let at = path.to("routes");
        if !(1..=ROUTES_MAX).contains(&routes.len()) {
            let found = routes.len();
            let message = format!("expected 1 to {ROUTES_MAX} routes, found {found}");
            return Err(Fault::said(at, message));
        }
        let compiled = routes.iter().enumerate().map(|(index, route)| {
            let level = Level::new(&route.settings, at.to(index));
            self.compile_route(route, &[Level::new(&self.defaults, path.clone()), level])
        });
        let compiled: Vec<Vec<_>> = compiled.collect::<Result<_, _>>()?;
        no_path_twice(&compiled).map_err(|fault| fault.under(&at))?;
        mcp::no_scope_twice(routes, &compiled).map_err(|fault| fault.under(&at))?;
        Ok(compiled.into_iter().flatten().collect())
    }

    fn compile_everything(&self, path: &Path) -> Result<Vec<CompiledRoute>, Fault> {
        let levels = [Level::new(&self.defaults, path.clone())];
        let pattern = Pattern::parse(EVERYTHING).expect("the pattern is valid");
        self.compile_route(&Route::of(pattern), &levels)
    }

    /// With a scope of its own a route is one operation; otherwise each method on each host is: two hosts with one path
    /// are two services to their clients, and must not share records by accident.
    fn compile_route(
        &self,
        route: &Route,
        levels: &[Level<'_>],
    ) -> Result<Vec<CompiledRoute>, Fault> {
        let methods = route
            .matches
            .methods
            .as_deref()
            .unwrap_or(&file::Method::DEFAULT);
        let methods = methods.iter().map(|method| method.method());
        let hosts = hosts(route, levels)?;
        let is_mcp = mcp::compile(levels)?.is_some();
        let scope = route.scope.as_ref().map(|Word(scope)| scope.clone());
        if let Some(scope) = scope.or_else(|| is_mcp.then(mcp::default_scope)) {
            let methods = match is_mcp {
                true => mcp::methods(route, levels)?,
                false => methods.collect(),
            };
            let requests = (methods, hosts);
            return Ok(vec![self.compile_one(route, levels, requests, scope)?]);
        }
        let each_host: Vec<Vec<HostPattern>> = match hosts.is_empty() {
            true => vec![Vec::new()],
            false => hosts.into_iter().map(|host| vec![host]).collect(),
        };
        let compiled = methods.flat_map(|method| {
            each_host.iter().map(move |hosts| {
                let scope = default_scope(&method, hosts.first(), route, levels)?;
                self.compile_one(route, levels, (vec![method.clone()], hosts.clone()), scope)
            })
        });
        compiled.collect()
    }

    fn compile_one(
        &self,
        route: &Route,
        levels: &[Level<'_>],
        (methods, hosts): (Vec<Method>, Vec<HostPattern>),
        scope: Scope,
    ) -> Result<CompiledRoute, Fault> {
        let last = |get: fn(&Settings) -> Option<Profile>| {
            levels.iter().rev().find_map(|l| get(l.settings))
        };
        let profile = last(|settings| settings.profile.map(|profile| profile.0));
        let mut rules = profile.unwrap_or_default().rules(scope);
        if let Some(mcp) = mcp::compile(levels)? {
            mcp.apply(&mut rules);
        }
        rules.request_bytes_max = self.limits.request_bytes.0.0;
        rules.response_bytes_max = self.limits.response_bytes.0.0;
        rules.body_timeout = self.timeouts.body.0;
        rules.client_stall = self.timeouts.client_stall.0;
        rules.body_pace = MinRate {
            bytes_per_second: self.limits.body_rate.0.0,
            grace: self.timeouts.body_grace.0,
        };
        for level in levels {
            let applied = level.settings.apply(&mut rules);
            applied.map_err(|fault| fault.under(&level.path))?;
        }
        rules.quota = quota::quota(&route.limits).map_err(|fault| {
            let path = levels.last().map(|level| level.path.to("limits"));
            fault.under(&path.unwrap_or_default())
        })?;
        check::rules(&rules, levels)?;
        mcp::check(&rules, levels)?;
        check::templates(&rules, route.matches.path.as_str(), levels)?;
        Ok(CompiledRoute {
            methods,
            path: route.matches.path.as_str().to_owned(),
            hosts,
            exact: route.matches.exact,
            rules,
            upstream: route
                .upstream
                .as_ref()
                .map(|service| service.as_str().to_owned()),
            reconcile: reconcile::compile(levels)?,
        })
    }
}

/// Settings, and where they stand.
struct Level<'a> {
    settings: &'a Settings,
    path: Path,
}

impl<'a> Level<'a> {
    const fn new(settings: &'a Settings, path: Path) -> Self {
        Self { settings, path }
    }
}

/// The hosts of a route, each once.
fn hosts(route: &Route, levels: &[Level<'_>]) -> Result<Vec<HostPattern>, Fault> {
    let Some(written) = &route.matches.host else {
        return Ok(Vec::new());
    };
    let said = |message: String| {
        let path = levels.last().map(|level| level.path.to("match").to("host"));
        Fault::said(path.unwrap_or_default(), message)
    };
    if !(1..=HOSTS_MAX).contains(&written.len()) {
        let found = written.len();
        return Err(said(format!(
            "expected 1 to {HOSTS_MAX} hosts, found {found}"
        )));
    }
    let hosts: Vec<HostPattern> = written.iter().map(|Word(host)| host.clone()).collect();
    let twice = (1..hosts.len()).find(|at| hosts[..*at].contains(&hosts[*at]));
    match twice {
        Some(at) => Err(said(format!(
            "expected each host once, found {} again",
            hosts[at]
        ))),
        None => Ok(hosts),
    }
}

fn default_scope(
    method: &Method,
    host: Option<&HostPattern>,
    route: &Route,
    levels: &[Level<'_>],
) -> Result<Scope, Fault> {
    let host = host.map(ToString::to_string).unwrap_or_default();
    let scope = Scope::new(format!("{method} {host}{}", route.matches.path.as_str()), 1);
    scope.map_err(|_| {
        let path = levels
            .last()
            .map(|level| level.path.clone())
            .unwrap_or_default();
        let message = "expected a scope, because the path is too long to be one";
        Fault::said(path, message)
    })
}

/// Two routes for one request would leave it open which one guards.
fn no_path_twice(compiled: &[Vec<CompiledRoute>]) -> Result<(), Fault> {
    let mut routers: HashMap<_, matchit::Router<()>> = HashMap::new();
    for (index, route) in compiled
        .iter()
        .enumerate()
        .flat_map(|(i, r)| r.iter().map(move |r| (i, r)))
    {
        let path = match route.exact {
            true => route.path.clone(),
            false => folded(&route.path),
        };
        for (method, host) in route.requests() {
            let router = routers.entry((method, host, route.exact)).or_default();
            router.insert(path.as_str(), ()).map_err(|error| {
                let at = Path::default().to(index).to("match").to("path");
                Fault::said(at, clash(method, &route.path, &error))
            })?;
        }
    }
    Ok(())
}

impl CompiledRoute {
    /// Each of its methods with each of its hosts.
    fn requests(&self) -> impl Iterator<Item = (&Method, Option<&HostPattern>)> {
        self.methods.iter().flat_map(|method| {
            let any = self.hosts.is_empty().then_some(None);
            let hosts = self.hosts.iter().map(Some).chain(any);
            hosts.map(move |host| (method, host))
        })
    }
}

fn clash(method: &Method, path: &str, error: &matchit::InsertError) -> String {
    let other = match error {
        matchit::InsertError::Conflict { with } => with.as_str(),
        _ => "another",
    };
    format!("expected a path that no other route for {method} has, found {path:?} beside {other:?}")
}
