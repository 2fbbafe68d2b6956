//! Which messages a page is about: the same fields in its address, in its forms, and in what they do.

use semel_core::inbox::{Query, State};
use semel_core::{Key, Scope, Tenant, Timestamp};
use serde::Deserialize;

use crate::input::refuse_field;
use crate::refused::Refused;
use crate::when::When;

/// Which messages. Everything that is set must hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Filters {
    pub(crate) consumer: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) cause: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) lane: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) from: Option<String>,
    pub(crate) until: Option<String>,
    /// A group of failures.
    pub(crate) group: Option<String>,
    /// Where the part of the list begins.
    pub(crate) before: Option<String>,
}

/// Reads a field, if it says something.
fn read<T: std::str::FromStr<Err: std::fmt::Display>>(
    name: &str,
    text: Option<&String>,
) -> Result<Option<T>, Refused> {
    let read = text.map(|text| text.parse());
    read.transpose()
        .map_err(|error: T::Err| refuse_field(name, &error.to_string()))
}

impl Filters {
    /// Whose messages, if one consumer's.
    pub(crate) fn consumer(&self) -> Result<Option<Scope>, Refused> {
        read("consumer", self.consumer.as_ref())
    }

    /// The id that is looked for.
    pub(crate) fn id(&self) -> Result<Option<Key>, Refused> {
        read("id", self.id.as_ref())
    }

    /// The tenant that is looked for.
    pub(crate) fn tenant(&self) -> Result<Option<Tenant>, Refused> {
        read("tenant", self.tenant.as_ref())
    }

    /// The state that is looked for.
    pub(crate) fn state(&self) -> Result<Option<State>, Refused> {
        read("state", self.state.as_ref())
    }

    /// The same as a question to the inbox.
    pub(crate) fn query(&self, now: Timestamp) -> Result<Query, Refused> {
        let moment =
            |name, text| Ok::<_, Refused>(read::<When>(name, text)?.map(|when| when.at(now)));
        Ok(Query {
            states: self.state()?.into_iter().collect(),
            consumer: self.consumer()?,
            lane: read("lane", self.lane.as_ref())?,
            cause: read("cause", self.cause.as_ref())?,
            tenant: self.tenant()?,
            from: moment("from", self.from.as_ref())?,
            until: moment("until", self.until.as_ref())?,
            before: read("before", self.before.as_ref())?,
            limit: super::list::SHOWN_MAX,
        })
    }

    /// The same with moments that stay where they are: what is confirmed is what was looked at.
    pub(crate) fn settled(&self, now: Timestamp) -> Result<Self, Refused> {
        let query = self.query(now)?;
        Ok(Self {
            from: query.from.map(|at| at.to_string()),
            until: query.until.map(|at| at.to_string()),
            before: None,
            ..self.clone()
        })
    }

    /// Names and values of what is set, for addresses and forms.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, &str)> {
        let all = [
            ("consumer", &self.consumer),
            ("state", &self.state),
            ("cause", &self.cause),
            ("id", &self.id),
            ("lane", &self.lane),
            ("tenant", &self.tenant),
            ("from", &self.from),
            ("until", &self.until),
            ("group", &self.group),
        ];
        let set = all.into_iter();
        set.filter_map(|(name, value)| Some((name, value.as_deref()?)))
            .collect()
    }

    /// Whether nothing is set.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs().is_empty()
    }
}
