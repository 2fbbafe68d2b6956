//! Routes as the file says them to rules as the guard takes them; consumers and targets to the engine's policies.
//!
//! Defaults ← profile ← `gateway` ← route: each step overrides what it names.

mod apply;
mod check;
pub mod consumer;
mod headers;
mod jwt;
mod messages;
mod retry;
pub mod target;

pub use consumer::CompiledConsumer;
pub use target::CompiledTarget;

use apply::set;
use check::{at_most, header_bytes, is_timeout};

use std::collections::HashMap;

use http::Method;
use semel_core::Scope;
use semel_http::Rules;
use semel_http::profile::Profile;

use crate::error::{Error, Kind, Result};
use crate::file::{self, Gateway, Pattern, Route, Settings, Unknown};
use crate::limits::ROUTES_MAX;
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
    /// What it decides by. Where `reconcile` is set they still say `hold`: whoever can send requests
    /// puts the reconciler in.
    pub rules: Rules,
    /// Its service, if it is not the gateway's.
    pub upstream: Option<String>,
    /// Whom to ask about unknown outcomes: a URL with `{key}` in it.
    pub reconcile: Option<String>,
}

impl Gateway {
    /// The routes with their rules. A gateway that names none guards every POST and PATCH.
    pub fn routes(&self) -> Result<Vec<CompiledRoute>> {
        self.compile()
            .map_err(|fault| Error::whole(Kind::Invalid, "", fault.to_string()).of(fault.path()))
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
        Ok(compiled.into_iter().flatten().collect())
    }

    fn compile_everything(&self, path: &Path) -> Result<Vec<CompiledRoute>, Fault> {
        let levels = [Level::new(&self.defaults, path.clone())];
        let pattern = Pattern::parse(EVERYTHING).expect("the pattern is valid");
        self.compile_route(&Route::of(pattern), &levels)
    }

    /// With a scope of its own a route is one operation; otherwise each method is.
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
        match &route.scope {
            Some(Word(scope)) => {
                let compiled = self.compile_one(route, levels, methods.collect(), scope.clone());
                Ok(vec![compiled?])
            }
            None => methods
                .map(|method| {
                    let scope = default_scope(&method, route, levels)?;
                    self.compile_one(route, levels, vec![method], scope)
                })
                .collect(),
        }
    }

    fn compile_one(
        &self,
        route: &Route,
        levels: &[Level<'_>],
        methods: Vec<Method>,
        scope: Scope,
    ) -> Result<CompiledRoute, Fault> {
        let last = |get: fn(&Settings) -> Option<Profile>| {
            levels.iter().rev().find_map(|l| get(l.settings))
        };
        let profile = last(|settings| settings.profile.map(|profile| profile.0));
        let mut rules = profile.unwrap_or_default().rules(scope);
        rules.request_bytes_max = self.limits.request_bytes.0.0;
        rules.response_bytes_max = self.limits.response_bytes.0.0;
        rules.body_timeout = self.timeouts.body.0;
        rules.client_stall = self.timeouts.client_stall.0;
        for level in levels {
            let applied = level.settings.apply(&mut rules);
            applied.map_err(|fault| fault.under(&level.path))?;
        }
        check::rules(&rules, levels)?;
        let unknown = levels
            .iter()
            .rev()
            .find_map(|level| level.settings.unknown.as_ref());
        Ok(CompiledRoute {
            methods,
            path: route.matches.path.as_str().to_owned(),
            rules,
            upstream: route
                .upstream
                .as_ref()
                .map(|service| service.as_str().to_owned()),
            reconcile: match unknown {
                Some(Unknown::Reconcile(url)) => Some(url.as_str().to_owned()),
                Some(Unknown::Hold | Unknown::Rerun) | None => None,
            },
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

fn default_scope(method: &Method, route: &Route, levels: &[Level<'_>]) -> Result<Scope, Fault> {
    let scope = Scope::new(format!("{method} {}", route.matches.path.as_str()), 1);
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
    let mut routers: HashMap<&Method, matchit::Router<usize>> = HashMap::new();
    for (index, routes) in compiled.iter().enumerate() {
        for (route, method) in routes
            .iter()
            .flat_map(|r| r.methods.iter().map(move |m| (r, m)))
        {
            let router = routers.entry(method).or_default();
            router.insert(route.path.as_str(), index).map_err(|error| {
                let path = Path::default().to(index).to("match").to("path");
                Fault::said(path, clash(method, &route.path, &error))
            })?;
        }
    }
    Ok(())
}

fn clash(method: &Method, path: &str, error: &matchit::InsertError) -> String {
    let other = match error {
        matchit::InsertError::Conflict { with } => with.as_str(),
        _ => "another",
    };
    format!("expected a path that no other route for {method} has, found {path:?} beside {other:?}")
}
