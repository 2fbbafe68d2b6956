//! What is allowed, but surprises people.

mod messages;
mod times;

use std::time::Duration;

use http::StatusCode;
use semel_core::duration::show;
use semel_http::fingerprint::By;
use semel_http::key::Source;
use semel_http::profile::Profile;
use semel_http::rules::{Class, Missing, Mode, Rules, Unknown};
use semel_http::tenant;

use super::route::name;
use super::unguarded;
use crate::compile::CompiledRoute;
use crate::file::Gateway;
use crate::load::File;

/// Clients come back minutes later; less than this is probably a mistake.
const RETENTION_SHORT: Duration = Duration::from_secs(60 * 60);

pub(super) fn all(file: &File) -> Vec<String> {
    let gateway = file.gateway.iter().flat_map(of_gateway);
    let admin = super::admin::warn(&file.admin).into_iter();
    admin.chain(gateway).chain(messages::all(file)).collect()
}

fn of_gateway(gateway: &Gateway) -> Vec<String> {
    let routes = gateway.routes().unwrap_or_default();
    let mut warnings = Vec::new();
    if gateway.trust_forwarded {
        let message = "gateway.trust_forwarded: clients can claim any address unless a proxy in front \
                       overwrites Forwarded and X-Forwarded-*";
        warnings.push(message.to_owned());
    }
    if gateway.upstream.is_none() {
        let message =
            "gateway.upstream is missing: whatever no route sends elsewhere has no service";
        warnings.push(message.to_owned());
    }
    for (message, names) in grouped(&routes) {
        warnings.push(format!("{}: {message}", names.join(", ")));
    }
    warnings.extend(times::of_gateway(gateway, &routes));
    warnings
}

/// The same warning about several routes is one warning.
fn grouped(routes: &[CompiledRoute]) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (route, message) in routes
        .iter()
        .flat_map(|r| of_route(routes, r).into_iter().map(move |m| (r, m)))
    {
        match groups.iter_mut().find(|(known, _)| *known == message) {
            Some((_, names)) => names.push(name(route)),
            None => groups.push((message, vec![name(route)])),
        }
    }
    groups
}

fn of_route(routes: &[CompiledRoute], route: &CompiledRoute) -> Vec<String> {
    let table = [
        (
            route.exact,
            "match.exact: a service that ignores case, slashes at the end, ;parameters or X-HTTP-Method-Override runs \
             requests that pass unguarded",
        ),
        (
            unguarded::on_other_hosts(routes, route),
            "match.host: requests for other hosts pass unguarded, so the service must refuse hosts that it does not know",
        ),
    ];
    let said = table.into_iter().filter(|(holds, _)| *holds);
    let said = said.map(|(_, message)| message.to_owned());
    said.chain(of_rules(&route.rules, route.reconcile.is_some()))
        .collect()
}

/// Whether the answer that a failure gets is final.
fn keeps_failures(rules: &Rules) -> bool {
    let failures = (400..600).filter_map(|code| StatusCode::from_u16(code).ok());
    let mut classes = failures.map(|status| rules.keep.class(status, false));
    classes.any(|class| class == Class::Keep)
}

fn of_rules(rules: &Rules, reconciles: bool) -> Vec<String> {
    let is_public = matches!(rules.tenant, tenant::Source::Public);
    let is_by_token = matches!(
        rules.tenant,
        tenant::Source::Caller | tenant::Source::Bearer
    );
    let is_derived =
        rules.missing == Missing::Derive || rules.key.iter().any(|s| *s == Source::Derive);
    let kept = rules.retention.keep();
    let short = format!(
        "retention is {}: a client that retries later than that runs the operation again",
        show(kept)
    );
    let table = [
        (
            rules.mode == Mode::Observe,
            "mode is observe: duplicates are reported, not stopped",
        ),
        (
            is_public && rules.replay_cookies,
            "tenant is public and cookies are replayed: one caller's session can reach another",
        ),
        (
            is_by_token,
            "callers are told apart by their tokens: one whose bearer token is renewed between two attempts is another \
             caller, and its retry runs again; tenant: { jwt_claim: ... } takes what stays",
        ),
        (
            is_derived,
            "keys are derived: two requests with the same content are one operation, even if both are meant",
        ),
        (kept < RETENTION_SHORT, short.as_str()),
        (
            rules.profile == Profile::Acp && matches!(rules.unknown, Unknown::Hold) && !reconciles,
            "profile is acp and unknown is hold: after an answer of 5xx a person decides, while ACP wants the retry to run; \
             `unknown: rerun` is for services that resume what they began",
        ),
        (
            rules.profile == Profile::StripeV2 && keeps_failures(rules),
            "profile is stripe-v2 and keep.statuses has failures: these are replayed and not tried again",
        ),
        (
            matches!(rules.unknown, Unknown::Rerun),
            "unknown is rerun: only for effects that are idempotent by themselves",
        ),
        (
            rules.fingerprint == By::Off,
            "fingerprint is off: another request with the same key gets the first one's answer",
        ),
    ];
    let said = table.into_iter().filter(|(holds, _)| *holds);
    said.map(|(_, message)| message.to_owned()).collect()
}
