//! A client's connection, as its requests see it.

use std::net::IpAddr;
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::load::Pulse;

/// A client's connection, as its requests see it.
#[derive(Debug)]
pub struct Peer {
    /// How it is counted and timed.
    pub pulse: Arc<Pulse>,
    /// The client's address; `None` over a unix socket.
    pub ip: Option<IpAddr>,
    /// Whether the connection is encrypted.
    pub is_tls: bool,
    /// The client's own certificate, which was checked, if clients must bring one.
    pub certificate: Option<CertificateDer<'static>>,
}
