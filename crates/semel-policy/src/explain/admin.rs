//! The admin side and its tokens, and what to think about them.

use crate::file::{Admin, Role, Token};
use crate::limits::TOKEN_BYTES_ADVISED;
use crate::value::Secret;

/// Where it listens, and one line for each token.
pub(super) fn describe(admin: &Admin) -> Vec<String> {
    let Admin::On {
        listen,
        token,
        tokens,
        ..
    } = admin
    else {
        return vec!["no admin side".to_owned()];
    };
    let callers = match (token, tokens.len()) {
        (None, 0) => "for everybody who can reach it".to_owned(),
        (Some(_), 0) => "for callers with the token".to_owned(),
        (None, 1) => "for callers with its token".to_owned(),
        (None, count) => format!("for callers with one of its {count} tokens"),
        (Some(_), count) => format!("for callers with one of its {} tokens", count + 1),
    };
    let mut said = vec![format!("the admin side listens on {listen}, {callers}")];
    if !tokens.is_empty() {
        let of_file = token.iter().map(|_| "  admin may do everything".to_owned());
        said.extend(of_file.chain(tokens.iter().map(one)));
    }
    said
}

fn one(token: &Token) -> String {
    let may = match token.role {
        Role::Claims => claims(token),
        Role::Read => "may look at everything".to_owned(),
        Role::Operate => {
            "may look at everything, decide about records and act on messages".to_owned()
        }
        Role::Admin => "may do everything".to_owned(),
    };
    let until = token.expires.as_ref();
    let until = until.map_or_else(String::new, |until| format!(", until {}", until.0.0));
    format!("  {} {may}{until}", token.name.0.0)
}

fn claims(token: &Token) -> String {
    let whose = token.tenant.as_ref();
    let whose = whose.map_or_else(|| "every tenant".to_owned(), |tenant| tenant.to_string());
    let scopes = token.scopes.iter().flat_map(|scopes| scopes.iter());
    let scopes: Vec<_> = scopes.map(|scope| scope.0.0.as_str()).collect();
    format!("may claim for {whose} in {}", scopes.join(", "))
}

/// What is allowed and surprises people.
pub(super) fn warn(admin: &Admin) -> Vec<String> {
    let Admin::On {
        listen,
        token,
        tokens,
        ..
    } = admin
    else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    if token.is_none() && tokens.is_empty() && !listen.is_local() {
        warnings.push(format!(
            "admin.listen is {listen}, beyond loopback, and admin.token is missing: it will not start"
        ));
    }
    let short = |secret: &Secret| secret.expose().len() < TOKEN_BYTES_ADVISED;
    if token.as_ref().is_some_and(short) {
        warnings.push(too_short("admin.token"));
    }
    for token in tokens {
        let name = &token.name.0.0;
        if token.token.as_ref().is_some_and(|secret| short(secret)) {
            warnings.push(too_short(&format!("token {name}")));
        }
        if token.role == Role::Claims && token.tenant.is_none() {
            warnings.push(format!(
                "token {name} has the role claims and no tenant: its holder can claim, settle and read for every tenant"
            ));
        }
    }
    warnings
}

fn too_short(which: &str) -> String {
    format!(
        "{which} has fewer than {TOKEN_BYTES_ADVISED} characters and can be guessed: semel token new makes one of 256 random bits"
    )
}
