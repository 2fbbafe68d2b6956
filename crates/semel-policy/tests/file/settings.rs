//! Every setting of a route does something, on the route and as the gateway's default.

use std::collections::BTreeSet;
use std::time::Duration;

use http::StatusCode;
use semel_http::fingerprint::By;
use semel_http::key::Source;
use semel_http::profile::Profile;
use semel_http::rules::{BusyStatus, Class, Describe, Missing, Mode, Unknown};
use semel_http::stored::Contents;
use semel_http::tenant;
use semel_policy::CompiledRoute;

use super::{gateway, route};

/// A setting, and how its rules differ from the default.
type Row = (&'static str, fn(&CompiledRoute) -> bool);

fn class(route: &CompiledRoute, code: u16) -> Class {
    route
        .rules
        .keep
        .class(StatusCode::from_u16(code).unwrap(), false)
}

fn is_source(route: &CompiledRoute, expected: &str) -> bool {
    let sources: Vec<_> = route.rules.key.iter().collect();
    format!("{sources:?}").contains(expected)
}

const IDENTITY: [Row; 32] = [
    ("mcp: all", |r| r.rules.mcp.is_some()),
    ("describe: method", |r| r.rules.describe == Describe::Method),
    ("describe: off", |r| r.rules.describe == Describe::Off),
    ("profile: square", |r| r.rules.profile == Profile::Square),
    ("profile: square", |r| r.rules.missing == Missing::Require),
    ("mode: observe", |r| r.rules.mode == Mode::Observe),
    ("key: { header: X-Key }", |r| {
        is_source(r, "Header(\"x-key\")")
    }),
    ("key: { body: $.id }", |r| is_source(r, "$.id")),
    ("key: { query: k }", |r| is_source(r, "Query(\"k\")")),
    ("key: { template: '{a}#{b}' }", |r| {
        is_source(r, "Template(")
    }),
    ("key: derive", |r| r.rules.key.iter().eq([&Source::Derive])),
    ("key: { derive: true }", |r| {
        r.rules.key.iter().eq([&Source::Derive])
    }),
    ("key: [{ query: k }, { header: X-Key }, derive]", |r| {
        r.rules.key.iter().count() == 3
    }),
    ("key_bytes_max: 64", |r| r.rules.key_bytes_max == 64),
    ("missing: require", |r| r.rules.missing == Missing::Require),
    ("missing: derive", |r| r.rules.missing == Missing::Derive),
    (
        "tenant: { header: X-Tenant }",
        |r| matches!(&r.rules.tenant, tenant::Source::Header(name) if name == "x-tenant"),
    ),
    (
        "tenant: { api_key: X-Api-Key }",
        |r| matches!(&r.rules.tenant, tenant::Source::ApiKey(name) if name == "x-api-key"),
    ),
    ("tenant: bearer", |r| {
        matches!(r.rules.tenant, tenant::Source::Bearer)
    }),
    ("tenant: public", |r| {
        matches!(r.rules.tenant, tenant::Source::Public)
    }),
    (
        "tenant: { jwt_claim: { claim: sub, algorithm: HS256, key: s, issuer: i, audience: a } }",
        |r| matches!(r.rules.tenant, tenant::Source::Jwt(_)),
    ),
    (
        "tenant: { jwt_claim: { claim: 'https://a.example/org', jwks: 'https://issuer.example/jwks.json' } }",
        |r| matches!(&r.rules.tenant, tenant::Source::Jwt(jwt) if jwt.set().unwrap().place() == "https://issuer.example/jwks.json"),
    ),
    ("fingerprint: raw", |r| r.rules.fingerprint == By::Raw),
    (
        "fingerprint: { fields: [amount, $.to.id] }",
        |r| matches!(&r.rules.fingerprint, By::Fields(paths) if paths.len() == 2),
    ),
    (
        "fingerprint: { fields: amount }",
        |r| matches!(&r.rules.fingerprint, By::Fields(paths) if paths[0].as_str() == "$.amount"),
    ),
    (
        "fingerprint: { exclude: [at] }",
        |r| matches!(&r.rules.fingerprint, By::Exclude(paths) if paths[0].as_str() == "$.at"),
    ),
    ("fingerprint: off", |r| r.rules.fingerprint == By::Off),
    ("fingerprint: { body: raw }", |r| {
        r.rules.fingerprint == By::Raw
    }),
    ("fingerprint: { headers: X-Region }", |r| {
        r.rules.fingerprint == By::CanonicalJson && r.rules.fingerprint_head.headers == ["x-region"]
    }),
    (
        "fingerprint: { exclude: [at], headers: [X-Region, X-Shop] }",
        |r| {
            matches!(&r.rules.fingerprint, By::Exclude(paths) if paths.len() == 1)
                && r.rules.fingerprint_head.headers == ["x-region", "x-shop"]
        },
    ),
    ("fingerprint: { authority: false }", |r| {
        !r.rules.fingerprint_head.authority
    }),
    ("profile: stripe", |r| {
        r.rules.fingerprint_head.headers == ["stripe-account", "stripe-context"]
    }),
];

const OUTCOME: [Row; 28] = [
    ("in_progress: 425", |r| {
        r.rules.in_progress.status == BusyStatus::TooEarly
    }),
    ("in_progress: 409", |r| r.rules.in_progress.wait.is_zero()),
    ("in_progress: { wait: 5s }", |r| {
        r.rules.in_progress.wait.as_secs() == 5
    }),
    ("in_progress: { then: 202 }", |r| {
        r.rules.in_progress.status == BusyStatus::Accepted
            && r.rules.in_progress.wait.as_secs() == 2
    }),
    ("lease: 10s", |r| r.rules.lease.get().as_secs() == 10),
    ("timeout: 7s", |r| r.rules.timeout.as_secs() == 7),
    ("retention: 7d", |r| {
        r.rules.retention.keep() == Duration::from_secs(7 * 86_400)
    }),
    ("retention: { keep: 48h }", |r| {
        r.rules.retention.keep() == Duration::from_secs(2 * 86_400)
    }),
    ("retention: { keep: 24h, archive: true }", |r| {
        r.rules.retention.archive()
    }),
    ("keep: { statuses: [2xx] }", |r| {
        class(r, 404) == Class::Unknown
    }),
    ("keep: { statuses: 2xx }", |r| {
        class(r, 500) == Class::Unknown
    }),
    ("keep: { release: [404] }", |r| {
        class(r, 404) == Class::Release
    }),
    ("keep: { release: [] }", |r| class(r, 429) == Class::Keep),
    ("keep: { release: [503] }", |r| {
        class(r, 503) == Class::Release
    }),
    ("keep: { release: [429] }", |r| {
        r.rules.keep.release_with_retry_after.patterns().is_empty()
    }),
    ("keep: { release_with_retry_after: [502] }", |r| {
        let status = StatusCode::BAD_GATEWAY;
        class(r, 429) == Class::Release && r.rules.keep.class(status, true) == Class::Release
    }),
    ("unknown: rerun", |r| {
        matches!(r.rules.unknown, Unknown::Rerun)
    }),
    (
        "unknown: { reconcile: 'http://a/?k={key}&f={fence}' }",
        |r| {
            r.reconcile
                .as_ref()
                .is_some_and(|asked| asked.url == "http://a/?k={key}&f={fence}")
        },
    ),
    ("contents: head", |r| {
        r.rules.stored.contents == Contents::Head
    }),
    ("contents: status", |r| {
        r.rules.stored.contents == Contents::Status
    }),
    ("redact: { body: $.card, headers: [X-Secret] }", |r| {
        let stored = &r.rules.stored;
        let body = stored.without.first().map(|path| path.as_str());
        body == Some("$.card") && stored.without_headers.iter().any(|name| name == "x-secret")
    }),
    ("replay: { cookies: true }", |r| r.rules.replay_cookies),
    ("replay: { expires: true }", |r| r.rules.tell_expiry),
    ("request_bytes: 2MiB", |r| {
        r.rules.request_bytes_max == 2 * 1024 * 1024
    }),
    ("request_bytes: 1000", |r| {
        r.rules.request_bytes_max == 1_000
    }),
    ("response_bytes: 3KiB", |r| {
        r.rules.response_bytes_max == 3 * 1024
    }),
    (
        "limits: { request_bytes: 5KiB, response_bytes: 6KiB }",
        |r| r.rules.request_bytes_max == 5 * 1024 && r.rules.response_bytes_max == 6 * 1024,
    ),
    ("timeouts: { body: 3s }", |r| {
        r.rules.body_timeout.as_secs() == 3
    }),
];

fn rows() -> impl Iterator<Item = Row> {
    IDENTITY.into_iter().chain(OUTCOME)
}

fn name(setting: &str) -> &str {
    setting.split(':').next().unwrap_or_default()
}

#[test]
fn every_setting_reaches_the_rules() {
    let plain = route("gateway: { routes: [{ match: { path: /a } }] }");
    for (setting, holds) in rows() {
        assert!(!holds(&plain), "{setting} is the default");
        let on_gateway = route(&format!(
            "gateway: {{ routes: [{{ match: {{ path: /a }} }}], {setting} }}"
        ));
        assert!(holds(&on_gateway), "{setting} of the gateway");
        if !["limits", "timeouts"].contains(&name(setting)) {
            let text = format!("gateway: {{ routes: [{{ match: {{ path: /a }}, {setting} }}] }}");
            assert!(holds(&route(&text)), "{setting} of a route");
        }
    }
}

#[test]
fn no_setting_is_without_a_test() {
    let schema = semel_policy::schema();
    let known = |name: &str| -> BTreeSet<String> {
        let properties = schema["definitions"][name]["properties"]
            .as_object()
            .unwrap();
        properties.keys().cloned().collect()
    };
    // What stands in both may stand on both levels.
    let both: BTreeSet<_> = known("Gateway")
        .intersection(&known("Route"))
        .cloned()
        .collect();
    let tested = rows().map(|(setting, _)| name(setting).to_owned());
    let tested: BTreeSet<_> = tested.chain(["upstream".to_owned()]).collect();
    assert_eq!(
        both.difference(&tested).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
}

#[test]
fn the_default_words_are_the_defaults() {
    let spelled = "gateway: { profile: ietf, mcp: off, mode: enforce, key: { header: Idempotency-Key }, \
                   key_bytes_max: 255, missing: pass, tenant: caller, fingerprint: canonical_json, \
                   in_progress: { wait: 2s, then: 409 }, lease: 30s, timeout: 60s, retention: 24h, \
                   keep: { statuses: [2xx, 3xx, 4xx, 500], release: [401, 403, 408, 425, 429], \
                   release_with_retry_after: [503] }, \
                   unknown: hold, replay: { cookies: false, expires: false }, \
                   request_bytes: 1MiB, response_bytes: 1MiB }";
    let (spelled, plain) = (route(spelled), route("gateway: {}"));
    assert_eq!(format!("{spelled:?}"), format!("{plain:?}"));
    let built_in = semel_http::Rules::new(plain.rules.scope.clone());
    assert_eq!(format!("{:?}", plain.rules), format!("{built_in:?}"));
}

#[test]
fn a_route_overrides_the_gateway_which_overrides_the_profile() {
    let text = "
gateway:
  profile: paypal
  key_bytes_max: 50
  keep: { statuses: [2xx], release: [404] }
  routes:
    - match: { methods: [POST], path: /a }
    - match: { methods: [POST], path: /b }
      key_bytes_max: 40
      keep: { release: [] }
    - match: { methods: [POST], path: /c }
      profile: adyen
";
    let routes = gateway(text).routes().unwrap();
    let lengths: Vec<_> = routes
        .iter()
        .map(|route| route.rules.key_bytes_max)
        .collect();
    assert_eq!(lengths, [50, 40, 50]);
    let days: Vec<_> = routes
        .iter()
        .map(|r| r.rules.retention.keep().as_secs() / 86_400)
        .collect();
    assert_eq!(days, [45, 45, 7]);
    assert_eq!(class(&routes[0], 404), Class::Release);
    // Parts that the route leaves out stay as the gateway has them.
    assert_eq!(class(&routes[1], 404), Class::Unknown);
    assert_eq!(class(&routes[1], 200), Class::Keep);
}

#[test]
fn what_a_route_adds_to_the_fingerprint_stands_beside_the_profile_and_the_gateway() {
    let text = "
gateway:
  profile: stripe
  fingerprint: { exclude: [at], headers: [X-Region] }
  routes:
    - match: { methods: [POST], path: /a }
      fingerprint: { headers: [X-Shop, Stripe-Account] }
    - match: { methods: [POST], path: /b }
      fingerprint: raw
";
    let routes = gateway(text).routes().unwrap();
    let heads: Vec<_> = routes
        .iter()
        .map(|route| &route.rules.fingerprint_head.headers[..])
        .collect();
    assert_eq!(heads[0], ["stripe-account", "stripe-context", "x-shop"]);
    assert_eq!(heads[1], ["stripe-account", "stripe-context", "x-region"]);
    assert!(matches!(&routes[0].rules.fingerprint, By::Exclude(_)));
    assert_eq!(routes[1].rules.fingerprint, By::Raw);
}

#[test]
fn without_a_scope_each_method_is_an_operation_of_its_own() {
    let scopes = |text: &str| {
        let routes = gateway(text).routes().unwrap();
        let scopes = routes
            .iter()
            .map(|route| (route.methods.len(), route.rules.scope.to_string()));
        scopes.collect::<Vec<_>>()
    };
    let each = |name: &str| (1, name.to_owned());
    assert_eq!(
        scopes("gateway: { routes: [{ match: { path: '/o/{id}' } }] }"),
        [each("POST /o/{id}@1"), each("PATCH /o/{id}@1")]
    );
    assert_eq!(
        scopes(
            "gateway: { routes: [{ match: { path: /o, methods: [PUT, DELETE] }, scope: o@2 }] }"
        ),
        [(2, "o@2".to_owned())]
    );
}

#[test]
fn a_gateway_without_routes_guards_every_post_and_patch() {
    let routes = gateway("gateway: { lease: 3s }").routes().unwrap();
    let shown = routes
        .iter()
        .map(|route| format!("{} {}", route.methods[0], route.path));
    let shown: Vec<_> = shown.collect();
    assert_eq!(shown, ["POST /{*rest}", "PATCH /{*rest}"]);
    assert!(
        routes
            .iter()
            .all(|route| route.rules.lease.get().as_secs() == 3)
    );
}

#[test]
fn a_route_may_have_its_own_service_and_methods() {
    let text =
        "gateway: { routes: [{ match: { path: /a, methods: GET }, upstream: 'http://b:1/' }] }";
    let route = route(text);
    assert_eq!(route.upstream.as_deref(), Some("http://b:1"));
    assert_eq!(route.methods, [http::Method::GET]);
    assert_eq!(route.path, "/a");
}

#[test]
fn until_somebody_asks_reconcile_means_hold() {
    let text = "gateway: { unknown: { reconcile: 'http://a/{key}' }, routes: [\
                { match: { path: /a } }, { match: { path: /b }, unknown: hold }] }";
    let routes = gateway(text).routes().unwrap();
    assert!(
        routes
            .iter()
            .all(|route| matches!(route.rules.unknown, Unknown::Hold))
    );
    let asked: Vec<_> = routes
        .iter()
        .map(|route| route.reconcile.is_some())
        .collect();
    assert_eq!(asked, [true, true, false, false]);
}
