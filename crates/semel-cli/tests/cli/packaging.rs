//! What stands beside the program to run it: the unit of systemd, the compose files and the image.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const UNIT: &str = include_str!("../../../../packaging/semel.service");
const COMPOSE: &str = include_str!("../../../../compose.yaml");
const TEST_COMPOSE: &str = include_str!("../../../../xtask/compose.yaml");
const DOCKERFILE: &str = include_str!("../../../../Dockerfile");
const WORKSPACE: &str = include_str!("../../../../Cargo.toml");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// The texts of a list.
fn texts(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap().iter();
    list.map(|text| text.as_str().unwrap()).collect()
}

#[test]
fn the_unit_goes_on_trying_while_a_store_is_away_and_stops_where_a_person_is_needed() {
    let section = |name: &str| {
        let (_, rest) = UNIT.split_once(&format!("[{name}]\n")).unwrap();
        let lines = rest.lines().take_while(|line| !line.starts_with('['));
        lines.collect::<BTreeSet<_>>()
    };
    // Without a limit on how often it starts, and without one on how long that takes: a migration may be long.
    assert!(section("Unit").contains("StartLimitIntervalSec=0"));
    for setting in [
        "Type=notify",
        "TimeoutStartSec=infinity",
        "Restart=on-failure",
        "RestartPreventExitStatus=2 78",
    ] {
        assert!(section("Service").contains(setting), "{setting}");
    }
    // A store that is away is none of these: the process ends with 69.
    assert!(!UNIT.contains("69"));
}

