//! Finds the route of a request.

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;
use matchit::{InsertError, Router};
use semel_http::Guard;

use crate::config::Route;
use crate::error::{Error, Result};
use crate::path;
use crate::pool::Pool;

/// A route that is ready for requests.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub(crate) guard: Guard,
    pub(crate) pool: Arc<Pool>,
}

/// What a pattern found in a path.
pub(crate) type Params = Vec<(String, String)>;

/// All routes, each method's on its own: what one method's patterns are does not matter to another's.
#[derive(Debug, Default)]
pub(crate) struct Table(HashMap<Method, Router<Arc<Guarded>>>);

impl Table {
    /// A table of `routes`, whose patterns must not contradict each other.
    pub(crate) fn new(routes: &[(Route, Arc<Guarded>)]) -> Result<Self> {
        let mut table = Self::default();
        for (number, (route, guarded)) in (1..).zip(routes) {
            if route.methods.is_empty() {
                let path = &route.path;
                return Err(Error::invalid(format!(
                    "route {number} ({path}) has no method"
                )));
            }
            for method in &route.methods {
                table.insert(number, method, &route.path, guarded)?;
            }
        }
        // What `{*rest}` leaves out: nothing at all. A route that names that path itself is there already.
        for (route, guarded) in routes {
            let Some(parent) = parent_of_rest(&route.path) else {
                continue;
            };
            for method in &route.methods {
                let router = table.0.entry(method.clone()).or_default();
                let _named_itself = router.insert(parent, guarded.clone());
            }
        }
        Ok(table)
    }

    fn insert(
        &mut self,
        number: usize,
        method: &Method,
        path: &str,
        guarded: &Arc<Guarded>,
    ) -> Result<()> {
        let bad = |why: String| Error::invalid(format!("route {number} ({method} {path}) {why}"));
        if !path.starts_with('/') {
            return Err(bad("must begin with a slash".to_owned()));
        }
        let router = self.0.entry(method.clone()).or_default();
        router.insert(path, guarded.clone()).map_err(|error| match error {
            InsertError::Conflict { with } if with == path => {
                bad("is there already: one of the two would never be used".to_owned())
            }
            InsertError::Conflict { with } => bad(format!(
                "conflicts with {method} {with}: use the same parameter names in the same places"
            )),
            other => bad(format!("has no valid pattern: {other}")),
        })
    }

    /// The route for a request, and what its pattern found in the path.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Option<(&Arc<Guarded>, Params)> {
        let router = self.0.get(method)?;
        let path = path::plain(path);
        let found = router.at(&path).ok()?;
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Some((found.value, found.params.iter().map(owned).collect()))
    }
}

fn parent_of_rest(path: &str) -> Option<&str> {
    let (parent, last) = path.rsplit_once('/')?;
    let is_rest = last.starts_with("{*") && last.ends_with('}');
    is_rest.then(|| &path[..=parent.len()])
}

#[cfg(test)]
mod tests;
