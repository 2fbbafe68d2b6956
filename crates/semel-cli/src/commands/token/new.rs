//! `semel token new`: a secret that is shown once, and what the file keeps of it.

use std::fmt::Write;
use std::time::Duration;

use semel_admin::tokens::{ADMIN_NAME, Name};
use semel_admin::{Grant, Reach, Role, ScopePrefix, Secret, Token};
use semel_core::{Clock, SystemClock, Tenant, Timestamp, duration};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serving::moment;
use crate::{output, text};

/// So many random bytes, 256 bits, cannot be guessed from a fast hash.
const RANDOM_BYTES: usize = 32;
/// What tools that look for secrets in files know tokens by.
const PREFIX: &str = "semel_";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What logs and the audit call it
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Name,

    /// What it is for: claims, read, operate, admin
    #[arg(long, value_name = "ROLE")]
    role: Role,

    /// For the role claims: the only tenant
    #[arg(long, value_name = "TENANT")]
    tenant: Option<Tenant>,

    /// For the role claims: the beginning of the only scopes, or '*'; may be repeated
    #[arg(long = "scope", value_name = "PREFIX")]
    scopes: Vec<ScopePrefix>,

    /// From when on it is refused: a date such as 2027-03-01, or a time from now such as 90d
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    expires: Option<Timestamp>,

    /// Write JSON: an object with `token`, `hash` and the other lines of the file
    #[arg(long)]
    json: bool,
}

/// What the file keeps, and the secret beside it.
#[derive(Serialize)]
struct Made {
    token: String,
    name: String,
    hash: String,
    role: &'static str,
    tenant: Option<String>,
    scopes: Option<Vec<String>>,
    expires: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let made = make(args)?;
    if args.json {
        return output::json(&made);
    }
    output::data(&made.token)?;
    output::note(&format!(
        "the token is shown only now; add these lines to the configuration file, then send SIGHUP or start semel:\n\n{}",
        lines(&made)
    ));
    if args.role == Role::Claims && args.tenant.is_none() {
        output::hint("without --tenant its holder can claim and read for every tenant");
    }
    Ok(())
}

fn make(args: &Args) -> Result<Made> {
    let token = secret()?;
    let hash = Secret::new(&token)?.hash();
    // The rules of the admin side itself, so that what is printed will be taken.
    Token::new(args.name.clone(), Secret::from_hash(&hash)?, grant(args)?)?;
    let is_claims = args.role == Role::Claims;
    let scopes = args.scopes.iter().map(ToString::to_string);
    Ok(Made {
        token,
        name: args.name.to_string(),
        hash,
        role: args.role.name(),
        tenant: args.tenant.as_ref().map(ToString::to_string),
        scopes: is_claims.then(|| scopes.collect()),
        expires: args.expires.map(|expires| expires.to_string()),
    })
}

fn grant(args: &Args) -> Result<Grant> {
    let is_bound = args.tenant.is_some() || !args.scopes.is_empty();
    match args.role {
        Role::Claims => Ok(Grant::Claims(Reach {
            tenant: args.tenant.clone(),
            scopes: args.scopes.clone(),
        })),
        role if is_bound => {
            let message = format!("--tenant and --scope belong to the role claims, found {role}");
            Err(Error::new(Exit::Usage, message))
        }
        Role::Read => Ok(Grant::Read),
        Role::Operate => Ok(Grant::Operate),
        Role::Admin => Ok(Grant::Admin),
    }
}

fn secret() -> Result<String> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("the system gives no random numbers: {error}");
        Error::new(Exit::Unavailable, message)
    })?;
    Ok(format!("{PREFIX}{}", text::hex(&bytes)))
}

/// The lines as they stand under `admin:`. A text in JSON's quotes is valid YAML.
fn lines(made: &Made) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut out = String::from("admin:\n  tokens:\n");
    let mut line = |indent: &str, key: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "    {indent} {key}: {value}");
    };
    line("-", "name", &quoted(&made.name));
    line(" ", "role", made.role);
    line(" ", "hash", &made.hash);
    if let Some(tenant) = &made.tenant {
        line(" ", "tenant", &quoted(tenant));
    }
    if let Some(scopes) = &made.scopes {
        let scopes: Vec<_> = scopes.iter().map(|scope| quoted(scope)).collect();
        line(" ", "scopes", &format!("[{}]", scopes.join(", ")));
    }
    if let Some(expires) = &made.expires {
        line(" ", "expires", &quoted(expires));
    }
    out
}

fn name(text: &str) -> Result<Name, String> {
    match text {
        ADMIN_NAME => Err("admin is the token of admin.token; choose another name".to_owned()),
        _ => text
            .parse()
            .map_err(|error: semel_core::Error| error.to_string()),
    }
}

fn expiry(text: &str) -> Result<Timestamp, String> {
    let now = SystemClock::new().now();
    let at = match duration::parse(text) {
        Ok(from_now) => after(now, from_now),
        Err(_) => moment(text).map_err(|_| {
            format!("expected a date such as 2027-03-01 or a time such as 90d, found {text:?}")
        })?,
    };
    match at > now {
        true => Ok(at),
        false => Err(format!("expected a moment to come, found {at}")),
    }
}

fn after(now: Timestamp, wait: Duration) -> Timestamp {
    let ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_add(ms))
}
