//! What is guarded: methods, hosts, a path pattern and the rules for it.

use http::{Method, Uri};
use semel_core::Scope;
use semel_http::host::HostPattern;
use semel_http::{Rules, pattern};

use crate::error::{Error, Result};
use crate::reconcile::ReconcileUrl;

/// The pattern of [`Route::catch_all`].
const EVERY_PATH: &str = "/{*rest}";

/// Requests that are guarded by one set of rules.
#[derive(Debug, Clone)]
pub struct Route {
    /// Requests with one of these methods …
    pub methods: Vec<Method>,
    /// … for one of these hosts, or for any if there is none …
    pub hosts: Vec<HostPattern>,
    /// … and a path that matches this pattern: `/orders/{id}/capture`, `/v1/{*rest}`. A route for the request's host
    /// wins over one for any, then the more specific pattern. `/v1/{*rest}` matches `/v1/` too.
    pub path: String,
    /// Whether method and path are compared byte by byte. Otherwise they are matched the way lenient services read
    /// them: `/Payments/`, `/payments;v=1` and `/%70ayments` are `/payments`, and `X-HTTP-Method-Override` counts.
    pub exact: bool,
    /// What they are guarded by.
    pub rules: Rules,
    /// Where they go, if not to the gateway's upstream. Its other settings stay the same.
    pub upstream: Option<Uri>,
    /// Whom to ask about unknown outcomes; wins over [`Rules::unknown`].
    pub reconcile: Option<ReconcileUrl>,
}

impl Route {
    /// A route for one method with the default rules and the default scope.
    pub fn new(method: Method, path: impl Into<String>) -> Result<Self> {
        let path = path.into();
        let scope = Self::scope(&method, &path)?;
        Ok(Self {
            methods: vec![method],
            hosts: Vec::new(),
            path,
            exact: false,
            rules: Rules::new(scope),
            upstream: None,
            reconcile: None,
        })
    }

    /// The scope of a route that names none: method and pattern.
    pub fn scope(method: &Method, path: &str) -> Result<Scope> {
        Scope::new(format!("{method} {path}"), 1).map_err(|error| {
            Error::invalid(format!("{method} {path} needs a scope of its own")).caused_by(error)
        })
    }

    /// What is guarded where nothing is configured: every POST and PATCH that carries a key. The
    /// path is part of what is asked for, so one key on two paths is a mistake.
    pub fn catch_all() -> Vec<Self> {
        let route = |method| Self::new(method, EVERY_PATH).expect("a short scope is valid");
        vec![route(Method::POST), route(Method::PATCH)]
    }

    /// Says what is wrong with it, if anything is.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.methods.is_empty() {
            true => Err("has no method".to_owned()),
            false => {
                pattern::check(&self.path).map_err(|why| format!("has no valid pattern: {why}"))
            }
        }
    }
}
