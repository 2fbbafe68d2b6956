//! What passes although a client may believe that it is guarded.

use http::Method;
use semel_http::host::HostPattern;
use semel_http::pattern::folded;

use crate::compile::CompiledRoute;

/// Methods that change something.
const UNSAFE: [Method; 4] = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
/// The path of a route for every path.
const EVERYTHING: &str = "/{*rest}";
/// The most lines; a file with hundreds of routes is not repeated.
const LINES_MAX: usize = 20;

/// What passes, and which methods on guarded paths are part of it.
pub(super) fn describe(routes: &[CompiledRoute]) -> Vec<String> {
    let mut said = vec![
        "everything else passes untouched; semel_unguarded_keyed_requests_total counts what of it carries a key"
            .to_owned(),
    ];
    let mut seen: Vec<(&[HostPattern], String)> = Vec::new();
    for route in routes {
        let place = (route.hosts.as_slice(), folded(&route.path));
        if seen.contains(&place) {
            continue;
        }
        let methods = UNSAFE
            .iter()
            .filter(|method| !is_guarded(routes, route, method));
        let methods: Vec<_> = methods.map(Method::as_str).collect();
        if !methods.is_empty() && said.len() <= LINES_MAX {
            let hosts: Vec<_> = route.hosts.iter().map(ToString::to_string).collect();
            said.push(format!(
                "  also {} {}{}",
                methods.join("|"),
                hosts.join("|"),
                route.path
            ));
        }
        seen.push(place);
    }
    said
}

/// Whether some route guards this method where `at` guards others.
fn is_guarded(routes: &[CompiledRoute], at: &CompiledRoute, method: &Method) -> bool {
    routes.iter().any(|route| {
        let is_path = folded(&route.path) == folded(&at.path) || route.path == EVERYTHING;
        let is_host = route.hosts.is_empty() || route.hosts == at.hosts;
        is_path && is_host && route.methods.contains(method)
    })
}

/// Whether the same path on other hosts is guarded by no route.
pub(super) fn on_other_hosts(routes: &[CompiledRoute], at: &CompiledRoute) -> bool {
    let any_host = || routes.iter().filter(|route| route.hosts.is_empty());
    let is_guarded = |method: &Method| {
        any_host().any(|route| {
            let is_path = folded(&route.path) == folded(&at.path) || route.path == EVERYTHING;
            is_path && route.methods.contains(method)
        })
    };
    !at.hosts.is_empty() && !at.methods.iter().all(is_guarded)
}
