//! Which records a list shows.

use std::collections::HashMap;

use maud::{Markup, html};
use semel_core::store::{Cursor, Query, StateFilter};
use semel_core::{Key, Scope, Tenant};
use serde::Deserialize;

use crate::api::fields;
use crate::dashboard::{Ask, ui};
use crate::records::Method;
use crate::refused::Refused;
use crate::when::When;

/// The filters of a list.
pub(in crate::dashboard::pages) struct Filters {
    /// As they were written.
    said: HashMap<String, String>,
    pub(in crate::dashboard::pages) key: Option<Key>,
    pub(in crate::dashboard::pages) tenant: Option<Tenant>,
    pub(in crate::dashboard::pages) scope: Option<Scope>,
    pub(in crate::dashboard::pages) older_than: Option<When>,
    pub(in crate::dashboard::pages) before: Option<Cursor>,
    state: Option<StateFilter>,
    method: Option<Method>,
}

/// The parameters of the address.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    #[serde(deserialize_with = "fields::text_or_none")]
    key: Option<Key>,
    #[serde(deserialize_with = "fields::text_or_none")]
    tenant: Option<Tenant>,
    #[serde(deserialize_with = "fields::text_or_none")]
    scope: Option<Scope>,
    #[serde(deserialize_with = "fields::text_or_none")]
    older_than: Option<When>,
    #[serde(deserialize_with = "fields::text_or_none")]
    before: Option<Cursor>,
    #[serde(deserialize_with = "fields::text_or_none")]
    state: Option<StateFilter>,
    #[serde(deserialize_with = "fields::text_or_none")]
    method: Option<Method>,
}

/// The choices of a state.
const STATES: [(&str, &str); 7] = [
    ("", "any"),
    ("running", "running"),
    ("unknown", "unknown"),
    ("succeeded", "succeeded"),
    ("failed", "failed"),
    ("settled", "succeeded or failed"),
    ("archived", "archived"),
];

impl Filters {
    /// Those of a page's address.
    pub(in crate::dashboard::pages) fn of(ask: &Ask) -> Result<Self, Refused> {
        let Asked {
            key,
            tenant,
            scope,
            older_than,
            before,
            state,
            method,
        } = ask.query()?;
        Ok(Self {
            said: ask.query()?,
            key,
            tenant,
            scope,
            older_than,
            before,
            state,
            method,
        })
    }

    /// A filter as it was written.
    pub(in crate::dashboard::pages) fn said(&self, name: &str) -> Option<&str> {
        self.said.get(name).map(String::as_str)
    }

    /// Whether there is one.
    pub(in crate::dashboard::pages) fn is_any(&self) -> bool {
        self.state.is_some() || self.searches()
    }

    /// Whether a store finds what is asked for without a search: the newest records, or those in a state.
    pub(in crate::dashboard::pages) fn is_cheap(&self) -> bool {
        !self.searches()
    }

    const fn searches(&self) -> bool {
        self.key.is_some()
            || self.tenant.is_some()
            || self.scope.is_some()
            || self.method.is_some()
            || self.older_than.is_some()
    }

    /// What the store is asked.
    pub(in crate::dashboard::pages) fn query(&self, limit: usize) -> Query {
        Query {
            state: self.state,
            tenant: self.tenant.as_ref().map(ToString::to_string),
            scope: self.scope.as_ref().map(ToString::to_string),
            key: self.key.as_ref().map(ToString::to_string),
            method: self.method.as_ref().map(ToString::to_string),
            before: self.before.clone(),
            limit,
        }
    }

    /// The form of the list of all records.
    pub(super) fn form(&self, ask: &Ask) -> Markup {
        ui::filter(
            ask,
            html! {
                (ui::input("key", "Key", self.said("key"), "order-17"))
                (ui::select("state", "State", &STATES, self.said("state")))
                (self.places())
                (ui::input("older_than", "Claimed before", self.said("older_than"), "2h"))
            },
        )
    }

    /// The fields that lists of every state have.
    pub(in crate::dashboard::pages) fn places(&self) -> Markup {
        html! {
            (ui::input("scope", "Scope", self.said("scope"), "payments@1"))
            (ui::input("tenant", "Tenant", self.said("tenant"), "acme"))
            (ui::input("method", "Method", self.said("method"), "POST"))
        }
    }
}
