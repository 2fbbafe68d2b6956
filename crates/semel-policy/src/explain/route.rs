//! One route in words.

use semel_core::duration::show;
use semel_http::fingerprint::By;
use semel_http::key::Source;
use semel_http::mcp::{Mcp, ToolErrors, Tools};
use semel_http::path::JsonPath;
pub(super) use semel_http::policy::written as header;
use semel_http::profile::Profile;
use semel_http::rules::{Missing, Mode, Rules, StatusSet, Unknown};
use semel_http::stored::{Contents, Stored};
use semel_http::tenant;

use super::{Lines, quota};
use crate::compile::{CompiledReconcile, CompiledRoute};
use crate::value::Size;

/// The name of a route and what it does.
pub(super) fn describe(route: &CompiledRoute) -> (String, Lines) {
    let rules = &route.rules;
    let mut lines = vec![
        ("key", key(rules)),
        ("no key", missing(rules).to_owned()),
        ("caller", tenant(&rules.tenant)),
        ("same", fingerprint(rules)),
        ("running", in_progress(rules)),
        ("kept", kept(rules)),
        ("released", released(rules)),
        ("unknown", unknown(rules, route.reconcile.as_ref())),
        ("times", times(rules)),
        ("sizes", sizes(rules)),
    ];
    if rules.profile != Profile::default() {
        let profile = rules.profile.name();
        lines.insert(
            0,
            (
                "profile",
                format!("{profile}: refusals look as its clients expect"),
            ),
        );
    }
    if let Some(mcp) = &rules.mcp {
        lines.insert(0, ("guarded", calls(rules, mcp)));
    }
    if rules.mode == Mode::Observe {
        let watched = "only watched: everything passes, and what would have happened is reported";
        lines.insert(0, ("mode", watched.to_owned()));
    }
    if route.exact {
        let exact = "method and path byte by byte: another spelling of them passes unguarded";
        lines.insert(0, ("match", exact.to_owned()));
    }
    if !rules.stored.is_everything() {
        lines.push(("stored", stored(&rules.stored)));
    }
    if !rules.quota.is_empty() {
        let shown = quota::shown(&rules.quota);
        lines.push((
            "limits",
            format!("{shown} from one tenant, besides its other limits"),
        ));
    }
    if let Some(upstream) = &route.upstream {
        lines.push(("service", upstream.clone()));
    }
    (name(route), lines)
}

fn stored(stored: &Stored) -> String {
    let much = match stored.contents {
        Contents::Full => "status, headers and body",
        Contents::Head => "status and headers; replays say body-not-kept",
        Contents::Status => "the status; replays say body-not-kept",
    };
    let mut out: Vec<_> = stored
        .without
        .iter()
        .map(|p| p.as_str().to_owned())
        .collect();
    out.extend(stored.without_headers.iter().map(header));
    match out.is_empty() {
        true => much.to_owned(),
        false => format!("{much}, without {}", out.join(", ")),
    }
}

fn calls(rules: &Rules, mcp: &Mcp) -> String {
    let which = match &mcp.tools {
        Tools::All => "of every tool".to_owned(),
        Tools::Only(names) => format!("of {}", names.join(", ")),
        Tools::Except(names) => format!("of every tool but {}", names.join(", ")),
    };
    let errors = match mcp.tool_errors {
        ToolErrors::Keep => "kept",
        ToolErrors::Release => "released",
    };
    let (scope, version) = (rules.scope.name(), rules.scope.version());
    format!(
        "tools/call {which}, as {scope}:TOOL@{version}; results with isError are {errors}; all other messages pass"
    )
}

/// How warnings and headings call a route.
pub(super) fn name(route: &CompiledRoute) -> String {
    let methods: Vec<_> = route.methods.iter().map(http::Method::as_str).collect();
    let hosts: Vec<_> = route.hosts.iter().map(ToString::to_string).collect();
    let name = format!("{} {}{}", methods.join("|"), hosts.join("|"), route.path);
    match route.rules.scope.name() == name {
        true => name,
        false => format!("{name} ({})", route.rules.scope),
    }
}

fn key(rules: &Rules) -> String {
    let sources: Vec<_> = rules.key.iter().map(source).collect();
    let max = rules.key_bytes_max;
    format!("{}; at most {max} bytes", sources.join(", else "))
}

fn source(source: &Source) -> String {
    match source {
        Source::Header(name) => format!("the header {}", header(name)),
        Source::Body(path) => format!("{} in the body", path.as_str()),
        Source::Query(name) => format!("the query parameter {name}"),
        Source::Template(_) => "a template of the request's fields".to_owned(),
        Source::Derive => "derived from what is asked".to_owned(),
    }
}

