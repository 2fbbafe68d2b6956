//! What a person typed into a form that is refused. It is shown once more, because a browser forgets it: pages are not kept. Nothing of it is kept here either, and
//! nothing is logged.

use axum::body::Body;
use axum::http::header::{HOST, REFERER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use maud::{Markup, html};

use super::serve::{form, wants_html};
use super::{csrf, sign_in, table, ui};
use crate::gate::only;
use crate::input::{BYTES_MAX, spool};
use crate::router::Shared;

/// The fields that texts are typed into, and what they are called.
const TEXTS: [(&str, &str); 3] = [
    ("payload", "Payload"),
    ("body", "Body"),
    ("reason", "Reason, for the audit"),
];
/// The fields that say what a form is about, as the parameters of a page do.
const ABOUT: [&str; 5] = ["tenant", "scope", "key", "consumer", "id"];
/// The most lines that a text has room for.
const ROWS_MAX: usize = 12;

/// A form that is refused. No `Debug`: it may be all payload.
pub(super) struct Typed {
    fields: Vec<(String, String)>,
    /// The address of the page that it was on.
    page: Option<String>,
}

impl Typed {
    /// What was typed into a form that was read.
    pub(super) fn new(parts: &Parts, form: &str) -> Self {
        let fields: Vec<_> = serde_urlencoded::from_str(form).unwrap_or_default();
        // Whatever takes a form is a page, too, but for the end of a session.
        let posted_to = table::find(parts.uri.path()).map(|_| parts.uri.clone());
        let from = came_from(&parts.headers).or(posted_to);
        let page = from.map(|from| address(&from, &fields));
        Self { fields, page }
    }

    /// The same of a form that is refused before it was read. It is read now if a page of this origin posted it and if it is small, so that those who may not
    /// come in hold up nothing.
    pub(super) async fn unread(app: &Shared, parts: &Parts, body: Body) -> Self {
        let headers = &parts.headers;
        let read = async {
            let is_shown = wants_html(headers) && csrf::check_origin(headers).is_ok();
            let spooled = match is_shown {
                true => spool(app, headers, body, BYTES_MAX).await.ok()?,
                false => return None,
            };
            form(&spooled.bytes).ok()
        };
        Self::new(parts, &read.await.unwrap_or_default())
    }

    /// Where the form can be filled in again.
    pub(super) fn page(&self) -> Option<&str> {
        self.page.as_deref()
    }

    /// The texts, to be copied.
    pub(super) fn show(&self) -> Markup {
        let typed = TEXTS
            .iter()
            .filter_map(|(name, label)| Some((label, field(&self.fields, name)?)));
        let typed: Vec<_> = typed.collect();
        html! {
            @if !typed.is_empty() {
                section.part {
                    h2 { "What you typed" }
                    p.hint { "It is kept nowhere: copy it before you leave this page." }
                    @for (label, text) in typed {
                        label.field.wide {
                            span { (label) }
                            textarea readonly rows=(text.lines().count().clamp(2, ROWS_MAX)) spellcheck="false" { "\n" (text) }
                        }
                    }
                }
            }
        }
    }
}

/// One field, if it says something.
fn field<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = fields.iter().find(|(found, _)| found == name);
    let text = found.map(|(_, text)| text.as_str());
    text.filter(|text| !text.trim().is_empty())
}

/// The page of this host that made the request, if the browser says so.
fn came_from(headers: &HeaderMap) -> Option<Uri> {
    let from: Uri = only(headers, &REFERER)?.parse().ok()?;
    let named = from.authority()?.as_str();
    let is_own = only(headers, &HOST).is_some_and(|host| host.eq_ignore_ascii_case(named));
    is_own.then_some(from)
}

/// The address of a page. One that a form led to has no parameters, so what the form is about takes their place.
fn address(from: &Uri, fields: &[(String, String)]) -> String {
    let address = match from.path_and_query() {
        Some(whole) if whole.query().is_some() => whole.to_string(),
        _ => {
            let about = ABOUT.iter();
            let about = about.filter_map(|name| Some((*name, field(fields, name)?)));
            ui::link_to(from.path(), &about.collect::<Vec<_>>())
        }
    };
    sign_in::local(&address).to_owned()
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    const HERE: &str = "localhost:7071";

    fn typed(path: &str, referer: &str, form: &str) -> Typed {
        let request = Request::post(path)
            .header(HOST, HERE)
            .header(REFERER, referer);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        Typed::new(&parts, form)
    }

    #[test]
    fn one_goes_back_to_the_page_of_the_form() {
        const FORM: &str = "key=order+17&scope=payments%401&tenant=acme&reason=INC-7";
        const ONE: &str = "/keys/one?tenant=acme&scope=payments%401&key=order+17";
        for (referer, to) in [
            (
                "http://localhost:7071/inbox/one?id=a%20b",
                "/inbox/one?id=a%20b",
            ),
            ("https://LOCALHOST:7071/keys/one", ONE),
            ("http://evil.example/inbox?id=1", ONE),
            ("http://localhost/inbox?id=1", ONE),
            ("http://localhost:7071//evil.example/?a=1", "/"),
            ("not an address", ONE),
        ] {
            let found = typed("/keys/one", referer, FORM);
            assert_eq!(found.page(), Some(to), "{referer}");
        }
        assert_eq!(typed("/sign-out", "", "").page(), None);
    }

    #[test]
    fn what_was_typed_is_shown_as_text_and_the_rest_is_not() {
        let form = "form_token=SECRET&payload=%3C%2Ftextarea%3E%0D%0Aa&reason=+&key=k";
        let shown = typed("/inbox", "", form).show().into_string();
        assert!(
            shown.contains(">\n&lt;/textarea&gt;\r\na</textarea>"),
            "{shown}"
        );
        assert!(
            !shown.contains("SECRET") && !shown.contains("Reason"),
            "{shown}"
        );
        let none = typed("/inbox", "", "form_token=SECRET");
        assert_eq!(none.show().into_string(), "");
    }
}
