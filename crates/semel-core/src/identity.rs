//! Which operation is meant: tenant + scope + key.
//!
//! The parts are validated when they are made, so no store ever meets a bad one.
//! Whatever makes two identities differ makes their [`Digest`]s differ; a digest is
//! the fixed-size key that stores index.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{Error, Result};

/// The longest tenant, scope name or key, in bytes.
pub const PART_BYTES_MAX: usize = 255;

/// On whose behalf the operation runs. Two tenants never see each other's records.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tenant(Box<str>);

impl Tenant {
    /// A tenant by name, 1–255 bytes without control characters.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        checked("tenant", name.as_ref()).map(Self)
    }

    /// The tenant of services that have only one: everybody is the same caller.
    pub fn public() -> Self {
        Self("public".into())
    }

    /// The tenant's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The operation (HTTP) or the consumer (messages), with the version of its meaning.
///
/// A changed meaning is a new identity: `payments@2` never replays what `payments@1` did.
/// A scope written without a version is version 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    name: Box<str>,
    version: u32,
}

impl Scope {
    /// A scope from its name and version.
    pub fn new(name: impl AsRef<str>, version: u32) -> Result<Self> {
        let name = checked("scope", name.as_ref())?;
        Ok(Self { name, version })
    }

    /// The name without the version.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version of the operation's meaning.
    pub const fn version(&self) -> u32 {
        self.version
    }
}

impl FromStr for Scope {
    type Err = Error;

    /// Parses `name@version`; an `@` that no number follows belongs to the name.
    fn from_str(text: &str) -> Result<Self> {
        let versioned = text
            .rsplit_once('@')
            .and_then(|(name, version)| Some((name, canonical_number(version)?)));
        match versioned {
            Some((name, version)) => Self::new(name, version),
            None => Self::new(text, 1),
        }
    }
}

/// Only the canonical spelling counts as a version, so that `a@01` and `a@1` cannot
/// be written differently and mean the same.
fn canonical_number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// What the caller calls the operation: opaque, 1–255 bytes of text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Box<str>);

impl Key {
    /// A key as the caller gave it; nothing is trimmed or folded.
    pub fn new(key: impl AsRef<str>) -> Result<Self> {
        checked("key", key.as_ref()).map(Self)
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One rule for every part, so that a text accepted in one place is accepted in all.
pub(crate) fn checked(what: &str, text: &str) -> Result<Box<str>> {
    if text.is_empty() || text.len() > PART_BYTES_MAX {
        return Err(Error::invalid(format!(
            "{what} must have 1 to {PART_BYTES_MAX} bytes, found {}",
            text.len()
        )));
    }
    match text.char_indices().find(|(_, c)| c.is_control()) {
        Some((at, c)) => Err(Error::invalid(format!(
            "{what} must not contain control characters, found {c:?} at byte {at}"
        ))),
        None => Ok(text.into()),
    }
}

macro_rules! text_part {
    ($($name:ident),+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                Self::new(text)
            }
        }
    )+};
}
text_part!(Tenant, Key);

/// Tenant + scope + key: the name of one operation. Cheap to clone.
///
/// ```
/// use semel_core::{Identity, Key, Scope, Tenant};
///
/// let identity = Identity::new(
///     Tenant::new("acme")?,
///     "payments@2".parse::<Scope>()?,
///     Key::new("8e03978e-40d5-43e8-bc93-6894a57f9324")?,
/// );
/// assert_eq!(identity.scope().version(), 2);
/// # Ok::<(), semel_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Identity(Arc<Parts>);

struct Parts {
    tenant: Tenant,
    scope: Scope,
    key: Key,
    digest: Digest,
}

impl Identity {
    /// The identity with these parts.
    pub fn new(tenant: Tenant, scope: Scope, key: Key) -> Self {
        let digest = Digest::of(&tenant, &scope, &key);
        Self(Arc::new(Parts {
            tenant,
            scope,
            key,
            digest,
        }))
    }

    /// Parses the three parts at once; for tests, examples and command lines.
    pub fn parse(tenant: &str, scope: &str, key: &str) -> Result<Self> {
        Ok(Self::new(tenant.parse()?, scope.parse()?, key.parse()?))
    }

    /// On whose behalf.
    pub fn tenant(&self) -> &Tenant {
        &self.0.tenant
    }

    /// Which operation.
    pub fn scope(&self) -> &Scope {
        &self.0.scope
    }

    /// Which instance of it.
    pub fn key(&self) -> &Key {
        &self.0.key
    }

    /// The fixed-size key that stores index.
    pub fn digest(&self) -> Digest {
        self.0.digest
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }
}

impl Eq for Identity {}

impl std::hash::Hash for Identity {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.digest().hash(state);
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.tenant(), self.scope(), self.key())
    }
}

/// BLAKE3 of an identity: 32 bytes, equal only for equal identities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    fn of(tenant: &Tenant, scope: &Scope, key: &Key) -> Self {
        // A constant key keeps these digests apart from other uses of BLAKE3, and costs nothing per call.
        let mut hasher = blake3::Hasher::new_keyed(b"semel 2026 identity digest key 1");
        for part in [tenant.as_str(), scope.name(), key.as_str()] {
            // The length in front keeps ("a", "bc") and ("ab", "c") apart.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(&scope.version().to_le_bytes());
        Self(*hasher.finalize().as_bytes())
    }

    /// All 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first 16 bytes, for compact indexes that check the whole identity on a match.
    pub fn short(&self) -> [u8; 16] {
        std::array::from_fn(|i| self.0[i])
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_text_round_trips_and_defaults_to_version_one() {
        for (text, name, version) in [
            ("payments", "payments", 1),
            ("payments@2", "payments", 2),
            ("POST /users/@me", "POST /users/@me", 1),
            ("a@b@7", "a@b", 7),
            ("a@01", "a@01", 1),
            ("a@99999999999", "a@99999999999", 1),
        ] {
            let scope: Scope = text.parse().unwrap();
            assert_eq!((scope.name(), scope.version()), (name, version), "{text}");
            assert_eq!(scope.to_string().parse::<Scope>().unwrap(), scope);
        }
    }

    #[test]
    fn parts_are_one_to_255_bytes_without_control_characters() {
        assert!(Key::new("k".repeat(255)).is_ok());
        for bad in ["", &"k".repeat(256), "a\nb", "a\0", "\u{7f}"] {
            assert!(Key::new(bad).is_err(), "{bad:?}");
            assert!(Tenant::new(bad).is_err(), "{bad:?}");
            assert!(Scope::new(bad, 1).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn every_part_and_its_boundary_changes_the_digest() {
        let all = [
            ("t", "s@1", "k"),
            ("t", "s@2", "k"),
            ("u", "s@1", "k"),
            ("t", "r@1", "k"),
            ("t", "s@1", "l"),
            ("ts", "1", "k"),
            ("t", "s", "1k"),
        ]
        .map(|(t, s, k)| Identity::parse(t, s, k).unwrap().digest());
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b), "{i}");
        }
    }

    /// Stores keep digests: if this fails, every existing store has lost its keys.
    #[test]
    fn the_digest_of_an_identity_never_changes() {
        let identity = Identity::parse("acme", "payments@2", "order-17").unwrap();
        assert_eq!(
            identity.digest().to_string(),
            "779bbb43e24704aff8fa6014b833f45619c696ff9e02b1b2a15f46a070cce02c"
        );
    }
}
