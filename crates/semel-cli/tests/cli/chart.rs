//! The Helm chart: `helm` accepts it, Kubernetes' schemas accept what it makes, and the file in it is one that this program serves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

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

/// An application that stores uploads, with TLS on the admin side and a token of Prometheus' own.
const MOUNTED: &str = r#"
mode: sidecar
config:
  admin:
    token: null
    tokens: [{ name: prometheus, role: read, token: "${METRICS_TOKEN}" }]
    tls: { certificate: /tls/tls.crt, key: /tls/tls.key }
  gateway: { timeouts: { drain_pause: 1500ms, drain: 1m } }
secretEnv: [{ name: METRICS_TOKEN, secret: metrics, key: token }]
application:
  container:
    name: shop
    image: "example.org/shop:1"
    volumeMounts: [{ name: uploads, mountPath: /uploads }]
    lifecycle: { postStart: { exec: { command: ["true"] } } }
extraVolumes:
  - { name: uploads, emptyDir: {} }
  - { name: tls, secret: { secretName: semel-tls } }
extraVolumeMounts: [{ name: tls, mountPath: /tls, readOnly: true }]
initContainers: [{ name: schema, image: "example.org/schema:1" }]
automountServiceAccountToken: true
terminationGracePeriodSeconds: 90
serviceMonitor:
  enabled: true
  tokenSecret: { name: metrics, key: token }
  tlsConfig: { serverName: semel.example.org, ca: { secret: { name: semel-tls, key: ca.crt } } }
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
    certificate(dir);
    let settings = file(manifests).replace("/tls/", &format!("{}/", dir.display()));
    fs::write(dir.join("semel.yaml"), settings).unwrap();
    // The store of the file is out of reach here.
    let store = format!("sqlite:{}", dir.join("semel.db").display());
    let checked = Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(["check", "--store", &store, "--config"])
        .arg(dir.join("semel.yaml"))
        .env("SEMEL_ADMIN_TOKEN", "a-token-that-is-long-enough")
        .env("METRICS_TOKEN", "another-token-that-is-long-enough")
        .env("PG_PASSWORD", "secret")
        .env_remove("SEMEL_STORE")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{stderr}");
}

/// What a secret would bring.
fn certificate(dir: &Path) {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["semel.example.org".to_owned()]).unwrap();
    let signed = params.self_signed(&key).unwrap();
    fs::write(dir.join("tls.crt"), signed.pem()).unwrap();
    fs::write(dir.join("tls.key"), key.serialize_pem()).unwrap();
}

/// The one manifest of this kind.
fn manifest(manifests: &str, kind: &str) -> Value {
    let all = manifests.split("\n---\n");
    let all = all.filter_map(|text| serde_saphyr::from_str::<Value>(text).ok());
    let mut found = all.filter(|manifest| manifest["kind"] == kind);
    found.next().unwrap()
}

/// The values of a test as a file, and what the chart makes of them.
fn made_of(dir: &Path, values: &str, more: &[&str]) -> String {
    let path = dir.join("values.yaml");
    fs::write(&path, values).unwrap();
    made(&[&["--values", path.to_str().unwrap()], more].concat())
}

/// What the volume of the records is made of, and how one pod follows another.
fn records(manifests: &str) -> (Value, Value) {
    let deployment = manifest(manifests, "Deployment");
    let volumes = deployment["spec"]["template"]["spec"]["volumes"].clone();
    let volumes = volumes.as_array().unwrap().iter();
    let mut data = volumes.filter(|volume| volume["name"] == "data");
    let mut data = data.next().unwrap().clone();
    data.as_object_mut().unwrap().remove("name");
    (data, deployment["spec"]["strategy"]["type"].clone())
}

