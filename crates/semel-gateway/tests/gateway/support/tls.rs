//! Certificates for one test, and both ends of TLS.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// A self-signed certificate for `localhost` and 127.0.0.1, in files.
pub(crate) struct Certificate {
    _dir: TempDir,
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificate {
    pub(crate) fn new() -> Self {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
        let dir = TempDir::new().unwrap();
        let (cert_path, key_path) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
        std::fs::write(&cert_path, cert.pem()).unwrap();
        std::fs::write(&key_path, signing_key.serialize_pem()).unwrap();
        Self {
            _dir: dir,
            cert: cert_path,
            key: key_path,
        }
    }

    /// Leaves the files where they are and says where the certificate is.
    pub(crate) fn keep(self) -> PathBuf {
        std::mem::forget(self._dir);
        self.cert
    }

    fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(&self.cert).unwrap()
    }

    /// The server's end, which speaks `protocols`.
    pub(crate) fn acceptor(&self, protocols: &[&str]) -> TlsAcceptor {
        let key = PrivateKeyDer::from_pem_file(&self.key).unwrap();
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.der()], key)
            .unwrap();
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        TlsAcceptor::from(Arc::new(config))
    }

    /// The client's end, which trusts this certificate only.
    pub(crate) async fn connect(
        &self,
        address: SocketAddr,
        protocols: &[&str],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        let tcp = TcpStream::connect(address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config))
            .connect(name, tcp)
            .await
    }
}
