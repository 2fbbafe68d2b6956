//! Where providers want their idempotency keys, and how they may look.

use http::HeaderName;
use semel_core::{Error, Result};

use super::field::Field;
use crate::keys;
use crate::vendors::{Place, Vendor};

/// Where a provider looks for its idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// In a header.
    Header(HeaderName),
    /// In a field of the JSON body.
    Body(Field),
    /// In a query parameter.
    Query(String),
    /// Nowhere: it knows no such keys.
    None,
}

impl KeyPlace {
    /// A header.
    pub fn header(name: &str) -> Result<Self> {
        let bad = |_| Error::invalid(format!("expected a header's name, found {name:?}"));
        name.parse().map(Self::Header).map_err(bad)
    }

    /// A field of the JSON body, such as `$.idempotency_key`.
    pub fn body(path: &str) -> Result<Self> {
        path.parse().map(Self::Body)
    }

    /// Whether there is a key at all.
    pub const fn takes_key(&self) -> bool {
        !matches!(self, Self::None)
    }
}

/// How keys may look at a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// The longest key.
    pub(super) bytes_max: usize,
    /// Only letters, digits, `-` and `_`.
    pub(super) plain: bool,
}

impl Shape {
    pub(super) const ANY: Self = Self {
        bytes_max: keys::KEY_BYTES_MAX,
        plain: false,
    };

    /// The id as it is if it fits, its hash otherwise.
    pub(super) fn fit(self, id: &str) -> String {
        let allowed = |byte: u8| match self.plain {
            true => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            false => (b'!'..=b'~').contains(&byte),
        };
        if id.len() <= self.bytes_max && id.bytes().all(allowed) {
            return id.to_owned();
        }
        let mut hash = keys::hash(id).to_string();
        hash.truncate(self.bytes_max);
        hash
    }
}

impl Vendor {
    /// Where the key goes.
    pub fn key(self) -> KeyPlace {
        let place = self.keys().and_then(|keys| keys.place);
        match place {
            Some(Place::Header(name)) => KeyPlace::Header(HeaderName::from_static(name)),
            Some(Place::Body(path)) => KeyPlace::body(path).expect("the table's paths are valid"),
            Some(Place::Template(_)) | None => KeyPlace::None,
        }
    }

    pub(super) fn shape(self) -> Shape {
        self.keys().map_or(Shape::ANY, |keys| Shape {
            bytes_max: keys.bytes_max,
            plain: keys.plain,
        })
    }

    /// Whether 409 says that it was done before, rather than that it is being done.
    pub(super) fn conflict_is_done(self) -> bool {
        self.keys().is_some_and(|keys| keys.conflict_is_done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fit_what_each_vendor_takes() {
        let id = "orders@1:3f0c7a52-8d7e-4c55-9e5a-1f4f8e0b7c11:receipt";
        assert_eq!(Vendor::Stripe.shape().fit(id), id);
        assert_eq!(Vendor::Adyen.shape().fit(id), id);
        let square = Vendor::Square.shape().fit(id);
        assert_eq!(square.len(), 45);
        assert_ne!(square, Vendor::Square.shape().fit("orders@1:2:receipt"));
        let task = Vendor::GoogleCloudTasks.shape().fit(id);
        assert!(task.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}