/// What the chart says to those who install it.
fn notes(values: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let copied = Command::new("cp")
        .args([Path::new("-r"), &chart(), dir.path()])
        .status();
    assert!(copied.unwrap().success());
    let chart = dir.path().join("semel");
    // Without a cluster helm shows no notes, so a template shows them.
    let template = "notes: {{ include (print $.Template.BasePath \"/NOTES.txt\") . | toJson }}\n";
    fs::write(chart.join("templates/shown.yaml"), template).unwrap();
    let show = [
        "template",
        "shop",
        chart.to_str().unwrap(),
        "--show-only",
        "templates/shown.yaml",
    ];
    let made = helm(&[&show, values].concat());
    assert!(made.status.success(), "{made:?}");
    let shown: Value = serde_saphyr::from_str(&String::from_utf8(made.stdout).unwrap()).unwrap();
    shown["notes"].as_str().unwrap().to_owned()
}

/// What the application does before it is asked to end.
fn before_stop(manifests: &str) -> Value {
    let deployment = manifest(manifests, "Deployment");
    let application = &deployment["spec"]["template"]["spec"]["containers"][1];
    application["lifecycle"]["preStop"].clone()
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
    let sidecar = made_of(dir.path(), SIDECAR, &[]);
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
fn records_in_a_file_outlive_the_pod_and_have_one_at_a_time() {
    let map = "config.store.claims=redis://c,config.store.outcomes=sqlite:/data/o.db";
    for set in [
        "config.store=sqlite:/data/o.db",
        "config.store=redis://:p+q@c/0+sqlite:/data/o.db",
        map,
    ] {
        let made = made(&["--set", set]);
        let claimed = json!({ "persistentVolumeClaim": { "claimName": "shop-semel" } });
        assert_eq!(records(&made), (claimed, "Recreate".into()), "{set}");
        assert!(made.contains("kind: PersistentVolumeClaim"), "{set}");
    }
    let nothing = || (json!({ "emptyDir": {} }), Value::Null);
    for set in [
        "config.store=redis://c+postgres://db/shop",
        "config.store.claims=redis://c,config.store.outcomes=postgres://db/shop",
    ] {
        assert_eq!(records(&made(&["--set", set])), nothing(), "{set}");
    }
    let thrown_away = made(&[
        "--set",
        "persistence.enabled=false,persistence.ephemeral=true",
    ]);
    assert_eq!(records(&thrown_away), (nothing().0, "Recreate".into()));
}

#[test]
fn the_notes_name_the_secrets_that_the_pods_wait_for() {
    let plain = notes(&[]);
    assert!(plain.contains("semel/admin-token"), "{plain}");
    assert!(
        plain.contains("create secret generic semel --from-literal=admin-token="),
        "{plain}"
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("values.yaml");
    fs::write(&path, SIDECAR).unwrap();
    let sidecar = notes(&["--values", path.to_str().unwrap()]);
    assert!(
        sidecar.contains("db/password (for PG_PASSWORD)"),
        "{sidecar}"
    );
    let none = notes(&["--set", "secretEnv=null"]);
    assert!(!none.contains("secret"), "{none}");
}

#[test]
fn the_alerts_are_rules_for_the_operator_of_prometheus_where_they_are_wanted() {
    assert!(!made(&[]).contains("kind: PrometheusRule"));
    let set = "prometheusRule.enabled=true,prometheusRule.labels.release=prometheus";
    let rule = manifest(&made(&["--set", set]), "PrometheusRule");
    assert_eq!(rule["metadata"]["labels"]["release"], "prometheus");
    let packaged = crate::pages::read("packaging/prometheus/semel.rules.yaml");
    let packaged: Value = serde_saphyr::from_str(&packaged).unwrap();
    assert_eq!(rule["spec"], packaged);
}

#[test]
fn an_admin_side_with_tls_is_probed_and_scraped_over_tls() {
    let dir = tempfile::tempdir().unwrap();
    let made = made_of(dir.path(), MOUNTED, &[]);
    is_right(dir.path(), &made);
    let deployment = manifest(&made, "Deployment");
    let pod = &deployment["spec"]["template"]["spec"];
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let scheme = &pod["containers"][0][probe]["httpGet"]["scheme"];
        assert_eq!(scheme, "HTTPS", "{probe}");
    }
    let monitor = manifest(&made, "ServiceMonitor");
    let endpoint = &monitor["spec"]["endpoints"][0];
    assert_eq!(endpoint["scheme"], "https");
    assert_eq!(endpoint["tlsConfig"]["serverName"], "semel.example.org");
    let credentials = json!({ "name": "metrics", "key": "token" });
    assert_eq!(endpoint["authorization"]["credentials"], credentials);
}

#[test]
fn every_volume_that_a_container_mounts_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let made = made_of(dir.path(), MOUNTED, &[]);
    let deployment = manifest(&made, "Deployment");
    let pod = &deployment["spec"]["template"]["spec"];
    let names = |list: &Value| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let volumes = names(&pod["volumes"]);
    for container in pod["containers"].as_array().unwrap() {
        let mounted = names(&container["volumeMounts"]);
        assert!(
            mounted.iter().all(|name| volumes.contains(name)),
            "{mounted:?}"
        );
    }
    assert_eq!(volumes, ["config", "data", "uploads", "tls"]);
    assert_eq!(names(&pod["initContainers"]), ["schema"]);
    assert_eq!(pod["automountServiceAccountToken"], true);
    let account = manifest(&made, "ServiceAccount");
    assert_eq!(account["automountServiceAccountToken"], true);
}

