//! What a page is given, and what it answers.

use std::sync::Arc;

use axum::http::Uri;
use maud::{Markup, html};
use semel_core::store::{Actor, Reason};
use semel_http::problem::{Problem, Type};
use serde::de::DeserializeOwned;

use super::csrf::FIELD;
use super::ui;
use crate::api::fields::BY_BYTES_MAX;
use crate::input::{check_utf8, refuse_field};
use crate::refused::Refused;
use crate::router::Shared;
use crate::tokens::{Caller, Needs, UNCHECKED_BYTES_MAX};

/// Who asks for a page, and with which parameters.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    /// The store, the inbox and everything else that handlers share.
    pub(crate) app: Shared,
    /// Who looks.
    pub(crate) caller: Caller,
    /// The page's own address with its parameters.
    pub(super) uri: Uri,
    /// The token of its forms.
    pub(super) form_token: String,
    /// Who decided last in this browser, for a door without tokens.
    pub(super) by: Option<String>,
    /// What is said once.
    pub(super) notice: Option<String>,
    /// Whether the viewer can sign out.
    pub(super) is_signed_in: bool,
    /// Whether only the live part is shown, once more: what stands beside it need not be found again.
    pub(super) is_update: bool,
}

impl Ask {
    /// The parameters. Fields that a filter form left empty are left out.
    pub(crate) fn query<T: DeserializeOwned>(&self) -> Result<T, Refused> {
        let query = self.uri.query().unwrap_or_default();
        check_utf8(query)?;
        parse(query)
    }

    /// The same for the live part alone.
    #[must_use]
    pub(super) fn update(mut self) -> Self {
        self.is_update = true;
        self
    }

    /// Whether only the live part will be shown.
    pub(crate) const fn is_update(&self) -> bool {
        self.is_update
    }

    /// Whether the viewer may do what needs this role.
    pub(crate) fn may(&self, needs: Needs) -> bool {
        needs.allows(self.caller.role())
    }

    /// The page's path.
    pub(crate) fn path(&self) -> &str {
        self.uri.path()
    }

    /// The page's address with its parameters.
    pub(crate) fn here(&self) -> String {
        let whole = self.uri.path_and_query();
        whole.map_or_else(|| self.uri.path().to_owned(), ToString::to_string)
    }

    /// The address of this page with some parameters changed: set, or left out with `None`.
    pub(crate) fn link(&self, changes: &[(&str, Option<&str>)]) -> String {
        let query = self.uri.query().unwrap_or_default();
        let mut pairs: Vec<(String, String)> =
            serde_urlencoded::from_str(&without_empty(query)).unwrap_or_default();
        pairs.retain(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
        let set = changes
            .iter()
            .filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned())));
        pairs.extend(set);
        ui::address(self.uri.path(), &pairs)
    }

    /// A form that posts to this page's path, with its token.
    pub(crate) fn form(&self, content: Markup) -> Markup {
        self.form_to(self.uri.path(), content)
    }

    /// A form that posts to another page's path.
    pub(crate) fn form_to(&self, path: &str, content: Markup) -> Markup {
        html! {
            form.act method="post" action=(path) autocomplete="off" {
                input type="hidden" name=(FIELD) value=(self.form_token);
                (content)
            }
        }
    }

    /// The field `by` that says who decides. The holder of a token need not say it; at a door without tokens it is filled in with who decided last.
    pub(crate) fn who(&self) -> Markup {
        match self.caller.name() {
            Some(name) => html! { p.hint { "Decided by " strong { (name) } "." } },
            None => html! {
                label.field {
                    span { "Who decides" }
                    input name="by" required maxlength=(ui::typed_max(BY_BYTES_MAX.min(UNCHECKED_BYTES_MAX))) value=[self.by.as_deref()];
                }
            },
        }
    }
}

/// A form that was posted to a page. Session, role, origin and token have been checked.
#[derive(Debug)]
pub(crate) struct Act {
    /// Who acts.
    pub(crate) ask: Ask,
    /// The form, as it was sent.
    pub(super) form: Arc<str>,
}

