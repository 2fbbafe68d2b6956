//! Patterns of paths: `/orders/{id}/capture`, `/v1/{*rest}`.
//!
//! A pattern that is written for another router matches nothing here, and guards nothing. It is refused, with the
//! spelling that was meant.

use crate::spelling::{Reading, has_dot_segments};

/// The longest pattern, in bytes.
const BYTES_MAX: usize = 1_024;

/// Says what is wrong with a pattern, if anything is, and what to write instead.
pub fn check(pattern: &str) -> Result<(), String> {
    if !pattern.starts_with('/') {
        return Err("expected a path that begins with a slash".to_owned());
    }
    if pattern.len() > BYTES_MAX {
        return Err(format!("expected a path of at most {BYTES_MAX} bytes"));
    }
    if pattern.contains(['?', '#', ' ']) && !pattern.contains('{') {
        return Err("expected a path without query, fragment and spaces".to_owned());
    }
    if has_dot_segments(pattern) {
        return Err(
            "expected a path without dot segments: requests with them are refused".to_owned(),
        );
    }
    for segment in pattern.split('/') {
        if let Some(meant) = meant(segment) {
            return Err(format!("expected {meant} instead of {segment}"));
        }
        if segment.contains(['[', ']', '\\', '^', '|', '?', '#', ' '])
            || segment.contains(".*")
            || segment.contains(".+")
        {
            return Err(format!(
                "expected no regular expression, found {segment}: write {{id}} for one segment, {{*rest}} for all that follow"
            ));
        }
    }
    Ok(())
}

/// What a segment means that is written for another router.
fn meant(segment: &str) -> Option<String> {
    let between = |open, close| segment.strip_prefix(open)?.strip_suffix(close);
    if segment.starts_with("{{") {
        return None;
    }
    if let Some(inside) = between('{', '}') {
        return in_braces(inside);
    }
    if let Some(inside) = between('<', '>') {
        // Flask writes the type first: <int:id>, <path:rest>.
        let (kind, name) = inside.split_once(':').unwrap_or(("", inside));
        return Some(parameter(name, kind == "path"));
    }
    if let Some(inside) = between('[', ']') {
        let name = inside.trim_matches(['[', ']', '.']);
        return Some(parameter(name, inside.contains("...")));
    }
    if let Some(name) = segment.strip_prefix(':') {
        return Some(parameter(name, name.ends_with(['*', '+'])));
    }
    match segment {
        "*" => Some("{id} for one segment, or {*rest} for all that follow,".to_owned()),
        _ if segment.contains('*') && !segment.contains('{') => {
            Some(parameter(segment.trim_matches('*'), true))
        }
        _ if segment.contains(['<', '>']) => Some("{id}".to_owned()),
        _ => None,
    }
}

/// `{id:int}`, `{id?}`, `{rest...}`, `{**rest}`, `{rest:path}`.
fn in_braces(inside: &str) -> Option<String> {
    let (rest, name) = match inside.strip_prefix('*') {
        Some(name) => (true, name),
        None => (false, inside),
    };
    let is_name = !name.is_empty() && name.chars().all(is_name);
    let all = rest || inside.ends_with("...") || inside.ends_with(":path") || inside.contains(":.");
    (!is_name).then(|| parameter(name, all))
}

/// The right spelling for a parameter of about this name.
fn parameter(written: &str, all: bool) -> String {
    let from = written.trim_start_matches(|c| !is_name(c));
    let name: String = from.chars().take_while(|c| is_name(*c)).collect();
    match (all, name.as_str()) {
        (true, "") => "{*rest}".to_owned(),
        (false, "") => "{id}".to_owned(),
        (true, name) => format!("{{*{name}}}"),
        (false, name) => format!("{{{name}}}"),
    }
}

