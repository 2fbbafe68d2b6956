//! `semel health`, `top` and `check --alerts` ask an admin side over TLS: the file's own by its certificate, another one by its authority.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::support::Semel;

/// A certificate for a name that is not the address, signed by itself as `openssl req -x509` does it, and one of an authority for the address.
fn certificates(dir: &Path) {
    let write = |name: &str, text: String| fs::write(dir.join(name), text).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut own = CertificateParams::new(vec!["ops.example.org".to_owned()]).unwrap();
    own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    write("own.pem", own.self_signed(&key).unwrap().pem());
    write("own.key", key.serialize_pem());

    let key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::<String>::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    write("ca.pem", authority.self_signed(&key).unwrap().pem());
    let authority = Issuer::new(authority, key);
    let key = KeyPair::generate().unwrap();
    let issued = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    write(
        "issued.pem",
        issued.signed_by(&key, &authority).unwrap().pem(),
    );
    write("issued.key", key.serialize_pem());
}

fn settings(listen: &str, name: &str, more: &str) -> String {
    format!(
        "admin: {{ listen: '{listen}', tls: {{ certificate: {name}.pem, key: {name}.key{more} }} }}\n"
    )
}

/// A process with this certificate, and a file that says where it is.
fn serve(dir: &Path, name: &str) -> Semel {
    fs::write(dir.join("semel.yaml"), settings("127.0.0.1:0", name, "")).unwrap();
    let semel = Semel::serve(dir, &[]);
    let known = settings(&semel.admin.to_string(), name, "");
    fs::write(dir.join("known.yaml"), known).unwrap();
    semel
}

fn ask(dir: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(line.split_whitespace())
        .current_dir(dir)
        .env_remove("SEMEL_STORE")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_admin_side_of_the_file_is_known_by_its_certificate_whatever_its_name() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let semel = serve(dir.path(), "own");
    let url = format!("https://{}", semel.admin);
    for line in [
        "health --config known.yaml".to_owned(),
        format!("health --config known.yaml --admin {url}"),
        "top --json --every 200ms --config known.yaml".to_owned(),
    ] {
        let asked = ask(dir.path(), &line);
        assert!(asked.status.success(), "{line}: {}", said(&asked));
    }
    let alerts = ask(dir.path(), "check --alerts --json --config known.yaml");
    let judged = String::from_utf8_lossy(&alerts.stdout);
    assert!(judged.contains("\"rules\""), "{}", said(&alerts));
    // Another process at that address is not it.
    let other = settings(&semel.admin.to_string(), "issued", "");
    fs::write(dir.path().join("other.yaml"), other).unwrap();
    let asked = ask(dir.path(), "health --config other.yaml");
    assert_eq!(asked.status.code(), Some(69));
    assert!(
        said(&asked).contains("another certificate"),
        "{}",
        said(&asked)
    );
    let mutual = settings(&semel.admin.to_string(), "own", ", client_ca: ca.pem");
    fs::write(dir.path().join("mutual.yaml"), mutual).unwrap();
    let asked = ask(dir.path(), "health --config mutual.yaml");
    assert_eq!(asked.status.code(), Some(78));
    assert!(said(&asked).contains("client_ca"), "{}", said(&asked));
}

#[test]
fn an_authority_that_is_named_vouches_for_an_admin_side() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let semel = serve(dir.path(), "issued");
    let line = format!("health --admin https://{}", semel.admin);
    let asked = ask(dir.path(), &format!("{line} --ca ca.pem"));
    assert!(asked.status.success(), "{}", said(&asked));
    let asked = ask(dir.path(), &format!("{line} --ca own.pem"));
    assert_eq!(asked.status.code(), Some(69), "{}", said(&asked));
    let asked = ask(dir.path(), &line);
    assert_eq!(asked.status.code(), Some(69), "{}", said(&asked));
    let asked = ask(dir.path(), &format!("{line} --ca nowhere.pem"));
    assert_eq!(asked.status.code(), Some(78), "{}", said(&asked));
}
