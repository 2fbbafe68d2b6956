//! What people hand over: bytes from a file or from stdin, and headers.

use std::io::Read;
use std::path::Path;

use semel_core::outcome::BODY_BYTES_MAX;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::text;

/// Reads a file, or stdin for `-`, up to what a body may have; `what` it is, for errors.
pub(crate) fn read(path: &Path, what: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = BODY_BYTES_MAX as u64 + 1;
    let read = match path.as_os_str() == "-" {
        true => std::io::stdin().take(limit).read_to_end(&mut bytes),
        false => {
            std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
        }
    };
    read.map_err(|e| {
        let message = format!("cannot read the {what} from {}: {e}", path.display());
        Error::new(Exit::Io, message)
    })?;
    fits(bytes, what)
}

/// Refuses more than a store keeps.
pub(crate) fn fits(bytes: Vec<u8>, what: &str) -> Result<Vec<u8>> {
    if bytes.len() > BODY_BYTES_MAX {
        let max = text::bytes(BODY_BYTES_MAX as u64);
        let message = format!("a {what} has at most {max}, found more");
        return Err(Error::refused(message));
    }
    Ok(bytes)
}

/// A header as people write it.
pub(crate) fn header(field: &str) -> Result<(String, String), String> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    match field.split_once(':') {
        Some((name, value))
            if !name.is_empty()
                && name.chars().all(is_token)
                && !value.contains(char::is_control) =>
        {
            Ok((name.to_owned(), value.trim().to_owned()))
        }
        _ => Err(format!("a header is written NAME:VALUE, found {field:?}")),
    }
}