impl Act {
    /// The fields. Empty ones are left out, the form's token too.
    pub(crate) fn fields<T: DeserializeOwned>(&self) -> Result<T, Refused> {
        parse(&self.form)
    }

    /// One field.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let pairs: Vec<(String, String)> = serde_urlencoded::from_str(&self.form).ok()?;
        let found = pairs.into_iter().find(|(found, _)| found == name);
        found
            .map(|(_, value)| value)
            .filter(|value| !value.is_empty())
    }

    /// One field of many lines, which end with LF.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.field(name).map(|text| line_ends(&text, false))
    }

    /// Who decides, as [`Ask::who`] asked for it.
    pub(crate) fn actor(&self) -> Result<Actor, Refused> {
        let by = self.field("by").map(Actor::new).transpose();
        let by = by.map_err(|error| refuse_field("by", &error.to_string()))?;
        self.ask.caller.actor(by)
    }

    /// Why, for the audit, as [`ui::reason`] asks for it. Whatever a person decides on a page has one.
    pub(crate) fn reason(&self) -> Result<Reason, Refused> {
        let reason = self.field("reason").unwrap_or_default();
        match reason.trim() {
            "" => Err(refuse_field(
                "reason",
                "expected why you decide this, for the audit; found nothing, and nothing was changed",
            )),
            why => Reason::new(why).map_err(|error| refuse_field("reason", &error.to_string())),
        }
    }
}

/// A text of many lines with the line ends that it is to have: browsers send all of them as CR LF.
pub(crate) fn line_ends(text: &str, is_crlf: bool) -> String {
    let lines = text.replace("\r\n", "\n");
    match is_crlf {
        true => lines.replace('\n', "\r\n"),
        false => lines,
    }
}

/// What became of a form.
#[derive(Debug)]
pub(crate) enum Acted {
    /// Something to look at first: a dry run, with a form that confirms it.
    Show(Page),
    /// It is done. The browser is sent to an address of the dashboard, where the notice is shown once.
    Done {
        /// Where to.
        to: String,
        /// What changed.
        notice: String,
    },
}

impl Acted {
    /// It is done; the browser goes to `to` and is shown `notice`.
    pub(crate) fn done(to: impl Into<String>, notice: impl Into<String>) -> Self {
        let (to, notice) = (to.into(), notice.into());
        Self::Done { to, notice }
    }
}

/// What stands on a page, from top to bottom.
#[derive(Debug)]
pub(crate) struct Page {
    pub(super) title: String,
    pub(super) lead: Markup,
    pub(super) live: Option<Markup>,
    pub(super) rest: Markup,
}

impl Page {
    /// An empty one.
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            lead: Markup::default(),
            live: None,
            rest: Markup::default(),
        }
    }

    /// What stands above the live part and does not change by itself: filters.
    #[must_use]
    pub(crate) fn lead(mut self, lead: Markup) -> Self {
        self.lead = lead;
        self
    }

    /// What is rendered again and sent to the browser while it is looked at.
    #[must_use]
    pub(crate) fn live(mut self, live: Markup) -> Self {
        self.live = Some(live);
        self
    }

    /// What stands below: forms, and what the viewer opens.
    #[must_use]
    pub(crate) fn rest(mut self, rest: Markup) -> Self {
        self.rest = rest;
        self
    }
}

/// Reads fields as a type; what is wrong is said with the library's words.
fn parse<T: DeserializeOwned>(fields: &str) -> Result<T, Refused> {
    serde_urlencoded::from_str(&without_empty(fields))
        .map_err(|error| Problem::new(Type::InvalidInput, error.to_string()).into())
}

/// The fields that say something. A form sends all of its fields, those that were left empty as well.
fn without_empty(fields: &str) -> String {
    let said = fields.split('&').filter(|field| {
        let (name, value) = field.split_once('=').unwrap_or((field, ""));
        !value.is_empty() && name != FIELD
    });
    said.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_fields_and_the_token_are_left_out() {
        for (fields, left) in [
            ("", ""),
            ("a=&b=2&c", "b=2"),
            ("form_token=0&a=1", "a=1"),
            ("a=%20&b=1=2", "a=%20&b=1=2"),
        ] {
            assert_eq!(without_empty(fields), left, "{fields}");
        }
    }
}
