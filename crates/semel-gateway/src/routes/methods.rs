//! Which methods a request may mean.
//!
//! Some services read `post` as `POST`, and many take the method from a header, from the query, or from a form's
//! field `_method` (Rails, Laravel, Symfony, method-override of Express).

use std::borrow::Cow;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{Method, Request, Version};
use semel_http::fingerprint::{METHOD_OVERRIDES, query};

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
    let headers = METHOD_OVERRIDES
        .iter()
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

/// Whether a request may have a body; in HTTP/2 it need not say so.
fn has_body<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    match headers.get(CONTENT_LENGTH) {
        Some(length) => length != "0",
        None => request.version() >= Version::HTTP_2 || headers.contains_key(TRANSFER_ENCODING),
    }
}

/// Whether a request is a form whose body may name another method. It is not read to find out: that would end
/// streaming for every form.
pub(super) fn may_be_named_in_the_body<B>(request: &Request<B>) -> bool {
    let form = |value: &[u8]| {
        let essence = value.split(|byte| matches!(byte, b';' | b','));
        let essence = essence.into_iter().next().unwrap_or_default();
        let essence = essence.trim_ascii().to_ascii_lowercase();
        essence == b"application/x-www-form-urlencoded" || essence.starts_with(b"multipart/")
    };
    // Rack takes a body without a type for a form.
    let kind = request.headers().get(CONTENT_TYPE);
    usual(request.method()).as_ref() == Method::POST
        && has_body(request)
        && kind.is_none_or(|kind| form(kind.as_bytes()))
}
