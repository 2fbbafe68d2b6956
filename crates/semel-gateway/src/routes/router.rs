//! The patterns of one method, and how paths are matched with them.

use std::sync::Arc;

use matchit::{InsertError, Match};
use semel_http::pattern::{folded, rank};
use semel_http::spelling::{Reading, decoded_reading};

use super::{Guarded, Params};
use crate::config::Route;

/// Why it cannot be told which route a request means.
#[derive(Debug)]
pub(super) struct Ambiguous(pub(super) &'static str);

const AMBIGUOUS: Ambiguous = Ambiguous(
    "the path is encoded such that a service that decodes it reads the path of another guarded route",
);

/// A path in all the ways in which services read it.
pub(super) struct Spelled<'a> {
    written: &'a str,
    usual: Reading<'a>,
    stem: Option<Reading<'a>>,
    decoded: Option<String>,
}

impl<'a> Spelled<'a> {
    pub(super) fn new(path: &'a str) -> Self {
        let usual = Reading::of(path);
        Self {
            written: path,
            stem: usual.without_suffix(),
            usual,
            decoded: decoded_reading(path),
        }
    }
}

/// A route under its pattern.
#[derive(Debug)]
struct Entry {
    guarded: Arc<Guarded>,
    rank: Vec<u8>,
}

impl Entry {
    fn new(pattern: &str, guarded: &Arc<Guarded>) -> Self {
        Self {
            guarded: guarded.clone(),
            rank: rank(pattern),
        }
    }

    fn ends_in_text(&self) -> bool {
        self.rank.last() == Some(&rank("/text")[0])
    }
}

/// A route that matches, and what its pattern found.
pub(super) struct Hit<'t> {
    entry: &'t Entry,
    pub(super) params: Params,
}

impl<'t> Hit<'t> {
    pub(super) fn guarded(&self) -> &'t Arc<Guarded> {
        &self.entry.guarded
    }

    fn new<'p>(found: &Match<'_, 'p, &'t Entry>, written: impl Fn(&'p str) -> &'p str) -> Self {
        let params = found.params.iter();
        let params = params.map(|(name, value)| (name.to_owned(), written(value).to_owned()));
        Self {
            entry: found.value,
            params: params.collect(),
        }
    }
}

/// The patterns of one method.
#[derive(Debug, Default)]
pub(super) struct Router {
    /// Folded patterns, for folded paths.
    lenient: matchit::Router<Entry>,
    /// Patterns as they are written, for paths as they are written.
    exact: Option<matchit::Router<Entry>>,
}

impl Router {
    /// Adds a route; an error says what is wrong with it.
    pub(super) fn insert(&mut self, route: &Route, guarded: &Arc<Guarded>) -> Result<(), String> {
        let (router, pattern) = self.place(route);
        let entry = Entry::new(&pattern, guarded);
        router.insert(pattern.as_str(), entry).map_err(|error| match error {
            InsertError::Conflict { with } if with == pattern => {
                "is there already: one of the two would never be used (case, slashes at the end and ;parameters do \
                 not tell paths apart, unless both say exact)"
                    .to_owned()
            }
            InsertError::Conflict { with } => {
                format!("conflicts with {with}: use the same parameter names in the same places")
            }
            other => format!("has no valid pattern: {other}"),
        })
    }

    /// Adds what `{*rest}` leaves out, unless it is there already.
    pub(super) fn insert_parent(&mut self, route: &Route, guarded: &Arc<Guarded>) {
        let (router, pattern) = self.place(route);
        let Some((parent, last)) = pattern.rsplit_once('/') else {
            return;
        };
        if last.starts_with("{*") {
            let parent = match route.exact || parent.is_empty() {
                true => format!("{parent}/"),
                false => parent.to_owned(),
            };
            let entry = Entry::new(&parent, guarded);
            let _named_itself = router.insert(parent, entry);
        }
    }

    fn place(&mut self, route: &Route) -> (&mut matchit::Router<Entry>, String) {
        match route.exact {
            true => (self.exact.get_or_insert_default(), route.path.clone()),
            false => (&mut self.lenient, folded(&route.path)),
        }
    }

    /// The route for a path. `is_own`: the request's method is written as the route has it.
    pub(super) fn read(
        &self,
        path: &Spelled<'_>,
        is_own: bool,
    ) -> Result<Option<Hit<'_>>, Ambiguous> {
        let stem = path.stem.as_ref().and_then(|stem| self.lenient(stem));
        let stem = stem.filter(|hit| hit.entry.ends_in_text());
        let lenient = more_specific(self.lenient(&path.usual), stem);
        if let Some(decoded) = &path.decoded
            && let Ok(other) = self.lenient.at(decoded)
            && lenient
                .as_ref()
                .is_none_or(|hit| hit.entry.rank < other.value.rank)
        {
            return Err(AMBIGUOUS);
        }
        let exact = self.exact.as_ref().filter(|_| is_own);
        let exact = exact.and_then(|router| router.at(path.written).ok());
        let exact = exact.map(|found| Hit::new(&found, |value| value));
        Ok(more_specific(exact, lenient))
    }

    fn lenient(&self, path: &Reading<'_>) -> Option<Hit<'_>> {
        let found = self.lenient.at(&path.folded).ok()?;
        Some(Hit::new(&found, |value| path.as_written(value)))
    }
}

/// The one with the more specific pattern; the first of equals.
fn more_specific<'t>(a: Option<Hit<'t>>, b: Option<Hit<'t>>) -> Option<Hit<'t>> {
    match (a, b) {
        (Some(a), Some(b)) if b.entry.rank > a.entry.rank => Some(b),
        (a, b) => a.or(b),
    }
}
