//! Multipart forms by their decoded parts: a retry makes up a new boundary but sends the same parts.

use bytes::Bytes;
use futures_util::stream;
use semel_core::fingerprint::Builder;
use std::convert::Infallible;

/// The most parts that are told apart; a form with more is compared byte by byte.
const PARTS_MAX: usize = 1_024;

/// The digest of the parts whose names count; `None` if the body is not what it says it is.
pub(super) async fn digest(
    body: &Bytes,
    boundary: &str,
    counts: impl Fn(&str) -> bool,
) -> Option<Vec<u8>> {
    let whole = stream::iter([Ok::<_, Infallible>(body.clone())]);
    let mut parts = multer::Multipart::new(whole, boundary);
    let (mut builder, mut counted) = (Builder::default(), false);
    for _ in 0..PARTS_MAX {
        let Some(part) = parts.next_field().await.ok()? else {
            return counted.then(|| builder.finish().as_bytes().to_vec());
        };
        let name = part.name().unwrap_or_default().to_owned();
        let file_name = part.file_name().unwrap_or_default().to_owned();
        let kind = part
            .content_type()
            .map(ToString::to_string)
            .unwrap_or_default();
        let content = part.bytes().await.ok()?;
        if counts(&name) {
            counted = true;
            builder = builder
                .part("name", name.as_bytes())
                .part("file", file_name.as_bytes())
                .part("type", kind.as_bytes())
                .part("content", &content);
        }
    }
    None
}