#[test]
fn systemd_finds_no_fault_in_the_unit() {
    let analyze = std::env::var_os("SEMEL_TEST_SYSTEMD_ANALYZE").expect(
        "SEMEL_TEST_SYSTEMD_ANALYZE names no program: run the tests with `cargo xtask test`, or `cargo xtask services up systemd`",
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("semel.service");
    // It looks for the program, too, which is not installed here.
    let unit = UNIT.replace("/usr/bin/semel", env!("CARGO_BIN_EXE_semel"));
    fs::write(&path, unit).unwrap();
    let judged = Command::new(analyze)
        .args(["verify", "--man=no"])
        .arg(&path)
        .output()
        .unwrap();
    // What it says about units of this machine is no concern of ours, and what it ignores is no failure to it.
    let said = String::from_utf8_lossy(&judged.stderr);
    assert!(!said.contains("semel.service"), "{said}");
}

/// The variable that a config of the compose file holds, as semel.yaml writes it.
fn compose_variable(compose: &Value, config: &str) -> String {
    let content = compose["configs"][config]["content"].as_str().unwrap();
    content.replace(":-", "")
}

#[test]
fn the_settings_of_the_compose_file_are_right_and_its_ports_are_theirs() {
    let compose = yaml(COMPOSE);
    let semel = &compose["services"]["semel"];
    assert_eq!(semel["build"], ".");
    let mounted = "./packaging/compose/semel.yaml:/etc/semel/semel.yaml:ro";
    assert!(texts(&semel["volumes"]).contains(&mounted));
    let settings = root().join("packaging/compose/semel.yaml");
    let dir = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", dir.path().join("semel.db").display());
    let checked = Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(["check", "--store", &store, "--config"])
        .arg(&settings)
        .env("SEMEL_ADMIN_TOKEN", "a-token-that-is-long-enough")
        .env("SEMEL_METRICS_TOKEN", "another-token-that-is-long")
        .env("POSTGRES_PASSWORD", "semel")
        .env_remove("SEMEL_STORE")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
    for variable in [
        "SEMEL_ADMIN_TOKEN",
        "SEMEL_METRICS_TOKEN",
        "POSTGRES_PASSWORD",
    ] {
        assert!(semel["environment"][variable].is_string(), "{variable}");
    }
    let settings = yaml(&fs::read_to_string(&settings).unwrap());
    // What Prometheus brings may look and change nothing.
    let given = &settings["admin"]["tokens"][0];
    assert_eq!(
        (&given["name"], &given["role"]),
        (&"prometheus".into(), &"read".into())
    );
    assert_eq!(given["token"], compose_variable(&compose, "metrics-token"));
    for section in ["gateway", "admin"] {
        let listen = settings[section]["listen"].as_str().unwrap();
        let port = listen.strip_prefix("0.0.0.0:").unwrap();
        let published = format!("127.0.0.1:{port}:{port}");
        assert!(
            texts(&semel["ports"]).contains(&published.as_str()),
            "{published}"
        );
    }
    let upstream = settings["gateway"]["upstream"].as_str().unwrap();
    assert!(compose["services"]["shop"].is_object() && upstream == "http://shop:8080");
}

#[test]
fn the_compose_files_name_images_of_one_version_and_files_that_are_there() {
    for (text, dir) in [(COMPOSE, root()), (TEST_COMPOSE, root().join("xtask"))] {
        let compose = yaml(text);
        for (name, service) in compose["services"].as_object().unwrap() {
            match service["image"].as_str() {
                Some(image) => {
                    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
                    assert!(
                        tag.starts_with(|c: char| c.is_ascii_digit() || c == 'v'),
                        "{image}"
                    );
                }
                None => assert_eq!(service["build"], ".", "{name}"),
            }
            for port in service["ports"].as_array().into_iter().flatten() {
                let port = port.as_str().unwrap();
                assert!(port.starts_with("127.0.0.1:"), "{name}: {port}");
            }
            for volume in service["volumes"].as_array().into_iter().flatten() {
                let from = volume.as_str().unwrap().split(':').next().unwrap();
                let is_there = match from.starts_with('.') {
                    true => dir.join(from).exists(),
                    false => compose["volumes"].get(from).is_some(),
                };
                assert!(is_there, "{name}: {from}");
            }
        }
    }
}

#[test]
fn the_prometheus_of_the_compose_file_judges_the_alerts() {
    let compose = yaml(COMPOSE);
    let mounted = texts(&compose["services"]["prometheus"]["volumes"]);
    let inside = |file: &str| {
        let mut volumes = mounted.iter().map(|volume| volume.split(':'));
        let found =
            volumes.find_map(|mut parts| (parts.next() == Some(file)).then(|| parts.next()));
        found.flatten().unwrap()
    };
    let settings = inside("./packaging/compose/prometheus.yml");
    let command = texts(&compose["services"]["prometheus"]["command"]);
    assert!(command.contains(&format!("--config.file={settings}").as_str()));
    let settings = fs::read_to_string(root().join("packaging/compose/prometheus.yml")).unwrap();
    let rules = inside("./packaging/prometheus/semel.rules.yaml");
    assert_eq!(texts(&yaml(&settings)["rule_files"]), [rules]);
}

#[test]
fn the_test_servers_are_published_where_the_comment_says() {
    let compose = yaml(TEST_COMPOSE);
    let services = compose["services"].as_object().unwrap().values();
    let ports = services.flat_map(|service| texts(&service["ports"]));
    let published: BTreeSet<&str> = ports.map(|port| port.split(':').nth(1).unwrap()).collect();
    let exports = TEST_COMPOSE
        .lines()
        .filter_map(|line| line.strip_prefix("#   export "));
    let exports = exports.filter_map(|line| line.split_once("127.0.0.1:"));
    let said: BTreeSet<&str> = exports
        .map(|(_, rest)| {
            let end = rest.find(|c: char| !c.is_ascii_digit());
            &rest[..end.unwrap_or(rest.len())]
        })
        .collect();
    assert_eq!(said, published);
}

/// The words of a command in JSON, such as `CMD ["a", "b"]`.
fn command<'a>(keyword: &str) -> Vec<&'a str> {
    let mut lines = DOCKERFILE.lines().map(str::trim_start);
    let line = lines
        .find_map(|line| line.strip_prefix(&format!("{keyword} [")))
        .unwrap();
    let words = line.trim_end_matches(']').split(", ");
    words.map(|word| word.trim_matches('"')).collect()
}

#[test]
fn the_image_is_built_with_the_compiler_of_the_workspace_and_runs_what_there_is() {
    let (_, rust) = WORKSPACE.split_once("rust-version = \"").unwrap();
    let (rust, _) = rust.split_once('"').unwrap();
    assert!(DOCKERFILE.contains(&format!("FROM rust:{rust}-")), "{rust}");
    assert!(DOCKERFILE.contains("EXPOSE 7070 7071 7072"));
    // The first CMD is that of the check of its health.
    let health = command("CMD");
    assert_eq!(health[..2], ["/usr/bin/semel", "health"]);
    assert_eq!(command("ENTRYPOINT"), ["/usr/bin/semel"]);
    let dir = tempfile::tempdir().unwrap();
    let settings = fs::read_to_string(root().join("packaging/semel.yaml")).unwrap();
    let (installed, here) = (
        "sqlite:/var/lib/semel/",
        format!("sqlite:{}/", dir.path().display()),
    );
    assert!(DOCKERFILE.contains(installed) && settings.contains(installed));
    let path = dir.path().join("semel.yaml");
    fs::write(&path, settings.replace(installed, &here)).unwrap();
    let checked = Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(["check", "--config"])
        .arg(&path)
        .env_remove("SEMEL_STORE")
        .output()
        .unwrap();
    assert!(checked.status.success(), "{checked:?}");
}
