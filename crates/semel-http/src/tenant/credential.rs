//! The stable part of a credential in `Authorization`: what is the same for every attempt of one caller.
//!
//! A signature, a nonce or a time is made anew for each request. A tenant that held one of them would make each retry
//! another caller, and the retry would run again. So a scheme that signs requests is read for who signs; a scheme that
//! is not known here is refused, because whether its credential is stable cannot be told.
//!
//! Nothing is verified: that is for the service, or for a proxy in front. A credential that is itself the secret
//! (a token, a password) is taken whole, so that only one who knows it gets what was stored for it. Of a signature
//! only the public name of its key is stable: behind it the idempotency key and the request are what must be known.

use semel_core::{Error, Result, Tenant};

use super::digest;

/// How a scheme says who the caller is.
enum Reads {
    /// The credential is one secret that does not change from request to request.
    Whole,
    /// These parameters name the caller; those after the first may be missing.
    Parameters(&'static [&'static str]),
    /// `Credential=ID/date/…`: the id.
    CredentialScope,
    /// `ID:signature`: the id.
    BeforeColon,
    /// It changes with every request or connection.
    Never,
}

/// The schemes that are known, in lower case, and what their tenants are called.
const SCHEMES: [(&str, &str, Reads); 23] = [
    ("bearer", "auth", Reads::Whole),
    // The password counts: with the user alone, one who knows a name and no password would be given stored answers. A
    // user whose password changed between two attempts is therefore another caller.
    ("basic", "auth", Reads::Whole),
    ("dpop", "auth", Reads::Whole),
    ("gnap", "auth", Reads::Whole),
    ("apikey", "auth", Reads::Whole),
    ("api-key", "auth", Reads::Whole),
    ("key", "auth", Reads::Whole),
    ("ssws", "auth", Reads::Whole),
    ("token", "auth", Reads::Whole),
    (
        "digest",
        "digest",
        Reads::Parameters(&["username", "realm"]),
    ),
    (
        "oauth",
        "oauth",
        Reads::Parameters(&["oauth_consumer_key", "oauth_token"]),
    ),
    ("hawk", "hawk", Reads::Parameters(&["id"])),
    ("signature", "signature", Reads::Parameters(&["keyid"])),
    ("aws", "aws", Reads::BeforeColon),
    ("sharedkey", "sharedkey", Reads::BeforeColon),
    ("sharedkeylite", "sharedkey", Reads::BeforeColon),
    ("negotiate", "", Reads::Never),
    ("ntlm", "", Reads::Never),
    ("kerberos", "", Reads::Never),
    ("mutual", "", Reads::Never),
    ("hoba", "", Reads::Never),
    ("vapid", "", Reads::Never),
    ("privatetoken", "", Reads::Never),
];

/// How the names of schemes begin that write `Credential=ID/…`: AWS signature version 4 and what was modelled on it.
const CREDENTIAL_SCOPES: [(&str, &str); 3] =
    [("aws4-", "aws"), ("goog4-", "goog"), ("tc3-", "tc3")];

/// Whether a tenant is the digest of a whole secret.
pub(super) fn is_whole(tenant: &Tenant) -> bool {
    tenant.as_str().starts_with("auth:")
}

/// The tenant of a request with this `Authorization`.
pub(super) fn tenant(value: &[u8]) -> Result<Tenant> {
    let text =
        std::str::from_utf8(value).map_err(|_| Error::invalid("Authorization is not text"))?;
    let (scheme, rest) = match text.split_once([' ', '\t']) {
        Some((scheme, rest)) => (scheme, rest.trim()),
        None => (text, ""),
    };
    let (kind, reads) = match reads(&scheme.to_ascii_lowercase()) {
        Some(known) => known,
        // An API key without a scheme: one word is a secret that the service gave out.
        None if rest.is_empty() && !text.is_empty() => return digest("auth", value),
        None => return Err(unreadable("is of a scheme that is not known here")),
    };
    let malformed = || unreadable(&format!("is no valid credential of the scheme {kind}"));
    match reads {
        Reads::Never => Err(unreadable("changes with every request")),
        // With its scheme, as it is sent.
        Reads::Whole if is_one_word(rest) => digest("auth", value),
        Reads::Whole => Err(unreadable("is no valid credential of its scheme")),
        Reads::BeforeColon => match rest.split_once(':') {
            Some((id, _)) if is_one_word(id) => digest(kind, id.as_bytes()),
            _ => Err(malformed()),
        },
        Reads::CredentialScope => {
            let found = parameters(rest).and_then(|found| one(&found, "credential"));
            let scope = found.ok_or_else(malformed)?;
            match scope.split_once('/') {
                Some((id, _)) if is_one_word(id) => digest(kind, id.as_bytes()),
                _ => Err(malformed()),
            }
        }
        Reads::Parameters(names) => {
            let found = parameters(rest).ok_or_else(malformed)?;
            named(&found, names).map_or_else(|| Err(malformed()), |id| digest(kind, id.as_bytes()))
        }
    }
}

