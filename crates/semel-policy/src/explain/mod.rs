//! What a file does, in words, and what to think about before it is used.

mod route;
mod store;
mod warn;

use std::fmt::Write;

use crate::file::{Admin, Gateway};
use crate::load::File;

/// What happens with this file, route by route, and the [`warnings`].
pub fn explain(file: &File) -> String {
    let mut out = String::new();
    for said in store::describe(file.store.as_ref()) {
        line(&mut out, &said);
    }
    line(&mut out, &admin(&file.admin));
    match &file.gateway {
        Some(gateway) => door(&mut out, gateway),
        None => line(&mut out, "no gateway"),
    }
    let warnings = warnings(file);
    if !warnings.is_empty() {
        line(&mut out, "\nthink about:");
        warnings
            .iter()
            .for_each(|warning| line(&mut out, &format!("  - {warning}")));
    }
    out
}

/// What is allowed, but surprises people.
pub fn warnings(file: &File) -> Vec<String> {
    warn::all(file)
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a String cannot fail");
}

fn admin(admin: &Admin) -> String {
    match admin {
        Admin::Off => "no admin side".to_owned(),
        Admin::On { listen, token } => {
            let who = match token {
                Some(_) => "for whoever has the token",
                None => "for everybody who can reach it",
            };
            format!("the admin side listens on {listen}, {who}")
        }
    }
}

fn door(out: &mut String, gateway: &Gateway) {
    let secure = gateway.tls.as_ref().map_or("", |_| " with TLS");
    let upstream = gateway.upstream.as_ref();
    let upstream = upstream.map_or("no service yet", |service| service.as_str());
    let listen = gateway.listen.0;
    line(
        out,
        &format!("the gateway listens on {listen}{secure}, in front of {upstream}"),
    );
    let routes = match gateway.routes() {
        Ok(routes) => routes,
        Err(error) => return line(out, &error.to_string()),
    };
    for (names, described) in grouped(routes.iter().map(route::describe)) {
        line(out, &format!("\n{}", names.join(", ")));
        described
            .iter()
            .for_each(|(what, how)| line(out, &format!("  {what:<12}{how}")));
    }
    line(out, "\neverything else passes untouched");
}

/// Routes that do the same are described together.
fn grouped(
    routes: impl Iterator<Item = (String, route::Lines)>,
) -> Vec<(Vec<String>, route::Lines)> {
    let mut groups: Vec<(Vec<String>, route::Lines)> = Vec::new();
    for (name, lines) in routes {
        match groups.iter_mut().find(|(_, known)| *known == lines) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], lines)),
        }
    }
    groups
}