const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// The pattern that [`Reading::folded`] of paths is matched with.
pub fn folded(pattern: &str) -> String {
    let mut folded = String::with_capacity(pattern.len());
    for segment in pattern.split('/').filter(|segment| !segment.is_empty()) {
        let at = match segment.contains("{{") {
            true => segment.len(),
            false => segment.find('{').unwrap_or(segment.len()),
        };
        let (text, parameter) = segment.split_at(at);
        folded.push('/');
        folded.push_str(Reading::of(text).folded.trim_start_matches('/'));
        folded.push_str(parameter);
    }
    if folded.is_empty() {
        folded.push('/');
    }
    folded
}

/// How particular a pattern is, segment by segment: text before a parameter before all that follows. Of two patterns
/// that match one path the greater is the more specific.
pub fn rank(pattern: &str) -> Vec<u8> {
    let segments = pattern.split('/').filter(|segment| !segment.is_empty());
    let rank = |segment: &str| match segment {
        _ if segment.starts_with("{*") => 0,
        _ if segment.contains('{') && !segment.contains("{{") => 1,
        _ => 2,
    };
    segments.map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_other_routers_are_refused_with_the_right_spelling() {
        for (pattern, meant) in [
            ("/orders/:id/lines", "{id} instead of :id"),
            ("/files/:path*", "{*path} instead of :path*"),
            ("/orders/*/lines", "{id} for one segment"),
            ("/v1/*", "{*rest} for all that follow"),
            ("/v1/**", "{*rest} instead of **"),
            ("/v1/*rest", "{*rest} instead of *rest"),
            ("/pay*", "{*pay} instead of pay*"),
            ("/orders/<id>", "{id} instead of <id>"),
            ("/orders/<int:id>", "{id} instead of <int:id>"),
            ("/files/<path:name>", "{*name} instead of <path:name>"),
            ("/orders/{id:int}", "{id} instead of {id:int}"),
            ("/orders/{id:[0-9]+}", "{id} instead of {id:[0-9]+}"),
            ("/orders/{id?}", "{id} instead of {id?}"),
            ("/files/{name:path}", "{*name} instead of {name:path}"),
            ("/files/{rest...}", "{*rest} instead of {rest...}"),
            ("/files/{**rest}", "{*rest} instead of {**rest}"),
            ("/orders/{}", "{id} instead of {}"),
            ("/orders/[slug]", "{slug} instead of [slug]"),
            ("/orders/[...slug]", "{*slug} instead of [...slug]"),
            (r"/orders/(\d+)", "no regular expression"),
            ("/orders/.*", "{*rest}"),
            ("^/orders", "begins with a slash"),
            ("/orders/[0-9]+", "no regular expression"),
            ("/a/../b", "without dot segments"),
            ("/a?b", "without query"),
            ("orders", "begins with a slash"),
        ] {
            let error = check(pattern).expect_err(pattern);
            assert!(error.contains(meant), "{pattern}: {error}");
        }
        for pattern in [
            "/",
            "/orders/{id}/capture",
            "/v1/{*rest}",
            "/{*rest}",
            "/orders:batch",
            "/Orders(7)",
            "/{{literal}}",
            "/.well-known/x",
            "/a/{order_id}/b-{line}",
        ] {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn patterns_are_folded_like_paths_and_keep_their_names() {
        for (pattern, expected) in [
            ("/Payments/", "/payments"),
            ("/Orders/{OrderId}/Lines", "/orders/{OrderId}/lines"),
            ("/Pre-{Id}", "/pre-{Id}"),
            ("/v1/{*Rest}", "/v1/{*Rest}"),
            ("/", "/"),
            ("/%70ay//x;v=1", "/pay/x"),
            ("/{{A}}", "/{{a}}"),
        ] {
            assert_eq!(folded(pattern), expected);
        }
    }

    #[test]
    fn text_is_more_specific_than_a_parameter_and_that_than_the_rest() {
        assert!(rank("/a/b") > rank("/a/{x}"));
        assert!(rank("/a/{x}") > rank("/a/{*x}"));
        assert!(rank("/a/{*x}") > rank("/{*x}"));
    }
}
