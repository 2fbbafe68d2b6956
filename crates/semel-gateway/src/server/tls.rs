//! The certificate that clients see.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::ServerTls;
use crate::error::{Error, Kind, Result};

/// Accepts TLS connections with HTTP/2 or HTTP/1.1 inside.
pub(super) fn acceptor(tls: &ServerTls) -> Result<TlsAcceptor> {
    let (chain, key) = (&tls.cert_chain, &tls.private_key);
    let certs = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|error| bad(chain, "a certificate chain as PEM").caused_by(error))?;
    if certs.is_empty() {
        return Err(bad(chain, "a certificate chain as PEM, found none"));
    }
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| bad(key, "a private key as PEM").caused_by(error))?;
    let unusable = |error| bad(chain, "a certificate that fits its key").caused_by(error);
    // Named, because a process with two providers has no default one.
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(certs, private)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn bad(path: &Path, expected: &str) -> Error {
    let path = path.display();
    Error::new(Kind::Tls, format!("{path}: expected {expected}"))
}