fn missing(rules: &Rules) -> &'static str {
    match rules.missing {
        _ if rules.key.iter().any(|source| *source == Source::Derive) => {
            "cannot be: one is derived"
        }
        Missing::Require => "refused with 400",
        Missing::Pass => "passes unguarded; `missing: require` would refuse it",
        Missing::Derive => "gets a key derived from what it asks: same content, same operation",
    }
}

fn tenant(source: &tenant::Source) -> String {
    match source {
        tenant::Source::Caller => {
            "by what stays the same in Authorization; without it everybody is the same".to_owned()
        }
        tenant::Source::Header(name) => {
            format!("the header {}, believed as it is; required", header(name))
        }
        tenant::Source::ApiKey(name) => format!("by the secret in {}; required", header(name)),
        tenant::Source::Bearer => "by the bearer token; required".to_owned(),
        tenant::Source::Jwt(jwt) => match jwt.set() {
            Some(set) => format!(
                "a claim of the token, signed by a key of {}; required",
                set.shown()
            ),
            None => "a claim of the signed token; required".to_owned(),
        },
        tenant::Source::Public => "everybody is the same".to_owned(),
    }
}

fn fingerprint(rules: &Rules) -> String {
    let mut said = match &rules.fingerprint {
        By::CanonicalJson => {
            "the whole request; the order of JSON fields does not matter".to_owned()
        }
        By::Raw => "the whole request, byte by byte".to_owned(),
        By::Fields(paths) => format!("of the body only {}", listed(paths)),
        By::Exclude(paths) => format!("the whole request without {}", listed(paths)),
        By::Off => return "whatever has the same key".to_owned(),
    };
    let head = &rules.fingerprint_head;
    if !head.headers.is_empty() {
        let names: Vec<_> = head.headers.iter().map(header).collect();
        said = format!("{said}; {} count", names.join(", "));
    }
    if !head.authority {
        said += "; on any host";
    }
    said
}

fn listed(paths: &[JsonPath]) -> String {
    let paths: Vec<_> = paths.iter().map(JsonPath::as_str).collect();
    paths.join(", ")
}

fn in_progress(rules: &Rules) -> String {
    let status = rules.in_progress.status.status().as_u16();
    match rules.in_progress.wait {
        wait if wait.is_zero() => format!("a duplicate gets {status} at once"),
        wait => format!("a duplicate waits up to {}, then gets {status}", show(wait)),
    }
}

fn kept(rules: &Rules) -> String {
    let then = match rules.retention.archive() {
        true => "then archived",
        false => "then forgotten",
    };
    let cookies = match rules.replay_cookies {
        true => "; replays carry cookies",
        false => "",
    };
    let expires = match rules.tell_expiry {
        true => "; answers tell until when",
        false => "",
    };
    let (statuses, keep) = (statuses(&rules.keep.statuses), show(rules.retention.keep()));
    format!("{statuses}: replayed for {keep}, {then}{expires}{cookies}")
}

fn released(rules: &Rules) -> String {
    let (always, with) = (&rules.keep.release, &rules.keep.release_with_retry_after);
    let conditional = || format!("{} with Retry-After", statuses(with));
    let which = match (always.patterns(), with.patterns()) {
        ([], []) => return "no answer: every one may have had an effect".to_owned(),
        (_, []) => statuses(always),
        ([], _) => conditional(),
        (_, _) => format!("{}, and {}", statuses(always), conditional()),
    };
    format!("{which}: the next attempt runs")
}

fn statuses(set: &StatusSet) -> String {
    let patterns: Vec<_> = set.patterns().iter().map(ToString::to_string).collect();
    match patterns.is_empty() {
        true => "no answer".to_owned(),
        false => patterns.join(" "),
    }
}

fn unknown(rules: &Rules, reconcile: Option<&CompiledReconcile>) -> String {
    match (&rules.unknown, reconcile) {
        (_, Some(asked)) => asks(asked),
        (Unknown::Hold, None) => "held: callers get 409 until a person decides".to_owned(),
        (Unknown::Rerun, None) => "runs again".to_owned(),
        (Unknown::Reconcile(_), None) => "the reconciler is asked".to_owned(),
    }
}

/// Of what is sent along only the names are told.
fn asks(asked: &CompiledReconcile) -> String {
    let url = &asked.url;
    let names: Vec<_> = asked.headers.iter().map(|(name, _)| header(name)).collect();
    match names.is_empty() {
        true => format!("{url} is asked whether it happened"),
        false => format!(
            "{url} is asked whether it happened, with {}",
            names.join(", ")
        ),
    }
}

fn times(rules: &Rules) -> String {
    let (timeout, lease) = (show(rules.timeout), show(rules.lease.get()));
    format!(
        "the service has {timeout} to begin its answer; a lease lasts {lease} without a sign of life"
    )
}

fn sizes(rules: &Rules) -> String {
    let (request, response) = (
        Size(rules.request_bytes_max),
        Size(rules.response_bytes_max),
    );
    format!("requests up to {request}; of responses over {response} the body is not kept")
}
