//! Rules about the tokens of the admin side.

use std::collections::HashSet;

use crate::file::{Admin, Role, Token};
use crate::limits::{TOKEN_SCOPES_MAX, TOKENS_MAX};
use crate::load::File;
use crate::tree::Path;
use crate::tree::read::Fault;

impl File {
    /// Checks each token by itself and all of them together. Faults are those of the whole file.
    pub(crate) fn check_tokens(&self) -> Result<(), Fault> {
        let Admin::On { tokens, .. } = &self.admin else {
            return Ok(());
        };
        let path: Path = ["admin", "tokens"].into_iter().collect();
        let count = tokens.len();
        if count > TOKENS_MAX {
            let message = format!("expected at most {TOKENS_MAX} tokens, found {count}");
            return Err(Fault::said(path, message));
        }
        let mut names = HashSet::from(["admin"]);
        for (at, token) in tokens.iter().enumerate() {
            let path = path.to(at);
            one(token, &path)?;
            let name = token.name.0.0.as_str();
            if !names.insert(name) {
                let message = match name {
                    "admin" => {
                        "expected another name: admin is the token of admin.token".to_owned()
                    }
                    _ => format!("expected a name of its own, found {name} a second time"),
                };
                return Err(Fault::said(path.to("name"), message));
            }
        }
        Ok(())
    }
}

fn one(token: &Token, path: &Path) -> Result<(), Fault> {
    let said = |field: Option<&str>, message: String| {
        let path = field.map_or_else(|| path.clone(), |field| path.to(field));
        Err(Fault::said(path, message))
    };
    match (&token.hash, &token.token) {
        (Some(_), None) | (None, Some(_)) => {}
        (None, None) => return said(None, "expected hash or token, found neither".to_owned()),
        (Some(_), Some(_)) => {
            return said(
                Some("token"),
                "expected hash or token, found both".to_owned(),
            );
        }
    }
    let scopes = token.scopes.as_ref().map(|scopes| scopes.len());
    match (token.role, scopes) {
        (Role::Claims, None) => {
            let message = "expected scopes, because the role is claims; '*' is all of them";
            said(None, message.to_owned())
        }
        (Role::Claims, Some(1..=TOKEN_SCOPES_MAX)) => Ok(()),
        (Role::Claims, Some(count)) => said(
            Some("scopes"),
            format!("expected 1 to {TOKEN_SCOPES_MAX} scopes, found {count}"),
        ),
        // Their author would believe that they hold.
        (role, Some(_)) => only_claims(role, "scopes", path),
        (role, None) if token.tenant.is_some() => only_claims(role, "tenant", path),
        (_, None) => Ok(()),
    }
}

fn only_claims(role: Role, field: &str, path: &Path) -> Result<(), Fault> {
    let role = role.name();
    let message = format!("expected no {field}: the role {role} is for all tenants and scopes");
    Err(Fault::said(path.to(field), message).of_key())
}
