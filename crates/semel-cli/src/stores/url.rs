//! What a store's URL means, and what to say about one that means nothing.

use semel_policy::value::{Engine, Refusal, StoreUrl, Text};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::text;

/// The store that is used when none is named.
pub(super) const DEFAULT: &str = "sqlite:semel.db";

/// What this build can open.
const OPENS: &str = "sqlite:PATH, postgres://…, redis://…, rediss://…, redis-cluster://…, and CLAIMS+OUTCOMES such as \
    redis://…+postgres://…";

/// Reads a URL. It may carry a password, so little of it is ever repeated.
pub(super) fn read(text: &str) -> Result<StoreUrl> {
    match text.split_once(':') {
        None => return Err(no_scheme(text)),
        Some(("sqlite", "")) => return Err(bad("expected sqlite:PATH, found no path")),
        Some(_) => {}
    }
    let url = StoreUrl::parse(text).map_err(|refusal| refused(text, &refusal))?;
    match &url {
        StoreUrl::One(address) if !is_ours(address.engine()) => Err(elsewhere(address.scheme())),
        _ => Ok(url),
    }
}

const fn is_ours(engine: Engine) -> bool {
    matches!(
        engine,
        Engine::Sqlite | Engine::Postgres | Engine::Redis | Engine::RedisCluster
    )
}

/// A store that other builds of Semel may open.
pub(super) fn elsewhere(scheme: &str) -> Error {
    bad(format!("this build of semel cannot open {scheme} stores"))
        .hint(format!("it can open {OPENS}"))
}

fn no_scheme(text: &str) -> Error {
    let file = text::word(&format!("sqlite:{text}"));
    bad(format!(
        "expected a store URL such as {DEFAULT}, found {text:?}"
    ))
    .hint(format!("for a SQLite file write {file}"))
}

fn refused(text: &str, refusal: &Refusal) -> Error {
    let known = |engine: &str| OPENS.contains(&format!("{engine}:")) || engine == "postgresql";
    match (text.split_once(':'), refusal) {
        (Some((scheme, _)), _) if is_scheme(scheme) && !known(scheme) => bad(format!(
            "expected a store URL such as {DEFAULT}, found the scheme {scheme:?}"
        ))
        .hint(format!("this build of semel can open {OPENS}")),
        (_, Refusal::Said(said) | Refusal::Expected(said)) => bad(said.clone()),
        (_, Refusal::Unlike) => bad(format!("expected {}", StoreUrl::EXPECTED)),
    }
}

/// Whether it is a scheme at all, and not a user's name in front of a password.
fn is_scheme(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '+' || c == '.';
    !text.is_empty() && text.chars().all(plain)
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(Exit::Configuration, message)
}
