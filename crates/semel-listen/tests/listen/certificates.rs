//! Certificates that change while they are used, and certificates of clients.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, Issuer, KeyPair};
use semel_listen::{Settings, Tls};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::support::{get, start, until};

const OFTEN: Duration = Duration::from_millis(10);

/// An authority, and a certificate of it for localhost in files.
pub(crate) struct Files {
    dir: TempDir,
    ca: Issuer<'static, KeyPair>,
    ca_der: CertificateDer<'static>,
}

impl Files {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let ca = params.self_signed(&key).unwrap();
        let files = Self {
            dir: tempfile::tempdir().unwrap(),
            ca_der: ca.der().clone(),
            ca: Issuer::new(params, key),
        };
        std::fs::write(files.path("ca.pem"), ca.pem()).unwrap();
        files.renew();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn tls(&self) -> Tls {
        Tls::new(self.path("cert.pem"), self.path("key.pem"))
    }

    /// A certificate of the authority and its key, which ends with the first day of this year.
    fn issue(&self, ends: i32) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(ends, 1, 1);
        (params.signed_by(&key, &self.ca).unwrap(), key)
    }

    /// Writes another certificate into the files, and gives it.
    fn renew(&self) -> CertificateDer<'static> {
        self.renew_until(4_000)
    }

    /// The same, until this year. The authority stands behind it, and ends later.
    fn renew_until(&self, ends: i32) -> CertificateDer<'static> {
        let (certificate, key) = self.issue(ends);
        let chain = certificate.pem() + &std::fs::read_to_string(self.path("ca.pem")).unwrap();
        for (name, text) in [("key.pem", key.serialize_pem()), ("cert.pem", chain)] {
            // As programs that renew certificates do: a whole file takes the place of the old one.
            std::fs::write(self.path("new"), text).unwrap();
            std::fs::rename(self.path("new"), self.path(name)).unwrap();
        }
        certificate.der().clone()
    }

    fn client(
        &self,
    ) -> tokio_rustls::rustls::ConfigBuilder<
        ClientConfig,
        tokio_rustls::rustls::client::WantsClientCert,
    > {
        let mut roots = RootCertStore::empty();
        roots.add(self.ca_der.clone()).unwrap();
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
    }

    pub(crate) async fn connect(
        &self,
        address: SocketAddr,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        connect(self.client().with_no_client_auth(), address).await
    }

    /// Connects with a certificate that `issuer` has given the client.
    async fn connect_as(
        &self,
        issuer: &Self,
        address: SocketAddr,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let (certificate, key) = issuer.issue(4_000);
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = self
            .client()
            .with_client_auth_cert(vec![certificate.der().clone()], key);
        connect(config.unwrap(), address).await
    }
}

async fn connect(
    config: ClientConfig,
    address: SocketAddr,
) -> std::io::Result<TlsStream<TcpStream>> {
    let tcp = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
}

fn shown(stream: &TlsStream<TcpStream>) -> CertificateDer<'static> {
    stream.get_ref().1.peer_certificates().unwrap()[0]
        .clone()
        .into_owned()
}

fn settings(tls: Tls) -> Settings {
    Settings {
        tls: Some(tls),
        certificate_poll: OFTEN,
        ..Settings::default()
    }
}

#[tokio::test]
async fn a_certificate_that_was_renewed_is_used_and_connections_stay() {
    let files = Files::new();
    let running = start(settings(files.tls()));
    let before = files.connect(running.tcp()).await.unwrap();
    let old = shown(&before);
    let new = files.renew();
    until(async || shown(&files.connect(running.tcp()).await.unwrap()) == new).await;
    assert_ne!(old, new);
    let answer = get(before, "/before").await;
    assert!(answer.ends_with("/before"), "{answer}");
}

#[tokio::test]
async fn a_certificate_that_is_broken_is_reported_and_the_old_one_stays() {
    let files = Files::new();
    let running = start(settings(files.tls()));
    let old = shown(&files.connect(running.tcp()).await.unwrap());
    let mut refused = running.handle.refused_certificate();
    std::fs::write(files.path("cert.pem"), "no certificate").unwrap();
    let said = refused
        .wait_for(Option::is_some)
        .await
        .unwrap()
        .clone()
        .unwrap();
    assert!(said.contains("cert.pem"), "{said}");
    assert_eq!(shown(&files.connect(running.tcp()).await.unwrap()), old);
    let new = files.renew();
    refused.wait_for(Option::is_none).await.unwrap();
    assert_eq!(shown(&files.connect(running.tcp()).await.unwrap()), new);
}

#[tokio::test]
async fn a_client_needs_a_certificate_of_the_named_authority() {
    let (files, other) = (Files::new(), Files::new());
    let mut tls = files.tls();
    tls.client_ca = Some(files.path("ca.pem"));
    let running = start(settings(tls));
    // TLS 1.3 tells the client only after its handshake, so the answer shows it.
    let asked = async |stream: std::io::Result<TlsStream<TcpStream>>| match stream {
        Ok(stream) => get(stream, "/in").await,
        Err(_) => String::new(),
    };
    assert_eq!(asked(files.connect(running.tcp()).await).await, "");
    assert_eq!(
        asked(files.connect_as(&other, running.tcp()).await).await,
        ""
    );
    let answer = asked(files.connect_as(&files, running.tcp()).await).await;
    assert!(answer.ends_with("/in"), "{answer}");
}

#[tokio::test]
async fn when_the_certificate_in_use_ends_is_known() {
    let files = Files::new();
    files.renew_until(2031);
    let running = start(settings(files.tls()));
    assert_eq!(running.handle.certificate_expiry(), Some(1_924_992_000));
    files.renew_until(2032);
    until(async || running.handle.certificate_expiry() == Some(1_956_528_000)).await;
    let plain = start(Settings::default());
    assert_eq!(plain.handle.certificate_expiry(), None);
}
