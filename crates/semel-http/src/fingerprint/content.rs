//! What kind of body a request has.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

use super::query;

/// The kinds that are looked into.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// JSON, by its type or by its looks.
    Json,
    /// An HTML form in one piece.
    Form,
    /// An HTML form in parts; each client makes up its own boundary.
    Multipart {
        /// What separates the parts.
        boundary: String,
    },
    /// Anything else.
    Other,
}

impl Content {
    pub(crate) fn of(headers: &HeaderMap, body: &[u8]) -> Self {
        let value = value(headers);
        if let Ok(boundary) = multer::parse_boundary(&value) {
            return Self::Multipart { boundary };
        }
        // Many clients send JSON and call it something else: curl says that it is a form.
        let looks_like_json = matches!(
            without_bom(body).trim_ascii_start().first(),
            Some(b'{' | b'[')
        );
        match essence(&value) {
            kind if kind.ends_with("/json") || kind.ends_with("+json") => Self::Json,
            _ if looks_like_json => Self::Json,
            _ if query::is_form(headers) => Self::Form,
            _ => Self::Other,
        }
    }

    /// What the fingerprint takes of the content type: parameters of JSON and the boundary of parts
    /// say nothing about the content.
    pub(crate) fn label(&self, headers: &HeaderMap) -> Vec<u8> {
        let value = value(headers);
        match self {
            Self::Json | Self::Multipart { .. } => essence(&value).into_bytes(),
            Self::Form | Self::Other => value.into_bytes(),
        }
    }
}

/// A text without the byte order mark that some clients put in front of it.
pub(crate) fn without_bom(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

fn value(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    String::from_utf8_lossy(value.unwrap_or_default().trim_ascii()).into_owned()
}

fn essence(value: &str) -> String {
    let essence = value.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}