#[test]
fn an_application_is_asked_to_end_after_semel_has() {
    let dir = tempfile::tempdir().unwrap();
    let plain = made_of(dir.path(), SIDECAR, &[]);
    assert_eq!(before_stop(&plain), json!({ "sleep": { "seconds": 36 } }));
    let old = made_of(dir.path(), SIDECAR, &["--kube-version", "1.29.0"]);
    let sleeps = json!({ "exec": { "command": ["sleep", "36"] } });
    assert_eq!(before_stop(&old), sleeps);
    let long = made_of(dir.path(), MOUNTED, &[]);
    assert_eq!(before_stop(&long), json!({ "sleep": { "seconds": 63 } }));
    assert!(long.contains("postStart"), "what the container says stays");
    let said = ["--set", "application.preStopSeconds=70"];
    let said = made_of(dir.path(), MOUNTED, &said);
    assert_eq!(before_stop(&said), json!({ "sleep": { "seconds": 70 } }));
    let own = "application.container.lifecycle.preStop.exec.command={/drain}";
    let own = made_of(dir.path(), MOUNTED, &["--set", own]);
    let drains = json!({ "exec": { "command": ["/drain"] } });
    assert_eq!(before_stop(&own), drains);
}

#[test]
fn values_that_cannot_work_are_refused() {
    let chart = chart();
    for (set, why) in [
        ("replicas=3", "name a store that all replicas reach"),
        (
            "replicas=3,config.store=redis://c+sqlite:/data/o.db",
            "name a store that all replicas reach",
        ),
        (
            "replicas=3,config.store.claims=redis://c,config.store.outcomes=sqlite:/data/o.db",
            "name a store that all replicas reach",
        ),
        ("persistence.enabled=false", "persistence.ephemeral"),
        (
            "persistence.enabled=false,config.store=redis://c+sqlite:/data/o.db",
            "persistence.ephemeral",
        ),
        ("mode=both", "mode"),
        ("mode=sidecar", "application"),
        ("config.admin.listen=0.0.0.0:9", "listen"),
        ("config.admin.listen=127.0.0.1:7071", "only the pod itself"),
        ("config.gateway.listen=[::1]:7070", "only the pod itself"),
        ("config.inbox.listen=127.0.0.1:7072", "only the pod itself"),
        ("service.inbox=true", "config.inbox.listen"),
        (
            "config.admin.tls.client_ca=/ca.pem",
            "the kubelet has no certificate",
        ),
        ("terminationGracePeriodSeconds=30", "take 35"),
        ("config.gateway.timeouts.drain=1d", "expected a duration"),
        (
            "serviceMonitor.enabled=true,secretEnv=null",
            "serviceMonitor.tokenSecret",
        ),
        (
            "serviceMonitor.enabled=true,config.admin.tls.key=/tls.key",
            "serviceMonitor.tlsConfig",
        ),
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
