//! Headers that clients cannot say, in any spelling.
//!
//! CGI, WSGI and Rack hand `Semel_Fence` and `Semel-Fence` to a service under one name, `HTTP_SEMEL_FENCE`. A client
//! that writes `_` for `-` could so speak for Semel, or give a service another tenant, key or address than the one that
//! the gateway acted on.

use std::collections::HashSet;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName};
use http_body::Frame;
use semel_http::rules::Rules;
use semel_http::{key, tenant};

use super::hop::is_hop_by_hop;

/// How the names of Semel's own headers begin.
const SEMEL: &str = "semel-";
/// The mark of a replay.
const REPLAYED: &str = "idempotent-replayed";
/// Where fields of a template come from a header.
const FIELD: &str = "header.";

/// Headers that the gateway acts on or sets, by whichever rules.
const RELIED: [&str; 15] = [
    "authorization",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "forwarded",
    "host",
    "idempotency-key",
    "stripe-account",
    "stripe-context",
    "transfer-encoding",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-real-ip",
];
/// How the names of others of them begin.
const FORWARDED: &str = "x-forwarded-";

/// The headers that the routes of a gateway act on.
#[derive(Debug, Default)]
pub(crate) struct Relied {
    names: HashSet<HeaderName>,
    /// The same with `-` for every other mark.
    folded: HashSet<String>,
    /// Whether a route's own header is written with another mark than `-`: then also the one with `-` may be a forgery.
    has_other_marks: bool,
}

impl Relied {
    /// What these rules act on.
    pub(crate) fn on<'a>(rules: impl Iterator<Item = &'a Rules>) -> Self {
        let names: HashSet<HeaderName> = rules.flat_map(headers).collect();
        Self {
            folded: names.iter().map(fold).collect(),
            has_other_marks: names.iter().any(has_other_mark),
            names,
        }
    }

    fn has(&self, folded: &str) -> bool {
        RELIED.contains(&folded) || folded.starts_with(FORWARDED) || self.folded.contains(folded)
    }

    /// Whether a service could take this header for another one that counts.
    fn is_imitated_by(&self, name: &HeaderName, headers: &HeaderMap) -> bool {
        let folded = fold(name);
        let is_other = has_other_mark(name) && !self.names.contains(name);
        is_reserved(&folded)
            || (is_other && (self.has(&folded) || headers.contains_key(&folded)))
            || (self.folded.contains(&folded) && !self.names.contains(name))
    }
}

fn headers(rules: &Rules) -> Vec<HeaderName> {
    let mut names = Vec::new();
    for source in rules.key.iter() {
        match source {
            key::Source::Header(name) => names.push(name.clone()),
            key::Source::Template(template) => {
                let fields = template.fields();
                names.extend(fields.filter_map(|field| field.strip_prefix(FIELD)?.parse().ok()));
            }
            key::Source::Body(_) | key::Source::Query(_) | key::Source::Derive => {}
        }
    }
    if let tenant::Source::Header(name) | tenant::Source::ApiKey(name) = &rules.tenant {
        names.push(name.clone());
    }
    names.extend(rules.fingerprint_head.headers.iter().cloned());
    names
}

/// Removes what a client must not say. Before anything else looks at the headers.
pub(crate) fn disarm(headers: &mut HeaderMap, relied: &Relied) {
    let is_suspicious = |name: &HeaderName| has_other_mark(name) || is_reserved(name.as_str());
    if relied.has_other_marks || headers.keys().any(is_suspicious) {
        remove(headers, |name, headers| {
            relied.is_imitated_by(name, headers)
        });
    }
}

/// What may follow a request's body: neither what only Semel says nor what was acted on before the body came.
pub(crate) fn request_trailers(frame: Frame<Bytes>) -> Frame<Bytes> {
    without(frame, |name| {
        let folded = fold(name);
        is_reserved(&folded) || is_hop_by_hop(name) || Relied::default().has(&folded)
    })
}

/// What may follow a response's body: nothing that is between the service and the guard.
pub(crate) fn response_trailers(frame: Frame<Bytes>) -> Frame<Bytes> {
    without(frame, |name| {
        is_reserved(&fold(name)) || is_hop_by_hop(name)
    })
}

fn without(mut frame: Frame<Bytes>, is_out: impl Fn(&HeaderName) -> bool) -> Frame<Bytes> {
    if let Some(trailers) = frame.trailers_mut() {
        remove(trailers, |name, _| is_out(name));
    }
    frame
}

fn remove(headers: &mut HeaderMap, is_out: impl Fn(&HeaderName, &HeaderMap) -> bool) {
    let names: Vec<HeaderName> = headers
        .keys()
        .filter(|name| is_out(name, headers))
        .cloned()
        .collect();
    for name in names {
        headers.remove(name);
    }
}

fn is_reserved(folded: &str) -> bool {
    folded.starts_with(SEMEL) || folded == REPLAYED
}

/// Whether a name has marks that services replace by others.
fn has_other_mark(name: &HeaderName) -> bool {
    let is_mark = |byte: u8| !byte.is_ascii_alphanumeric() && byte != b'-';
    name.as_str().bytes().any(is_mark)
}

fn fold(name: &HeaderName) -> String {
    name.as_str()
        .replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_core::Scope;

    fn left(relied: &Relied, names: &[&str]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for name in names {
            headers.append(name.parse::<HeaderName>().unwrap(), "1".parse().unwrap());
        }
        disarm(&mut headers, relied);
        let mut left: Vec<_> = headers.keys().map(ToString::to_string).collect();
        left.sort_unstable();
        left
    }

    #[test]
    fn a_client_cannot_speak_for_semel_in_any_spelling() {
        let names = [
            "semel-fence",
            "semel_fence",
            "semel_attempt",
            "semel-outcome",
            "semel-tenant",
            "idempotent-replayed",
            "idempotent_replayed",
            "x-mine",
            "x_mine_too",
        ];
        assert_eq!(left(&Relied::default(), &names), ["x-mine", "x_mine_too"]);
    }

    #[test]
    fn what_the_gateway_acts_on_has_one_spelling() {
        let mut rules = Rules::new(Scope::new("pay", 1).unwrap());
        rules.tenant = tenant::Source::Header("x-tenant".parse().unwrap());
        rules.key = key::Source::Header("order_id".parse().unwrap()).into();
        let relied = Relied::on([&rules].into_iter());
        for (names, expected) in [
            (&["x-tenant", "x_tenant"][..], &["x-tenant"][..]),
            (&["x_tenant"], &[]),
            (&["order_id"], &["order_id"]),
            (&["order-id", "order_id"], &["order_id"]),
            (&["x_forwarded_for", "x_real_ip", "idempotency_key"], &[]),
            (
                &["x_http_method_override", "authorization_"],
                &["authorization_"],
            ),
            // The gateway does not know these two, but a service would read one of them.
            (&["x-color", "x_color"], &["x-color"]),
            (&["x_color"], &["x_color"]),
        ] {
            assert_eq!(left(&relied, names), expected, "{names:?}");
        }
    }
}
