//! The Helm chart: `helm` accepts it, Kubernetes' schemas accept what it makes, and the file in it is one that this program serves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Two replicas beside an application, on PostgreSQL.
const SIDECAR: &str = r#"
mode: sidecar
replicas: 2
config:
  store: "postgres://semel:${PG_PASSWORD}@db/shop"
  consumers:
    mailer: { source: http, deliver: "http://127.0.0.1:8080/mails" }
  inbox: { listen: "0.0.0.0:7072" }
secretEnv:
  - { name: SEMEL_ADMIN_TOKEN, secret: semel, key: admin-token }
  - { name: PG_PASSWORD, secret: db, key: password }
application:
  container: { name: shop, image: "example.org/shop:1", ports: [{ containerPort: 8080 }] }
service: { inbox: true }
networkPolicy: { gatewayFrom: [{ podSelector: { matchLabels: { app: shop } } }] }
serviceMonitor: { enabled: true, labels: { release: prometheus } }
"#;

/// The directory with `helm` and what knows the schemas.
fn tools() -> PathBuf {
    let python = std::env::var_os("SEMEL_TEST_HELM").expect(
        "SEMEL_TEST_HELM names no interpreter beside helm: run the tests with `cargo xtask test`, or `cargo xtask services up helm`",
    );
    Path::new(&python).parent().unwrap().to_owned()
}

fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/helm/semel")
}

fn helm(args: &[&str]) -> Output {
    Command::new(tools().join("helm"))
        .args(args)
        .output()
        .unwrap()
}

/// What the chart makes of these values.
fn made(values: &[&str]) -> String {
    let chart = chart();
    let template = ["template", "shop", chart.to_str().unwrap()];
    let made = helm(&[&template, values].concat());
    let stderr = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{stderr}");
    String::from_utf8(made.stdout).unwrap()
}

/// The configuration file in what the chart makes.
fn file(manifests: &str) -> String {
    let (_, rest) = manifests.split_once("  semel.yaml: |\n").unwrap();
    let lines = rest.lines().map_while(|line| line.strip_prefix("    "));
    lines.collect::<Vec<_>>().join("\n")
}

fn is_right(dir: &Path, manifests: &str) {
    let path = dir.join("manifests.yaml");
    fs::write(&path, manifests).unwrap();
    let judged = Command::new(tools().join("kubernetes-validate"))
        .args(["--strict", "--kubernetes-version", "1.31"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(judged.status.success(), "{judged:?}");
    let settings = file(manifests).replace("/data/", &format!("{}/", dir.display()));
    fs::write(dir.join("semel.yaml"), settings).unwrap();
    let explained = Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(["check", "--config"])
        .arg(dir.join("semel.yaml"))
        .env("SEMEL_ADMIN_TOKEN", "a-token-that-is-long-enough")
        .env("PG_PASSWORD", "secret")
        .env_remove("SEMEL_STORE")
        .output()
        .unwrap();
    // The file is understood; the database of the example cannot be reached.
    let stderr = String::from_utf8_lossy(&explained.stderr);
    assert_ne!(explained.status.code(), Some(78), "{stderr}");
}

#[test]
fn the_chart_makes_what_kubernetes_and_this_program_accept() {
    let linted = helm(&["lint", "--strict", chart().to_str().unwrap()]);
    assert!(linted.status.success(), "{linted:?}");
    let dir = tempfile::tempdir().unwrap();
    let standalone = made(&[]);
    is_right(dir.path(), &standalone);
    for wanted in [
        "kind: PersistentVolumeClaim",
        "type: Recreate",
        "readOnlyRootFilesystem: true",
    ] {
        assert!(standalone.contains(wanted), "{wanted}");
    }
    let values = dir.path().join("values.yaml");
    fs::write(&values, SIDECAR).unwrap();
    let sidecar = made(&["--values", values.to_str().unwrap()]);
    is_right(dir.path(), &sidecar);
    for wanted in [
        "name: shop\n",
        "kind: ServiceMonitor",
        "replicas: 2",
        "emptyDir: {}",
    ] {
        assert!(sidecar.contains(wanted), "{wanted}");
    }
    assert!(!sidecar.contains("kind: PersistentVolumeClaim"));
}

#[test]
fn values_that_cannot_work_are_refused() {
    let chart = chart();
    for (set, why) in [
        ("replicas=3", "name a store that all replicas reach"),
        ("mode=both", "mode"),
        ("mode=sidecar", "application"),
        ("config.admin.listen=0.0.0.0:9", "listen"),
        ("colour=red", "colour"),
    ] {
        let made = helm(&["template", "shop", chart.to_str().unwrap(), "--set", set]);
        let stderr = String::from_utf8_lossy(&made.stderr);
        assert!(
            !made.status.success() && stderr.contains(why),
            "{set}: {stderr}"
        );
    }
}
