use super::*;
use semel_core::{MemoryStore, Once};
use semel_http::event::Nobody;

use crate::config::{Config, Limits, Timeouts, Upstream};
use crate::pool::Dial;
use crate::target::Target;

fn table(routes: &[(&str, &str)]) -> Result<Table> {
    let once = Once::new(MemoryStore::new());
    let config = Config::new(Upstream::new("http://127.0.0.1:1".parse().unwrap()));
    let target = Target::parse(&config.upstream.url).unwrap();
    let dial = Dial::new(
        &config.upstream,
        false,
        &Limits::default(),
        &Timeouts::default(),
    )
    .unwrap();
    let pool = Pool::new(target, Arc::new(dial));
    let build = |(method, path): &(&str, &str)| {
        let route = Route::new(method.parse().unwrap(), *path).unwrap();
        let guard = Guard::new(&once, route.rules.clone(), Arc::new(Nobody));
        let pool = pool.clone();
        let path = route.path.as_str().into();
        let guarded = Guarded {
            guard,
            pool,
            reconciler: None,
            path,
        };
        (route, Arc::new(guarded))
    };
    let routes = routes.iter().map(build).collect::<Vec<_>>();
    Table::new(&routes, Arc::new(Nobody))
}

fn request(method: &str, path: &str) -> Request<()> {
    Request::builder()
        .method(method)
        .uri(path)
        .body(())
        .unwrap()
}

fn scope(table: &Table, method: &str, path: &str) -> Option<String> {
    let (found, _) = table.find(&request(method, path)).ok()??;
    Some(found.guard.rules().scope.name().to_owned())
}

#[test]
fn the_most_specific_pattern_of_the_method_wins() {
    let table = table(&[
        ("POST", "/{*rest}"),
        ("POST", "/orders/{id}/capture"),
        ("PATCH", "/orders/{order}"),
        ("PUT", "/orders/{id}"),
        ("POST", "/v1/{*rest}"),
    ])
    .unwrap();
    for (method, path, expected) in [
        ("POST", "/", Some("POST /{*rest}")),
        ("POST", "/x", Some("POST /{*rest}")),
        (
            "POST",
            "/orders/7/capture",
            Some("POST /orders/{id}/capture"),
        ),
        (
            "POST",
            "//orders//7/%63apture",
            Some("POST /orders/{id}/capture"),
        ),
        ("POST", "/orders/7", Some("POST /{*rest}")),
        ("POST", "/v1/", Some("POST /v1/{*rest}")),
        ("POST", "/v1", Some("POST /v1/{*rest}")),
        ("POST", "/V1/x", Some("POST /v1/{*rest}")),
        (
            "post",
            "/ORDERS/7/Capture/",
            Some("POST /orders/{id}/capture"),
        ),
        (
            "POST",
            "/orders/7/capture.json",
            Some("POST /orders/{id}/capture"),
        ),
        ("PATCH", "/orders/7", Some("PATCH /orders/{order}")),
        ("PUT", "/orders/7", Some("PUT /orders/{id}")),
        ("PUT", "/orders/7/capture", None),
        ("GET", "/orders/7", None),
    ] {
        assert_eq!(
            scope(&table, method, path).as_deref(),
            expected,
            "{method} {path}"
        );
    }
}

#[test]
fn a_path_that_is_named_itself_is_not_taken_by_the_rest() {
    let table = table(&[("POST", "/v1/{*rest}"), ("POST", "/v1/")]).unwrap();
    assert_eq!(scope(&table, "POST", "/v1/").as_deref(), Some("POST /v1/"));
}

#[test]
fn parameters_stay_encoded() {
    let table = table(&[("POST", "/orders/{id}")]).unwrap();
    for (path, expected) in [
        ("/orders/a%2Fb%2525", "a%2Fb%2525"),
        ("/Orders/ABc;v=1/", "ABc"),
        ("//orders//%41b", "Ab"),
    ] {
        let found = table.find(&request("POST", path)).unwrap();
        let (_, params) = found.unwrap();
        assert_eq!(params, [("id".to_owned(), expected.to_owned())], "{path}");
    }
}

#[test]
fn conflicts_name_both_routes() {
    for (routes, expected) in [
        (
            &[("POST", "/a"), ("POST", "/a")][..],
            "route 2 (POST /a) is there already",
        ),
        (
            &[("POST", "/a/{x}"), ("POST", "/a/{y}")],
            "conflicts with /a/{x}",
        ),
        (
            &[("POST", "/a/b"), ("POST", "/A/b/")],
            "route 2 (POST /A/b/) is there already",
        ),
        (&[("POST", "/a/:id")], "expected {id} instead of :id"),
        (&[("POST", "/a/{x")], "has no valid pattern"),
        (&[("POST", "a")], "begins with a slash"),
    ] {
        let error = table(routes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
