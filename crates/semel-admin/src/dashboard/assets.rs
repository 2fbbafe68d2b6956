//! The style, the script and the icon, within the binary. Their addresses carry a digest, so that browsers may keep them.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use semel_http::problem::{Problem, Type};

use crate::refused::Refused;

/// Where they are.
pub(super) const PREFIX: &str = "/assets/";

struct Asset {
    name: &'static str,
    media_type: &'static str,
    content: &'static str,
}

const ASSETS: [Asset; 3] = [
    Asset {
        name: "style.css",
        media_type: "text/css; charset=utf-8",
        content: include_str!("assets/style.css"),
    },
    Asset {
        name: "script.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_str!("assets/script.js"),
    },
    Asset {
        name: "icon.svg",
        media_type: "image/svg+xml",
        content: include_str!("assets/icon.svg"),
    },
];

/// One digest of all of them.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hash = blake3::Hasher::new();
    for asset in &ASSETS {
        hash.update(asset.content.as_bytes());
    }
    hash.finalize().to_hex()[..12].to_owned()
});

/// The address of an asset.
pub(super) fn address(name: &str) -> String {
    format!("{PREFIX}{name}?v={}", *VERSION)
}

/// An asset. There is nothing secret in it, so that the page to sign in can have its style.
pub(super) async fn serve(Path(name): Path<String>) -> Response {
    match ASSETS.iter().find(|asset| asset.name == name) {
        Some(asset) => {
            let headers = [
                (CONTENT_TYPE, asset.media_type),
                (CACHE_CONTROL, "public, max-age=31536000, immutable"),
            ];
            (headers, asset.content).into_response()
        }
        None => {
            Refused::from(Problem::new(Type::NotFound, "there is no such asset")).into_response()
        }
    }
}