fn reads(scheme: &str) -> Option<(&'static str, &'static Reads)> {
    let mut known = SCHEMES.iter();
    let by_name = known.find(|(name, ..)| *name == scheme);
    let by_name = by_name.map(|(_, kind, reads)| (*kind, reads));
    by_name.or_else(|| {
        let mut scopes = CREDENTIAL_SCOPES.iter();
        let found = scopes.find(|(prefix, _)| scheme.starts_with(prefix));
        found.map(|(_, kind)| (*kind, &Reads::CredentialScope))
    })
}

/// A secret is one word. Parameters would have to be told apart: one of them may be a nonce.
fn is_one_word(text: &str) -> bool {
    !text.is_empty() && !text.contains([' ', '\t', ',', '"'])
}

/// The values of `names`, joined by what no header can hold. The first must be there.
fn named(found: &[(String, String)], names: &[&str]) -> Option<String> {
    let values = names.iter().enumerate().map(|(at, name)| {
        let is_there = found.iter().any(|(known, _)| known == name);
        match at > 0 && !is_there {
            true => Some(String::new()),
            false => one(found, name),
        }
    });
    let values: Vec<String> = values.collect::<Option<_>>()?;
    Some(values.join("\0"))
}

/// The value of a parameter that is there once and is not empty.
fn one(found: &[(String, String)], name: &str) -> Option<String> {
    let mut values = found.iter().filter(|(known, _)| known == name);
    let (_, value) = values.next()?;
    (values.next().is_none() && !value.is_empty()).then(|| value.clone())
}

/// `name=value` and `name="value"`, separated by commas; names in lower case. A comma inside quotes separates nothing.
fn parameters(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let (value, after) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let end = after.find(',').unwrap_or(after.len());
                (after[..end].trim().to_owned(), &after[end..])
            }
        };
        found.push((name.trim().to_ascii_lowercase(), value));
        rest = after.trim_start();
        if !rest.is_empty() && !rest.starts_with(',') {
            return None;
        }
        rest = rest.trim_start_matches([' ', '\t', ',']);
    }
    Some(found)
}

/// A quoted string whose first quote is gone, and what follows it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

