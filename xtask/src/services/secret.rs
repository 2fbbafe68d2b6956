//! Randomness from the system, for passwords and for where a search begins.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};

/// A password that fits into a URL as it is.
pub(super) fn password() -> Result<String> {
    let bytes = random::<16>()?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Random bytes.
pub(super) fn random<const N: usize>() -> Result<[u8; N]> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; N];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(Error::at("read", source))?;
    Ok(bytes)
}
