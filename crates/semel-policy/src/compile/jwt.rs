//! The key that tokens are checked with.

use std::fs;
use std::io::Read;
use std::path::Path as FilePath;

use semel_http::tenant::{Jwt, JwtKey};

use crate::file::JwtClaim;
use crate::limits::KEY_FILE_BYTES_MAX;
use crate::tree::Path;
use crate::tree::read::Fault;

/// The claim with its key. Messages never hold the key.
pub(super) fn compile(claim: &JwtClaim) -> Result<Jwt, Fault> {
    let (name, material) = match (&claim.key, &claim.key_file) {
        (Some(key), None) => ("key", key.expose().as_bytes().to_vec()),
        (None, Some(file)) => ("key_file", read(file)?),
        (None, None) => {
            return Err(Fault::said(
                Path::default(),
                "expected key or key_file, found neither",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(fault("key_file", "expected key or key_file, found both"));
        }
    };
    let key = JwtKey::new(claim.algorithm.0, &material);
    let key = key.map_err(|error| fault(name, error.to_string()))?;
    let mut jwt = Jwt::new(claim.claim.0.0.as_str(), key);
    if let Some(issuer) = &claim.issuer {
        jwt = jwt.issued_by(&issuer.0.0);
    }
    if let Some(audience) = &claim.audience {
        jwt = jwt.meant_for(&audience.0.0);
    }
    Ok(jwt)
}

fn read(path: &FilePath) -> Result<Vec<u8>, Fault> {
    let unreadable = |error: std::io::Error| {
        fault(
            "key_file",
            format!("expected a file that can be read, found {path:?}: {error}"),
        )
    };
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut material = Vec::new();
    let read = file
        .take(KEY_FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut material);
    read.map_err(unreadable)?;
    match material.len() <= KEY_FILE_BYTES_MAX {
        // A secret that was written with an editor ends with a line feed that is not part of it.
        true => Ok(material.trim_ascii_end().to_vec()),
        false => Err(fault(
            "key_file",
            format!("expected at most {KEY_FILE_BYTES_MAX} bytes"),
        )),
    }
}

fn fault(name: &str, message: impl Into<String>) -> Fault {
    Fault::said(Path::default().to(name), message)
}
