//! The certificate that clients see, and the certificates that they must bring.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::error::{Error, Kind, Result};

/// A certificate and its key, as PEM files. They are read again when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificate chain, the leaf first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
    /// Authorities of clients' certificates. If there are any, a client without such a certificate is refused.
    pub client_ca: Option<PathBuf>,
}

impl Tls {
    /// Clients need no certificate.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            certificate: certificate.into(),
            key: key.into(),
            client_ca: None,
        }
    }

    /// How the files look at the moment.
    pub(crate) fn stamp(&self) -> Stamp {
        let files = [&self.certificate, &self.key].into_iter();
        Stamp(
            files
                .chain(&self.client_ca)
                .map(|path| looks(path))
                .collect(),
        )
    }
}

/// How the files of a certificate look: when they were written, how long they are, and which files they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp(Vec<Option<(SystemTime, u64, u64)>>);

fn looks(path: &Path) -> Option<(SystemTime, u64, u64)> {
    let file = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&file);
    #[cfg(not(unix))]
    let inode = 0;
    Some((file.modified().ok()?, file.len(), inode))
}

/// A certificate in use.
pub(crate) struct Secure {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) stamp: Stamp,
    /// When the leaf ends, in Unix time, if that can be read.
    pub(crate) expires: Option<i64>,
}

/// When a certificate ends, in Unix time.
fn expiry(certificate: &CertificateDer<'_>) -> Option<i64> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    Some(certificate.validity().not_after.timestamp())
}

/// Accepts TLS connections with HTTP/2 or HTTP/1.1 inside.
pub(crate) fn secure(tls: &Tls, http2: bool) -> Result<Secure> {
    // Taken first: a file that changes while it is read is read again.
    let stamp = tls.stamp();
    let (chain, key) = (&tls.certificate, &tls.key);
    let certs = certificates(chain, "a certificate chain as PEM")?;
    let expires = certs.first().and_then(expiry);
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| bad(key, "a private key as PEM").caused_by(error))?;
    let unusable = |error| bad(chain, "a certificate that fits its key").caused_by(error);
    // Named, because a process with two providers has no default one.
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let config = match &tls.client_ca {
        Some(ca) => config.with_client_cert_verifier(verifier(ca)?),
        None => config.with_no_client_auth(),
    };
    let mut config = config.with_single_cert(certs, private).map_err(unusable)?;
    config.alpn_protocols = match http2 {
        true => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        false => vec![b"http/1.1".to_vec()],
    };
    Ok(Secure {
        acceptor: TlsAcceptor::from(Arc::new(config)),
        stamp,
        expires,
    })
}

fn verifier(
    ca: &Path,
) -> Result<Arc<dyn tokio_rustls::rustls::server::danger::ClientCertVerifier>> {
    const EXPECTED: &str = "certificates of authorities as PEM";
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca, EXPECTED)? {
        roots
            .add(certificate)
            .map_err(|error| bad(ca, EXPECTED).caused_by(error))?;
    }
    let provider = Arc::new(ring::default_provider());
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| bad(ca, EXPECTED).caused_by(error))
}

fn certificates(path: &Path, expected: &str) -> Result<Vec<CertificateDer<'static>>> {
    let certs = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|error| bad(path, expected).caused_by(error))?;
    match certs.is_empty() {
        true => Err(bad(path, &format!("{expected}, found none"))),
        false => Ok(certs),
    }
}

fn bad(path: &Path, expected: &str) -> Error {
    let path = path.display();
    Error::new(Kind::Tls, format!("{path}: expected {expected}"))
}
