//! What PostgreSQL's errors mean to a caller.

use semel_core::{Error, Kind};
use tokio_postgres::error::SqlState;

use crate::tls;

/// An error of a driver while the store was `doing` something, by its SQLSTATE if the server gave one.
///
/// Public for adapters of other drivers; the text of the error must not contain parameters.
pub fn from_driver(
    doing: &str,
    state: Option<&str>,
    error: impl std::error::Error + Send + Sync + 'static,
) -> Error {
    Error::new(kind_of(state), format!("postgres, {doing}")).caused_by(error)
}

pub(crate) fn from_postgres(doing: &str, error: tokio_postgres::Error) -> Error {
    let state = error.code().map(|state| state.code().to_owned());
    // The driver's own text says "db error" and leaves the rest to its source.
    let said = match error.as_db_error() {
        Some(db) => format!("{} ({})", db.message(), db.code().code()),
        None => with_sources(&error),
    };
    let (kind, hint) = match tls::objection(&error) {
        // Trying again does not change a certificate.
        Some(hint) => (Kind::Invalid, hint),
        None => (kind_of(state.as_deref()), pooler_hint(state.as_deref())),
    };
    Error::new(kind, format!("postgres, {doing}: {said}{hint}"))
}

/// Statements that are not there any more, or settings that are not taken: something sits between the server and us.
fn pooler_hint(state: Option<&str>) -> &'static str {
    match state {
        Some("26000" | "42P05") => {
            "; behind a pooler in transaction mode add prepare=off to the store's URL"
        }
        Some("08P01") => "; a pooler in transaction mode takes no options in the store's URL",
        _ => "",
    }
}

/// What an error and its causes say.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_said = cause.to_string();
        if !said.contains(&cause_said) {
            said = format!("{said}: {cause_said}");
        }
        source = cause.source();
    }
    said
}

/// Whether nothing is known about what a statement did: the connection broke before the answer.
pub(crate) fn is_lost(error: &tokio_postgres::Error) -> bool {
    // A server that answers, be it with an error, has rolled the statement back.
    error.code().is_none()
}

fn kind_of(state: Option<&str>) -> Kind {
    let Some(state) = state else {
        return Kind::Unavailable;
    };
    match state {
        "53100" => Kind::DiskFull,
        "55P03" => Kind::Locked,
        "25006" => Kind::ReadOnly,
        // Only a pooler that is not known to be there brings these about.
        "26000" | "42P05" | "08P01" => Kind::Invalid,
        "XX001" | "XX002" | "42P01" | "42703" | "3F000" => Kind::Damaged,
        _ => match state.get(..2) {
            // Refused or dropped connections, lack of resources, an operator's hand, rolled back transactions.
            Some("08" | "53" | "57" | "58" | "40") => Kind::Unavailable,
            // Who may connect, to what, and do what.
            Some("28" | "3D") => Kind::Invalid,
            Some("42") if state == "42501" => Kind::Invalid,
            _ => Kind::Internal,
        },
    }
}

/// Whether the same statement may go through at once if it is sent again.
pub(crate) fn is_collision(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|state| {
        *state == SqlState::T_R_DEADLOCK_DETECTED || *state == SqlState::T_R_SERIALIZATION_FAILURE
    })
}

/// A row that this crate cannot have written.
pub(crate) fn damaged(what: &str) -> Error {
    Error::new(Kind::Damaged, format!("postgres, {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_the_server_become_kinds() {
        for (state, kind) in [
            (None, Kind::Unavailable),
            (Some("53100"), Kind::DiskFull),
            (Some("53300"), Kind::Unavailable),
            (Some("57P01"), Kind::Unavailable),
            (Some("57014"), Kind::Unavailable),
            (Some("40P01"), Kind::Unavailable),
            (Some("55P03"), Kind::Locked),
            (Some("25006"), Kind::ReadOnly),
            (Some("28P01"), Kind::Invalid),
            (Some("42501"), Kind::Invalid),
            (Some("42P01"), Kind::Damaged),
            (Some("08P01"), Kind::Invalid),
            (Some("08006"), Kind::Unavailable),
            (Some("22003"), Kind::Internal),
        ] {
            assert_eq!(kind_of(state), kind, "{state:?}");
        }
    }
}
