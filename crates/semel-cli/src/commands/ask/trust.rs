//! Whose certificate an admin side may show.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};

use crate::error::{Error, Result};
use crate::exit::Exit;

/// The most certificates of a file.
const CERTIFICATES_MAX: usize = 1_000;

/// Whose certificate is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) enum Trust {
    /// One for the name in the URL that an authority of this machine has signed.
    Machine,
    /// The same, of the authorities in this file alone.
    Authorities(PathBuf),
    /// The very one in this file, whatever it says. It is the one that the configuration gives to the process that is asked, on this machine: it is
    /// for the name that others know the machine by, and often signed by itself.
    Certificate(PathBuf),
}

impl Trust {
    /// What a client is to be set up with; nothing where its own ways do.
    pub(super) fn client(&self) -> Result<Option<ClientConfig>> {
        let provider = Arc::new(ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        // Named, because a process with two providers has no default one.
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::refused(format!("cannot set up TLS: {error}")))?;
        let builder = match self {
            Self::Machine => return Ok(None),
            Self::Authorities(path) => builder.with_root_certificates(roots(path)?),
            Self::Certificate(path) => {
                let verifier = Arc::new(Only {
                    certificate: leaf(path)?,
                    algorithms,
                });
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(verifier)
            }
        };
        Ok(Some(builder.with_no_client_auth()))
    }
}

fn roots(path: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| bad(path, &error))?;
    }
    Ok(roots)
}

/// The certificate itself stands before those that lead to its root.
fn leaf(path: &Path) -> Result<CertificateDer<'static>> {
    Ok(certificates(path)?.swap_remove(0))
}

/// One at least.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let found = CertificateDer::pem_file_iter(path).map_err(|error| bad(path, &error))?;
    let found: std::result::Result<Vec<_>, _> = found.take(CERTIFICATES_MAX).collect();
    let found = found.map_err(|error| bad(path, &error))?;
    match found.is_empty() {
        true => Err(bad(path, &"found none")),
        false => Ok(found),
    }
}

fn bad(path: &Path, why: &dyn std::fmt::Display) -> Error {
    let path = path.display();
    let message = format!("{path}: expected certificates as PEM: {why}");
    Error::new(Exit::Configuration, message)
}

/// Believes one certificate, and that the other side has its key.
#[derive(Debug)]
struct Only {
    certificate: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Only {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, TlsError> {
        match *shown == self.certificate {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(TlsError::General(
                "it shows another certificate than the file in admin.tls.certificate".to_owned(),
            )),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
