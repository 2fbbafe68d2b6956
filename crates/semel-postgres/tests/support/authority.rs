//! A private certificate authority, and the certificates of servers that it vouches for.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// An authority; its files are gone when it is dropped.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    dir: PathBuf,
}

impl Authority {
    /// One whose name no other has.
    pub fn new() -> Self {
        let seed = semel_testkit::random::fresh_seed();
        Self::named(&format!("Authority {seed:016x}"))
    }

    /// One of this name, which others may have too: its key is its own.
    pub fn named(name: &str) -> Self {
        let seed = semel_testkit::random::fresh_seed();
        let dir = std::env::temp_dir().join(format!("semel-authority-{seed:016x}"));
        fs::create_dir(&dir).expect("a temporary directory");
        let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names at all");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        fs::write(dir.join("authority.pem"), issuer.pem()).expect("a file can be written");
        Self { issuer, dir }
    }

    /// The file of its own certificate.
    pub fn file(&self) -> String {
        self.dir.join("authority.pem").display().to_string()
    }

    /// The files of a certificate for `host` and of its key, which a server under `account` can read.
    pub fn certify(&self, host: &str, account: &str) -> [String; 2] {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new([host.to_owned()]).expect("a name of a host");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let texts = [
            ("server.pem", certificate.pem()),
            ("server.key", key.serialize_pem()),
        ];
        texts.map(|(name, text)| {
            let path = self.dir.join(name);
            fs::write(&path, text).expect("a file can be written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("our own file");
            give_to(&path, account);
            path.display().to_string()
        })
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Root does not run servers itself; anybody else does, and keeps the file.
fn give_to(path: &Path, account: &str) {
    if fs::metadata(path).expect("it was just made").uid() != 0 {
        return;
    }
    let passwd = fs::read_to_string("/etc/passwd").expect("accounts");
    let mut accounts = passwd
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let found = accounts.find(|fields| fields[0] == account);
    let fields = found.expect("an account for the server");
    let number = |at: usize| fields[at].parse().ok();
    chown(path, number(2), number(3)).expect("root gives files away");
}
