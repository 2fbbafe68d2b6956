//! The secret of a token.

use std::fmt;

use semel_core::{Error, Result};

/// The longest token, in bytes.
pub const TOKEN_BYTES_MAX: usize = 512;
/// Shorter tokens are accepted with a warning: there is no limit on guesses but the network's.
pub const TOKEN_BYTES_ADVISED: usize = 16;

/// How a digest is written where tokens are kept.
const PREFIX: &str = "blake3:";

/// A token that shows neither in `Debug` nor in logs, and that takes as long to compare with a
/// near miss as with a far one.
///
/// It is kept as its BLAKE3 digest. A slow hash for passwords would add nothing for tokens of 256 random bits, which cannot be guessed
/// from their digest however fast it is, and would let each wrong guess cost the server more than the guesser.
///
/// ```
/// use semel_admin::Secret;
///
/// let token = Secret::new("correct-horse-battery")?;
/// assert_eq!(format!("{token:?}"), "Secret");
/// assert!(token.is("correct-horse-battery") && !token.is("correct"));
/// let kept: Secret = Secret::from_hash(&token.hash())?;
/// assert!(kept.is("correct-horse-battery"));
/// # Ok::<(), semel_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Secret {
    /// Digests have one length and compare in constant time; the text itself is not kept.
    digest: blake3::Hash,
    /// Unknown if only the digest is.
    bytes: Option<usize>,
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
        let bytes = Some(bytes);
        Ok(Self { digest, bytes })
    }

    /// A token of which only the digest is known, as [`Secret::hash`] writes it.
    pub fn from_hash(hash: &str) -> Result<Self> {
        let digits = hash.strip_prefix(PREFIX);
        let digest = digits.and_then(|digits| blake3::Hash::from_hex(digits).ok());
        let bytes = None;
        // The text is not shown: it may be a token that stands in the wrong place.
        let expected =
            || Error::invalid("expected blake3: and 64 hexadecimal digits, found another text");
        let digest = digest.ok_or_else(expected)?;
        Ok(Self { digest, bytes })
    }

    /// The digest, as it may stand in a file.
    pub fn hash(&self) -> String {
        format!("{PREFIX}{}", self.digest.to_hex())
    }

    /// Whether `candidate` is the token.
    pub fn is(&self, candidate: &str) -> bool {
        self.fits(&Shown::new(candidate))
    }

    /// Whether what a caller showed is the token, in constant time.
    pub(crate) fn fits(&self, shown: &Shown) -> bool {
        self.digest == shown.0
    }

    /// Whether it is known to be shorter than advised.
    pub fn is_short(&self) -> bool {
        self.bytes.is_some_and(|bytes| bytes < TOKEN_BYTES_ADVISED)
    }
}

/// Two are one if callers cannot tell them apart, whether the text or only its digest is known.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Secret {}

/// What a caller shows, made ready to be compared with many tokens.
pub(crate) struct Shown(blake3::Hash);

impl Shown {
    pub(crate) fn new(candidate: &str) -> Self {
        Self(blake3::hash(candidate.as_bytes()))
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

    #[test]
    fn a_digest_stands_for_its_token() {
        let secret = Secret::new("s3cret").unwrap();
        let kept = Secret::from_hash(&secret.hash()).unwrap();
        assert!(kept.is("s3cret") && !kept.is("s3cre") && !kept.is(&secret.hash()));
        assert!(secret.is_short() && !kept.is_short());
        assert!(secret == kept && secret != Secret::new("s3cre").unwrap());
        let digits = secret.hash()[7..].to_owned();
        for bad in [
            "s3cret",
            "",
            "blake3:",
            &digits,
            &format!("blake3:{digits}0"),
            "sha256:00",
        ] {
            let error = Secret::from_hash(bad).unwrap_err().to_string();
            assert!(
                bad.is_empty() || !error.contains(bad) || bad == "blake3:",
                "{error}"
            );
        }
    }
}
