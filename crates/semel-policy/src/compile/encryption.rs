//! The keys that contents are sealed under.

use semel_seal::{KEKS_MAX, Kek};

use crate::error::{Error, Kind, Result};
use crate::file::Encryption;
use crate::load::File;
use crate::tree::Path;
use crate::tree::read::Fault;

impl File {
    /// The key-encryption keys, the one that wraps first; none if nothing is to be sealed.
    pub fn keks(&self) -> Result<Vec<Kek>> {
        keks(&self.encryption)
            .map_err(|fault| Error::whole(Kind::Invalid, "", fault.to_string()).of(fault.path()))
    }
}

/// The keys, each checked.
pub(crate) fn keks(written: &Encryption) -> std::result::Result<Vec<Kek>, Fault> {
    let at = Path::default().to("encryption").to("keys");
    let found = written.keys.len();
    if found > KEKS_MAX {
        let message = format!("expected at most {KEKS_MAX} keys, found {found}");
        return Err(Fault::said(at, message));
    }
    let mut keks: Vec<Kek> = Vec::with_capacity(found);
    for (index, key) in written.keys.iter().enumerate() {
        let id = key.id.0.0.as_str();
        if keks.iter().any(|kek| kek.id() == id) {
            let message = format!("expected an id of its own, found {id} a second time");
            return Err(Fault::said(at.to(index).to("id"), message));
        }
        let kek = Kek::new(id, key.secret.expose());
        keks.push(kek.map_err(|error| Fault::said(at.to(index), error.to_string()))?);
    }
    Ok(keks)
}
