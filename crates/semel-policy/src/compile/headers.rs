//! Headers that are sent along.

use http::{HeaderName, HeaderValue};

use crate::limits::HEADERS_MAX;
use crate::tree::Path;
use crate::tree::read::Fault;
use crate::value::{Named, Secret, Word};

/// Headers that whoever sends sets itself.
const OURS: [&str; 8] = [
    "idempotency-key",
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
];
/// How the names of Semel's own headers begin.
const SEMEL: &str = "semel-";

/// The headers with their values. Faults are relative to `headers` and never hold a value.
pub(super) fn compile(headers: &Named<Word<Secret>>) -> Result<Vec<(HeaderName, Secret)>, Fault> {
    if headers.len() > HEADERS_MAX {
        let found = headers.len();
        let message = format!("expected at most {HEADERS_MAX} headers, found {found}");
        return Err(Fault::said(Path::default(), message));
    }
    let mut compiled: Vec<(HeaderName, Secret)> = Vec::new();
    for (name, value) in headers.iter() {
        let path = Path::default().to(name);
        let fault = |message: &str| Fault::said(path.clone(), message);
        let parsed = name.parse::<HeaderName>();
        let parsed = parsed.map_err(|_| fault("expected the name of a header").of_key())?;
        if OURS.contains(&parsed.as_str()) || parsed.as_str().starts_with(SEMEL) {
            return Err(fault("expected a header that the sender does not set itself").of_key());
        }
        if compiled.iter().any(|(known, _)| *known == parsed) {
            return Err(fault("expected each header once").of_key());
        }
        if HeaderValue::from_str(value.expose()).is_err() {
            return Err(fault("expected a value that a header can hold"));
        }
        compiled.push((parsed, value.0.clone()));
    }
    Ok(compiled)
}
