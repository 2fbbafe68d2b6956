//! The keys that tokens are checked with.

use std::fs;
use std::io::Read;
use std::path::{Path as FilePath, PathBuf};

use semel_http::tenant::jwks::{self, Load, Loading};
use semel_http::tenant::{Algorithm, Jwks, Jwt, JwtKey};

use crate::file::JwtClaim;
use crate::limits::KEY_FILE_BYTES_MAX;
use crate::tree::Path;
use crate::tree::read::Fault;

/// Where keys may come from.
const KINDS: &str = "key, key_file, jwks or jwks_file";

/// What signatures are checked with, as the file says it.
enum Material<'a> {
    Key(&'static str, Vec<u8>),
    Url(&'a str),
    File(&'a FilePath),
}

/// The claim with its keys. Messages never hold a key.
pub(super) fn compile(claim: &JwtClaim) -> Result<Jwt, Fault> {
    let name = claim.claim.0.0.as_str();
    let algorithm = claim.algorithm.as_ref().map(|algorithm| algorithm.0);
    let mut jwt = match (material(claim)?, algorithm) {
        (Material::Key(at, material), Some(algorithm)) => {
            let key = JwtKey::new(algorithm, &material);
            Jwt::new(name, key.map_err(|error| fault(at, error.to_string()))?)
        }
        (Material::Key(at, _), None) => {
            let message = format!("expected algorithm beside {at}, found none");
            return Err(Fault::said(Path::default(), message));
        }
        (_, Some(algorithm)) if algorithm.is_shared() => {
            let message = "expected an algorithm with public keys beside a key set: secrets are not published";
            return Err(fault("algorithm", message));
        }
        (Material::Url(url), algorithm) => of_set(name, Jwks::at(url), algorithm),
        (Material::File(path), algorithm) => {
            read(path, "jwks_file", jwks::BYTES_MAX)?;
            let set = Jwks::at(&path.display().to_string());
            set.load_by(SetFile(path.to_owned()));
            of_set(name, set, algorithm)
        }
    };
    if let Some(issuer) = &claim.issuer {
        jwt = jwt.issued_by(&issuer.0.0);
    }
    if let Some(audience) = &claim.audience {
        jwt = jwt.meant_for(&audience.0.0);
    }
    Ok(jwt)
}

fn of_set(claim: &str, set: Jwks, algorithm: Option<Algorithm>) -> Jwt {
    let jwt = Jwt::of_set(claim, set);
    match algorithm {
        Some(algorithm) => jwt.signed_with(algorithm),
        None => jwt,
    }
}

fn material(claim: &JwtClaim) -> Result<Material<'_>, Fault> {
    let JwtClaim {
        key,
        key_file,
        jwks,
        jwks_file,
        ..
    } = claim;
    let mut given = Vec::new();
    if let Some(key) = key {
        given.push((
            "key",
            Material::Key("key", key.expose().as_bytes().to_vec()),
        ));
    }
    if let Some(path) = key_file {
        // A secret that was written with an editor ends with a line feed that is not part of it.
        let material = read(path, "key_file", KEY_FILE_BYTES_MAX)?;
        let material = material.trim_ascii_end().to_vec();
        given.push(("key_file", Material::Key("key_file", material)));
    }
    if let Some(url) = jwks {
        given.push(("jwks", Material::Url(url.as_str())));
    }
    if let Some(path) = jwks_file {
        given.push(("jwks_file", Material::File(path)));
    }
    let names: Vec<_> = given.iter().map(|(name, _)| *name).collect();
    match (given.pop(), names.len()) {
        (Some((_, material)), 1) => Ok(material),
        (Some((last, _)), _) => {
            let message = format!("expected one of {KINDS}, found {}", names.join(" and "));
            Err(fault(last, message))
        }
        (None, _) => {
            let message = format!("expected {KINDS}, found none");
            Err(Fault::said(Path::default(), message))
        }
    }
}

/// A key set in a file, read whenever it may have changed.
struct SetFile(PathBuf);

impl Load for SetFile {
    fn load(&self) -> Loading<'_> {
        // A small local file: reading it takes no longer than handing it to another thread.
        let document = read(&self.0, "jwks_file", jwks::BYTES_MAX);
        let document = document.map_err(|fault| fault.to_string());
        Box::pin(std::future::ready(document.map(Into::into)))
    }
}

fn read(path: &FilePath, name: &'static str, bytes_max: usize) -> Result<Vec<u8>, Fault> {
    let unreadable = |error: std::io::Error| {
        let message = format!("expected a file that can be read, found {path:?}: {error}");
        fault(name, message)
    };
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut material = Vec::new();
    let read = file.take(bytes_max as u64 + 1).read_to_end(&mut material);
    read.map_err(unreadable)?;
    match material.len() <= bytes_max {
        true => Ok(material),
        false => Err(fault(name, format!("expected at most {bytes_max} bytes"))),
    }
}

fn fault(name: &str, message: impl Into<String>) -> Fault {
    Fault::said(Path::default().to(name), message)
}
