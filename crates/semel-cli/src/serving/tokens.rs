//! The file's tokens as those of the admin side.

use semel_admin::{Grant, Reach, Secret, Token, Tokens, When};
use semel_core::Timestamp;
use semel_policy::file::{self, Admin, Role};

use crate::error::{Error, Result};
use crate::exit::Exit;

/// All tokens that the file names, `admin.token` first.
pub(crate) fn tokens(admin: &Admin) -> Result<Tokens> {
    let Admin::On { token, tokens, .. } = admin else {
        return Ok(Tokens::default());
    };
    let mut all = Vec::new();
    if let Some(token) = token {
        let secret = Secret::new(token.expose()).map_err(|error| bad("admin.token", &error))?;
        all.push(Token::admin(secret));
    }
    for (at, token) in tokens.iter().enumerate() {
        let key = format!("admin.tokens[{at}]");
        all.push(one(token).map_err(|error| bad(&key, &error))?);
    }
    Tokens::new(all).map_err(|error| bad("admin.tokens", &error))
}

fn one(token: &file::Token) -> semel_core::Result<Token> {
    let secret = match (&token.hash, &token.token) {
        (Some(hash), _) => Secret::from_hash(hash.expose())?,
        (None, Some(token)) => Secret::new(token.expose())?,
        // The file is checked; nothing is a token that no caller can have.
        (None, None) => Secret::new("")?,
    };
    let grant = match token.role {
        Role::Claims => Grant::Claims(reach(token)?),
        Role::Read => Grant::Read,
        Role::Operate => Grant::Operate,
        Role::Admin => Grant::Admin,
    };
    let made = Token::new(token.name.0.0.parse()?, secret, grant)?;
    Ok(match &token.expires {
        Some(expires) => made.until(moment(&expires.0.0)?),
        None => made,
    })
}

fn reach(token: &file::Token) -> semel_core::Result<Reach> {
    let scopes = token.scopes.iter().flat_map(|scopes| scopes.iter());
    let scopes = scopes.map(|scope| scope.0.0.parse());
    Ok(Reach {
        tenant: token.tenant.as_ref().map(|tenant| tenant.0.clone()),
        scopes: scopes.collect::<semel_core::Result<_>>()?,
    })
}

/// A moment as the file writes it; a date is its midnight in UTC.
pub(crate) fn moment(text: &str) -> semel_core::Result<Timestamp> {
    match text.parse()? {
        When::At(at) => Ok(at),
        When::Ago(_) => Err(semel_core::Error::invalid(format!(
            "expected a date such as 2027-03-01, found {text:?}"
        ))),
    }
}

fn bad(key: &str, error: &semel_core::Error) -> Error {
    Error::new(Exit::Configuration, format!("{key}: {error}"))
}
