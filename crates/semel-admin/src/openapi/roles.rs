//! Declares which roles may make a call. OpenAPI 3.1 lists roles of a token beside its scheme; the description says it for people.

use serde_json::{Value, json};

use super::refusals::members;
use crate::router::routes;

/// Says of every operation which tokens it takes.
pub(super) fn declare(document: &mut Value) {
    let routes = routes();
    for (path, methods) in members(document, "/paths") {
        for (method, operation) in members(methods, "") {
            let route = routes.iter().find(|route| {
                route.path == path && route.method.as_str().eq_ignore_ascii_case(method)
            });
            let Some(route) = route else { continue };
            let roles = route.needs.roles();
            let each = roles.iter().map(|role| json!({ "token": [role.name()] }));
            operation["security"] = each.collect();
            let said = match roles.is_empty() {
                true => "No token is needed.".to_owned(),
                false => format!("Role: {}.", route.needs.shown()),
            };
            let about = operation.get("description").and_then(Value::as_str);
            operation["description"] = match about {
                Some(about) => format!("{about}\n\n{said}").into(),
                None => said.into(),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DOCUMENT;

    #[test]
    fn every_operation_says_which_roles_it_takes() {
        let operation = |path: &str, method: &str| {
            let operation = &DOCUMENT["paths"][path][method];
            let roles = operation["security"].as_array().unwrap().iter();
            let roles = roles.map(|role| role["token"][0].as_str().unwrap().to_owned());
            let about = operation["description"].as_str().unwrap();
            let last = about.lines().last().unwrap().to_owned();
            (roles.collect::<Vec<_>>().join(" "), last)
        };
        for (path, method, roles, said) in [
            ("/healthz", "get", "", "No token is needed."),
            (
                "/api/v1/claims",
                "post",
                "claims admin",
                "Role: claims or admin.",
            ),
            (
                "/api/v1/records/resolve",
                "post",
                "operate admin",
                "Role: operate or admin.",
            ),
            (
                "/metrics",
                "get",
                "read operate admin",
                "Role: read, operate or admin.",
            ),
        ] {
            let found = operation(path, method);
            assert_eq!(found, (roles.to_owned(), said.to_owned()), "{path}");
        }
    }
}
