//! The API's own description: what utoipa reads from the handlers, with the refusals that every call has in common and the
//! limits of fields, which are the same wherever a field is taken.

mod limits;
mod refusals;
mod roles;

use std::sync::LazyLock;

use axum::Json;
use serde_json::Value;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Components, OpenApi};
use utoipa::{Modify, OpenApi as _};

use crate::api::{alerts, audit, claims, duplicates, inbox, observations, records, stats};
use crate::input::{NoParams, Params};
use crate::probes;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Semel admin API",
        description = "Makes a request or a message take effect once. Refusals are problems \
                       (RFC 9457); their types are `urn:semel:problem:NAME`, and the header `Link` \
                       of each leads to the page about it.",
    ),
    tags(
        (name = "claims", description = "Claim, run, settle: the protocol for programs in any language"),
        (name = "records", description = "Find records, and decide about unknown outcomes"),
        (name = "inbox", description = "List messages, retry, park or skip them"),
        (name = "health", description = "For machines that watch"),
    ),
    security(("token" = [])),
    modifiers(&Token),
    paths(
        probes::healthz,
        probes::readyz,
        probes::metrics,
        document,
        claims::claim,
        claims::look_up,
        claims::renew,
        claims::settle,
        claims::release,
        claims::mark_unknown,
        records::list,
        records::one,
        records::resolve,
        records::resolve_many,
        records::reconcile,
        records::reconcile_many,
        records::erase,
        records::erase_many,
        audit::audit,
        alerts::alerts,
        stats::stats,
        observations::observations,
        duplicates::duplicates,
        inbox::list,
        inbox::one,
        inbox::counts,
        inbox::gaps,
        inbox::failures,
        audit::inbox_audit,
        inbox::retry,
        inbox::edit,
        inbox::park,
        inbox::unpark,
        inbox::skip,
        inbox::replay,
        inbox::erase,
        inbox::pause,
        inbox::resume,
    ),
)]
struct Description;

/// A token. It is needed if the admin side has any, and passed over if it has none.
struct Token;

impl Modify for Token {
    fn modify(&self, document: &mut OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        document
            .components
            .get_or_insert_with(Components::new)
            .add_security_scheme("token", scheme);
    }
}

/// This description.
#[utoipa::path(get, path = "/api/v1/openapi.json", tag = "health",
    responses((status = 200, description = "OpenAPI", body = serde_json::Value)))]
pub(crate) async fn document(_: Params<NoParams>) -> Json<&'static Value> {
    Json(&DOCUMENT)
}

/// Written once: it depends on nothing that changes while the process runs.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let document = serde_json::to_value(Description::openapi());
    let mut document = document.expect("a description is valid JSON");
    refusals::declare(&mut document);
    limits::declare(&mut document);
    roles::declare(&mut document);
    document
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::routes;
    use std::collections::BTreeSet;

    #[test]
    fn the_description_names_every_route_and_no_other() {
        let paths = DOCUMENT["paths"].as_object().unwrap();
        let described: BTreeSet<_> = paths
            .iter()
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().unwrap().keys();
                methods.map(move |method| (method.to_uppercase(), path.clone()))
            })
            .collect();
        let routed: BTreeSet<_> = routes()
            .into_iter()
            .map(|route| (route.method.to_string(), route.path.to_owned()))
            .collect();
        assert_eq!(described, routed);
    }
}
