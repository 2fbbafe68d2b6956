//! The service behind the gateway.

use std::path::PathBuf;

use http::Uri;

/// Where requests go, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// `http://` or `https://`, a host, maybe a port, maybe a path that is put in front of every path.
    pub url: Uri,
    /// Whether to speak HTTP/2 over plain TCP without asking first. Over TLS the upstream is asked.
    pub h2c: bool,
    /// A PEM file with authorities to trust besides those of the system.
    pub ca: Option<PathBuf>,
    /// Which `Host` it sees.
    pub host: Host,
}

impl Upstream {
    /// The service at `url`, with the client's `Host`.
    pub const fn new(url: Uri) -> Self {
        Self {
            url,
            h2c: false,
            ca: None,
            host: Host::Preserve,
        }
    }
}

/// Which `Host` the upstream sees. The client's is always in `X-Forwarded-Host`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// The client's, so that links and redirects that the service makes are right.
    Preserve,
    /// That of the upstream's URL, for services that are found by name.
    Upstream,
}
