//! TLS to the server: whose word is taken for who the server is.
//!
//! `sslmode` says whether TLS is used, in the words of PostgreSQL's own tools. Unlike there a certificate is always
//! checked: a connection that anybody can listen in on looks like a safe one otherwise.

use std::path::PathBuf;
use std::sync::Arc;

use semel_core::{Error, Kind, Result};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

/// The value of `sslrootcert` that stands for the system's certificate authorities.
const SYSTEM: &str = "system";

/// How the server's certificate is checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tls {
    /// A file of certificate authorities in PEM; the system's if there is none.
    roots: Option<PathBuf>,
    /// Whether the certificate may be of another host (`verify-ca`).
    any_host: bool,
}

impl Tls {
    /// `sslrootcert` of a URL.
    pub(crate) fn root_certificates(&mut self, file: &str) {
        self.roots = (file != SYSTEM).then(|| file.into());
    }

    /// Takes `sslmode` of a URL, and returns what the driver gets.
    pub(crate) fn mode<'a>(&mut self, mode: &'a str) -> &'a str {
        match mode {
            "verify-ca" | "verify-full" => {
                self.any_host = mode == "verify-ca";
                "require"
            }
            mode => mode,
        }
    }

    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect> {
        let failed = |e| Error::new(Kind::Internal, "setting up TLS").caused_by(e);
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(failed)?;
        let roots = Arc::new(self.root_store()?);
        let config = match self.any_host {
            false => builder.with_root_certificates(roots),
            true => {
                let inner = WebPkiServerVerifier::builder_with_provider(roots, provider);
                let inner = inner.build().map_err(|e| {
                    Error::invalid("sslmode=verify-ca needs a certificate authority").caused_by(e)
                })?;
                let verifier = Arc::new(AnyHost { inner });
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(verifier)
            }
        };
        Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
    }

    fn root_store(&self) -> Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        let Some(file) = &self.roots else {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            return Ok(roots);
        };
        let expected = || {
            format!(
                "sslrootcert must be a readable file of certificates in PEM, found {}",
                file.display()
            )
        };
        let certificates = CertificateDer::pem_file_iter(file)
            .map_err(|e| Error::invalid(expected()).caused_by(e))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|e| Error::invalid(expected()).caused_by(e))?;
            roots
                .add(certificate)
                .map_err(|e| Error::invalid(expected()).caused_by(e))?;
        }
        match roots.is_empty() {
            true => Err(Error::invalid(expected())),
            false => Ok(roots),
        }
    }
}

/// What a failed connection says about the server's certificate, if that is why.
pub(crate) fn objection(error: &tokio_postgres::Error) -> Option<&'static str> {
    let io = std::error::Error::source(error)?.downcast_ref::<std::io::Error>()?;
    let rustls::Error::InvalidCertificate(why) = io.get_ref()?.downcast_ref::<rustls::Error>()?
    else {
        return None;
    };
    Some(match why {
        // An authority that was made anew under its old name is known by name and signs differently.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "; name the file of its certificate authority as sslrootcert in the store's URL"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "; name the host as its certificate does, or say sslmode=verify-ca in the store's URL"
        }
        _ => "; see the server's ssl_cert_file",
    })
}

/// Checks all but whose name is on the certificate.
#[derive(Debug)]
struct AnyHost {
    inner: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // The name is checked last: all else is in order.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
