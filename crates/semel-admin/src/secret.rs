//! The admin token.

use std::fmt;

use semel_core::{Error, Result};

/// The longest token, in bytes.
pub const TOKEN_BYTES_MAX: usize = 512;
/// Shorter tokens are accepted with a warning: there is no limit on guesses but the network's.
pub(crate) const TOKEN_BYTES_ADVISED: usize = 16;

/// A token that shows neither in `Debug` nor in logs, and that takes as long to compare with a
/// near miss as with a far one.
///
/// ```
/// use semel_admin::Secret;
///
/// let token = Secret::new("correct-horse-battery")?;
/// assert_eq!(format!("{token:?}"), "Secret");
/// assert!(token.is("correct-horse-battery") && !token.is("correct"));
/// # Ok::<(), semel_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Secret {
    /// Digests have one length and compare in constant time; the text itself is not kept.
    digest: blake3::Hash,
    bytes: usize,
}

impl Secret {
    /// A token of 1 to [`TOKEN_BYTES_MAX`] visible ASCII characters, as a header can carry it.
    pub fn new(token: impl AsRef<str>) -> Result<Self> {
        let token = token.as_ref();
        let bytes = token.len();
        if bytes == 0 || bytes > TOKEN_BYTES_MAX {
            return Err(Error::invalid(format!(
                "a token has 1 to {TOKEN_BYTES_MAX} characters, found {bytes}"
            )));
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::invalid(
                "a token has visible ASCII characters only, found another one",
            ));
        }
        let digest = blake3::hash(token.as_bytes());
        Ok(Self { digest, bytes })
    }

    /// Whether `candidate` is the token.
    pub fn is(&self, candidate: &str) -> bool {
        self.digest == blake3::hash(candidate.as_bytes())
    }

    pub(crate) const fn is_short(&self) -> bool {
        self.bytes < TOKEN_BYTES_ADVISED
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_no_header_can_carry_are_refused_without_showing_them() {
        for bad in ["", "two words", "tab\t", "é", &"x".repeat(513)] {
            let error = Secret::new(bad).unwrap_err().to_string();
            assert!(bad.is_empty() || !error.contains(bad), "{error}");
        }
        assert!(Secret::new("x".repeat(512)).is_ok());
    }
}
