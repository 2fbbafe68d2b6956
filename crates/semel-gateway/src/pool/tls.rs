//! Whom we trust to be the upstream.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::error::{Error, Kind, Result};

/// The name of HTTP/2 in a TLS handshake.
pub(super) const H2: &[u8] = b"h2";
const HTTP_1_1: &[u8] = b"http/1.1";

/// One that offers HTTP/2 and HTTP/1.1, and one that offers HTTP/1.1 only.
pub(super) fn connectors(ca: Option<&Path>) -> Result<(TlsConnector, TlsConnector)> {
    let failed = |error| Error::new(Kind::Tls, "TLS cannot be set up").caused_by(error);
    // Named, because a process with two providers has no default one.
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_root_certificates(roots(ca)?)
        .with_no_client_auth();
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    let h1 = TlsConnector::from(Arc::new(config.clone()));
    config.alpn_protocols = vec![H2.to_vec(), HTTP_1_1.to_vec()];
    Ok((TlsConnector::from(Arc::new(config)), h1))
}

/// The system's authorities, and those of a file.
fn roots(ca: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    if let Some(path) = ca {
        let bad = |what: &str| {
            let path = path.display();
            Error::new(
                Kind::Tls,
                format!("{path}: expected certificates as PEM, {what}"),
            )
        };
        let certs = CertificateDer::pem_file_iter(path);
        let certs = certs.map_err(|error| bad("cannot read it").caused_by(error))?;
        let before = roots.len();
        for cert in certs {
            let cert = cert.map_err(|error| bad("found something else").caused_by(error))?;
            roots
                .add(cert)
                .map_err(|error| bad("found a bad one").caused_by(error))?;
        }
        if roots.len() == before {
            return Err(bad("found none"));
        }
    }
    if roots.is_empty() {
        return Err(Error::new(
            Kind::Tls,
            "no authority to check the upstream's certificate with: the system has none and no CA file is given",
        ));
    }
    Ok(roots)
}
