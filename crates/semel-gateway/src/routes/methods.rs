//! Which methods a request may mean.
//!
//! Some services read `post` as `POST`, and many take the method from a header, from the query, or from a form's
//! field `_method` (Rails, Laravel, Symfony, method-override of Express).

use std::borrow::Cow;

use http::header::CONTENT_TYPE;
use http::{HeaderName, Method, Request};
use semel_http::fingerprint::query;

/// Headers that name another method.
pub(super) const HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-method-override"),
];
/// The parameter of the query, or of a form, that does.
const PARAMETER: &[u8] = b"_method";

/// Methods that forms name in their bodies, because browsers cannot send them.
pub(super) const IN_BODIES: [Method; 3] = [Method::PATCH, Method::PUT, Method::DELETE];

pub(super) const AMBIGUOUS: &str = "the request names another method in X-HTTP-Method-Override or _method, and the \
                                    two are guarded as different operations";

/// The method as most services read it.
pub(super) fn usual(method: &Method) -> Cow<'_, Method> {
    let text = method.as_str();
    match text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        true => parsed(text.as_bytes()).map_or(Cow::Borrowed(method), Cow::Owned),
        false => Cow::Borrowed(method),
    }
}

/// The other methods that a request names.
pub(super) fn named<B>(request: &Request<B>) -> Vec<Method> {
    let headers = HEADERS
        .into_iter()
        .flat_map(|name| request.headers().get_all(name));
    // A list is what some make of a header that is sent twice.
    let in_headers = headers.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    let mut named: Vec<Method> = in_headers.filter_map(parsed).collect();
    if let Some(query) = request
        .uri()
        .query()
        .filter(|query| may_name_a_method(query))
    {
        let pairs = query::pairs(query).into_iter();
        let values = pairs.filter(|(name, _)| name.eq_ignore_ascii_case(PARAMETER));
        named.extend(values.filter_map(|(_, value)| parsed(&value)));
    }
    named
}

/// Most queries name none, and need not be taken apart.
fn may_name_a_method(query: &str) -> bool {
    let is_like = |part: &[u8]| part.eq_ignore_ascii_case(PARAMETER);
    query.contains('%') || query.as_bytes().windows(PARAMETER.len()).any(is_like)
}

fn parsed(text: &[u8]) -> Option<Method> {
    Method::from_bytes(&text.trim_ascii().to_ascii_uppercase()).ok()
}

/// Whether a request is a form whose body may name another method. It is not read to find out: that would end
/// streaming for every form.
pub(super) fn may_be_named_in_the_body<B>(request: &Request<B>) -> bool {
    let form = |value: &[u8]| {
        let essence = value.split(|byte| *byte == b';').next().unwrap_or_default();
        let essence = essence.trim_ascii().to_ascii_lowercase();
        matches!(
            &essence[..],
            b"application/x-www-form-urlencoded" | b"multipart/form-data"
        )
    };
    let kind = request.headers().get(CONTENT_TYPE);
    *request.method() == Method::POST && kind.is_some_and(|kind| form(kind.as_bytes()))
}