/// Says what to do about it, and never what was sent.
fn unreadable(why: &str) -> Error {
    Error::invalid(format!(
        "the credential in Authorization {why}, so that the caller of a retry could not be recognised; the route needs a \
         tenant that stays the same: tenant: {{ header: … }}, {{ jwt_claim: … }}, or {{ api_key: Authorization }} where \
         the whole header never changes"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str) -> Result<Tenant> {
        tenant(value.as_bytes())
    }

    #[test]
    fn a_signature_changes_and_the_caller_stays() {
        for (one, again, other) in [
            (
                "AWS4-HMAC-SHA256 Credential=AKIA1/20261117/eu-west-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=aa",
                "AWS4-HMAC-SHA256 Credential=AKIA1/20261118/eu-west-1/s3/aws4_request,SignedHeaders=host,Signature=bb",
                "AWS4-HMAC-SHA256 Credential=AKIA2/20261117/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature=aa",
            ),
            (
                "AWS4-ECDSA-P256-SHA256 Credential=AKIA1/20261117/s3/aws4_request, SignedHeaders=host, Signature=aa",
                "AWS4-ECDSA-P256-SHA256 Credential=AKIA1/20261117/s3/aws4_request, SignedHeaders=host, Signature=bb",
                "AWS4-ECDSA-P256-SHA256 Credential=AKIA2/20261117/s3/aws4_request, SignedHeaders=host, Signature=aa",
            ),
            (
                "AWS AKIA1:frJIUN8DYpKDtOLCwo=",
                "AWS AKIA1:other=",
                "AWS AKIA2:frJIUN8DYpKDtOLCwo=",
            ),
            (
                r#"Digest username="Mufasa", realm="a, b", nonce="1", uri="/p", nc=00000001, response="x""#,
                r#"Digest realm="a, b",username="Mufasa",nonce="2",uri="/p",nc=00000002,response="y""#,
                r#"Digest username="Mufasa", realm="c", nonce="1", uri="/p", nc=00000001, response="x""#,
            ),
            (
                r#"OAuth realm="r", oauth_consumer_key="c", oauth_token="t", oauth_nonce="1", oauth_signature="a%3D""#,
                r#"OAuth oauth_token="t",oauth_consumer_key="c",oauth_nonce="2",oauth_signature="b%3D""#,
                r#"OAuth oauth_consumer_key="c", oauth_token="u", oauth_nonce="1", oauth_signature="a%3D""#,
            ),
            (
                r#"Hawk id="dh37", ts="1", nonce="a", mac="6R4="  "#,
                r#"Hawk id="dh37", ts="2", nonce="b", mac="aSe=""#,
                r#"Hawk id="dh38", ts="1", nonce="a", mac="6R4=""#,
            ),
            (
                r#"Signature keyId="k",algorithm="rsa-sha256",signature="a""#,
                r#"Signature keyId="k",algorithm="rsa-sha256",signature="b""#,
                r#"Signature keyId="l",algorithm="rsa-sha256",signature="a""#,
            ),
            ("Bearer abc", "Bearer abc", "Bearer abd"),
            ("Basic dTpw", "Basic dTpw", "Basic dTpx"),
            ("Token abc", "Token abc", "Token abd"),
            ("sk_live_1", "sk_live_1", "sk_live_2"),
        ] {
            assert_eq!(of(one).unwrap(), of(again).unwrap(), "{one}");
            assert_ne!(of(one).unwrap(), of(other).unwrap(), "{one}");
        }
    }

    #[test]
    fn values_of_two_parameters_never_run_together() {
        let of = |user: &str, realm: &str| {
            of(&format!(r#"Digest username="{user}", realm="{realm}""#)).unwrap()
        };
        assert_ne!(of("ab", "c"), of("a", "bc"));
        assert_ne!(of(r#"a\"b"#, "c"), of("ab", "c"));
    }

    #[test]
    fn what_cannot_be_read_is_refused_and_not_shown() {
        for value in [
            "",
            "Bearer",
            "Bearer a b",
            r#"Bearer realm="a", nonce="secret""#,
            "Basic",
            "Basic secret, secret",
            "Negotiate YII-secret",
            "NTLM TlRM-secret",
            "Negotiate",
            "SCRAM-SHA-256 data=secret",
            "Custom secret",
            "AWS4-HMAC-SHA256 Signature=secret",
            "AWS4-HMAC-SHA256 Credential=, Signature=secret",
            "AWS4-HMAC-SHA256 Credential=secret",
            "AWS4-HMAC-SHA256 Credential=a/1, Credential=b/1",
            "AWS4-HMAC-SHA256",
            "AWS secret",
            r#"Digest realm="secret""#,
            r#"Digest username="secret"#,
            r#"Digest username="a" realm="secret""#,
            r#"Digest username="", realm="secret""#,
            r#"Digest username="a", username="secret""#,
            r#"OAuth oauth_token="secret""#,
            "Hawk secret",
            "Hawk",
        ] {
            let error = of(value).unwrap_err().to_string();
            assert!(error.contains("tenant: { header"), "{value}: {error}");
            assert!(!error.contains("secret"), "{value}: {error}");
        }
    }
}
