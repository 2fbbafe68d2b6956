//! The driver's errors as Semel's: what passes by itself is `Unavailable`, what an operator must change is `Invalid`.

use lapin::ErrorKind;
use semel_core::{Error, Kind};

/// The broker's code for something that does not exist.
const NOT_FOUND: u16 = 404;
/// Its codes for what will be refused again: no permission, not found, precondition failed, no such virtual host.
const REFUSED: [u16; 4] = [403, NOT_FOUND, 406, 530];

/// The code that the broker gave, if it was the broker that said no.
pub(crate) fn code(error: &lapin::Error) -> Option<u16> {
    match error.kind() {
        ErrorKind::ProtocolError(said) => Some(said.get_id()),
        _ => None,
    }
}

/// What passes by itself.
pub(crate) fn away(what: &str, cause: impl std::fmt::Display) -> Error {
    Error::new(Kind::Unavailable, format!("{what}: {cause}"))
}

/// An error of the client library or the broker.
pub(crate) fn of(what: &str, error: &lapin::Error) -> Error {
    let is_refused = code(error).is_some_and(|code| REFUSED.contains(&code));
    let kind = match error.kind() {
        ErrorKind::InvalidProtocolVersion(_) | ErrorKind::AuthProviderError(_) => Kind::Invalid,
        // What was sent cannot be decoded, and will be sent again as it is.
        ErrorKind::ParsingError(_) => Kind::Invalid,
        _ if is_refused => Kind::Invalid,
        _ => Kind::Unavailable,
    };
    Error::new(kind, format!("{what}: {error}"))
}
