//! The directory that belongs to a server: its data, its log, its settings.
//!
//! It lies under `.services/` if the server's account can get there. A workspace
//! often lies in somebody's closed home directory; then it is a private directory
//! under the system's temporary one, and `.services/` remembers where.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

use super::account::{Account, own_uid};
use super::slot::{Place, create_dir, remove_dir};

/// Creates an empty home that only `account` can look into, and records it.
pub(super) fn create(place: &Place, account: Account) -> Result<PathBuf> {
    let near = place.dir().join("server");
    if prepare(place, &near, account)? {
        return Ok(near);
    }
    remove_dir(&near)?;
    let far = temporary(place)?.join(place.label());
    if prepare(place, &far, account)? {
        return Ok(far);
    }
    Err(Error::failed(format!(
        "the server's account can write neither to {} nor to {}",
        near.display(),
        far.display()
    )))
}

/// Removes the home that was recorded for `place`, if any.
pub(super) fn remove(place: &Place) -> Result<()> {
    let Some(home) = place.home() else {
        return Ok(());
    };
    remove_dir(&home)?;
    if let Some(parent) = home.parent() {
        // Succeeds for an empty temporary directory; others stay.
        let _ = fs::remove_dir(parent);
    }
    Ok(())
}

fn prepare(place: &Place, home: &Path, account: Account) -> Result<bool> {
    // Recorded first, so that whatever is created is also found and removed.
    place.record_home(home)?;
    remove_dir(home)?;
    create_dir(home)?;
    fs::set_permissions(home, fs::Permissions::from_mode(0o700))
        .map_err(Error::at("close", home))?;
    account.own(home)?;
    account.can_write(home)
}

/// The directory for homes that cannot lie in the workspace.
fn temporary(place: &Place) -> Result<PathBuf> {
    let uid = own_uid()?;
    let mut hasher = DefaultHasher::new();
    place.dir().hash(&mut hasher);
    let name = format!("semel-services-{uid}-{:016x}", hasher.finish());
    let dir = std::env::temp_dir().join(name);
    create_dir(&dir)?;
    // Anyone can create this name first, as a link or as a directory of theirs.
    let found = fs::symlink_metadata(&dir).map_err(Error::at("look at", &dir))?;
    if !found.is_dir() || found.uid() != uid {
        let dir = dir.display();
        return Err(Error::failed(format!("{dir} belongs to somebody else")));
    }
    Ok(dir)
}
