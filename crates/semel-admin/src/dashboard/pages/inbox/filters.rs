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
    /// One state, or several with commas between them.
    pub(crate) state: Option<String>,
    pub(crate) cause: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) lane: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) from: Option<String>,
    pub(crate) until: Option<String>,
    /// A group of failures.
    pub(crate) group: Option<String>,
    /// The moment of the look that an act confirms. Lists know nothing of it.
    pub(crate) unchanged_since: Option<String>,
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

    /// The states that are looked for; any, if there are none.
    pub(crate) fn states(&self) -> Result<Vec<State>, Refused> {
        let names = self.state.iter().flat_map(|names| names.split(','));
        let states = names.map(|name| name.trim().parse());
        states
            .collect::<Result<_, semel_core::Error>>()
            .map_err(|error| refuse_field("state", &error.to_string()))
    }

    /// The same filters, in these states unless they name some.
    pub(crate) fn or_states(&self, states: &[State]) -> Self {
        let names: Vec<&str> = states.iter().map(|state| state.name()).collect();
        let named = self.state.clone().or_else(|| Some(names.join(",")));
        Self {
            state: named,
            ..self.clone()
        }
    }

    /// The same as a question to the inbox.
    pub(crate) fn query(&self, now: Timestamp) -> Result<Query, Refused> {
        let moment =
            |name, text| Ok::<_, Refused>(read::<When>(name, text)?.map(|when| when.at(now)));
        Ok(Query {
            states: self.states()?,
            consumer: self.consumer()?,
            id: self.id()?,
            lane: read("lane", self.lane.as_ref())?,
            cause: read("cause", self.cause.as_ref())?,
            tenant: self.tenant()?,
            from: moment("from", self.from.as_ref())?,
            until: moment("until", self.until.as_ref())?,
            before: read("before", self.before.as_ref())?,
            limit: super::list::SHOWN_MAX,
        })
    }

    /// The same with moments that stay where they are, that of the look among them: what is confirmed is what was looked at.
    pub(crate) fn settled(&self, now: Timestamp) -> Result<Self, Refused> {
        let query = self.query(now)?;
        let looked: Option<When> = read("unchanged_since", self.unchanged_since.as_ref())?;
        let looked = looked.map_or(now, |when| when.at(now).min(now));
        Ok(Self {
            unchanged_since: Some(looked.to_string()),
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

    /// Whether a store finds what is asked for without a search: one id, or the newest messages of a consumer or in some states.
    pub(crate) fn is_cheap(&self) -> bool {
        let searched = [
            &self.cause,
            &self.lane,
            &self.tenant,
            &self.from,
            &self.until,
        ];
        self.id.is_some() || searched.iter().all(|filter| filter.is_none())
    }

    /// Whether nothing is set.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_named_with_commas_and_stay_as_they_are_named() {
        let dead = [State::FailedTerminal, State::Parked];
        let all = Filters::default();
        assert_eq!(all.states().expect("no states"), []);
        assert_eq!(all.or_states(&dead).states().expect("two states"), dead);
        let one = Filters {
            state: Some("PARKED".to_owned()),
            ..Filters::default()
        };
        assert_eq!(
            one.or_states(&dead).states().expect("one state"),
            [State::Parked]
        );
        let wrong = Filters {
            state: Some("PARKED,DONE".to_owned()),
            ..Filters::default()
        };
        assert!(wrong.states().is_err());
    }

    #[test]
    fn what_is_searched_for_is_not_cheap() {
        let set = |change: fn(&mut Filters, Option<String>)| {
            let mut filters = Filters::default();
            change(&mut filters, Some("2h".to_owned()));
            filters
        };
        for (filters, is_cheap) in [
            (Filters::default(), true),
            (set(|filters, text| filters.consumer = text), true),
            (set(|filters, text| filters.state = text), true),
            (set(|filters, text| filters.id = text), true),
            (set(|filters, text| filters.before = text), true),
            (set(|filters, text| filters.cause = text), false),
            (set(|filters, text| filters.lane = text), false),
            (set(|filters, text| filters.tenant = text), false),
            (set(|filters, text| filters.from = text), false),
            (set(|filters, text| filters.until = text), false),
        ] {
            assert_eq!(filters.is_cheap(), is_cheap, "{filters:?}");
        }
        let one = Filters {
            id: Some("evt-17".to_owned()),
            ..set(|filters, text| filters.tenant = text)
        };
        assert!(one.is_cheap(), "an id is found by an index");
    }

    #[test]
    fn a_look_is_of_a_moment_that_its_confirmation_repeats() {
        let at = Timestamp::from_millis;
        let look = Filters::default().settled(at(1_000)).expect("a moment");
        let confirmed = look.settled(at(9_000)).expect("a moment");
        assert_eq!(confirmed.unchanged_since, look.unchanged_since);
        assert_eq!(look.unchanged_since, Some(at(1_000).to_string()));
    }
}
