//! What a file does, in words, and what to think about before it is used.

mod admin;
mod alerts;
mod consumer;
mod quota;
mod route;
mod store;
mod target;
mod tracing;
mod unguarded;
mod waits;
mod warn;

use std::fmt::Write;

use semel_http::rules::BusyStatus;

use crate::compile::{CompiledConsumer, CompiledRoute};
use crate::file::Gateway;
use crate::load::File;

/// What is decided, and how.
type Lines = Vec<(&'static str, String)>;

/// What happens with this file, route by route, consumer by consumer, target by target, and the [`warnings`].
pub fn explain(file: &File) -> String {
    let mut out = String::new();
    for said in store::describe(file.store.as_ref()) {
        line(&mut out, &said);
    }
    for said in admin::describe(&file.admin) {
        line(&mut out, &said);
    }
    if let Some(said) = sealed(file) {
        line(&mut out, &said);
    }
    for said in quota::describe(file) {
        line(&mut out, &said);
    }
    for said in tracing::describe(&file.tracing) {
        line(&mut out, &said);
    }
    for said in alerts::describe(&file.alerts) {
        line(&mut out, &said);
    }
    match &file.gateway {
        Some(gateway) => door(&mut out, gateway),
        None => line(&mut out, "no gateway"),
    }
    messages(&mut out, file);
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

/// How contents are sealed, if they are.
fn sealed(file: &File) -> Option<String> {
    let mut ids = file.encryption.keys.iter().map(|key| key.id.0.0.as_str());
    let first = ids.next()?;
    let others: Vec<_> = ids.collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!("; {} still unwraps", others.join(", ")),
    };
    Some(format!(
        "contents are sealed with a key for each tenant, which {first} wraps{others}"
    ))
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a String cannot fail");
}

fn door(out: &mut String, gateway: &Gateway) {
    let secure = gateway.tls.as_ref().map_or("", |_| " with TLS");
    let upstream = gateway.upstream.as_ref();
    let upstream = upstream.map_or("no service yet", |service| service.as_str());
    let listen = &gateway.listen.0;
    line(
        out,
        &format!("the gateway listens on {listen}{secure}, in front of {upstream}"),
    );
    let routes = match gateway.routes() {
        Ok(routes) => routes,
        Err(error) => return line(out, &error.to_string()),
    };
    for (names, described) in grouped(routes.iter().map(route::describe)) {
        block(out, &names.join(", "), &described);
    }
    if let (true, Some(place)) = (accepts(&routes), &gateway.outcomes.0.0) {
        line(
            out,
            &format!("\nwho got 202 fetches the outcome at {place}"),
        );
    }
    line(out, "");
    unguarded::describe(&routes)
        .iter()
        .for_each(|said| line(out, said));
}

/// Whether a duplicate may get 202.
fn accepts(routes: &[CompiledRoute]) -> bool {
    let mut rules = routes.iter().map(|route| &route.rules);
    rules.any(|rules| rules.in_progress.status == BusyStatus::Accepted)
}

fn messages(out: &mut String, file: &File) {
    let (consumers, targets) = match file.compile_messages() {
        Ok(compiled) => compiled,
        Err(fault) => return line(out, &format!("{}: {fault}", fault.path())),
    };
    if consumers.iter().any(CompiledConsumer::is_posted) {
        let listen = &file.inbox.listen.0;
        line(
            out,
            &format!("the inbox listens on {listen} for messages that are posted to /inbox/NAME"),
        );
    }
    for one in &consumers {
        block(
            out,
            &format!("consumer {}", one.name()),
            &consumer::describe(one),
        );
    }
    for one in &targets {
        block(
            out,
            &format!("intents to {}", one.name),
            &target::describe(one),
        );
    }
}

fn block(out: &mut String, name: &str, described: &Lines) {
    line(out, &format!("\n{name}"));
    for (what, how) in described {
        line(out, &format!("  {what:<12}{how}"));
    }
}

/// Routes that do the same are described together.
fn grouped(routes: impl Iterator<Item = (String, Lines)>) -> Vec<(Vec<String>, Lines)> {
    let mut groups: Vec<(Vec<String>, Lines)> = Vec::new();
    for (name, lines) in routes {
        match groups.iter_mut().find(|(_, known)| *known == lines) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], lines)),
        }
    }
    groups
}
