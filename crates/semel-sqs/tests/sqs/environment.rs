//! Credentials, region and endpoint as the AWS SDK finds them. Each test runs its reader in a process that has an environment of its own.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::path::Path;
use std::process::Command;

use semel_inbox::Source;
use semel_sqs::SqsSource;

use crate::service::Service;

/// Set for the process that reads.
const CHILD: &str = "SEMEL_TEST_SQS_CHILD";

/// Runs this test in a process with these variables and no others of AWS; what the service was asked there.
async fn asked(service: &Service, test: &str, variables: Vec<(&'static str, String)>) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        child.env_remove(name);
    }
    // The machine may be one of Amazon's, and a person may have files.
    child.env("AWS_EC2_METADATA_DISABLED", "true");
    child
        .env("HOME", "/nowhere")
        .envs(variables)
        .env(CHILD, "1");
    child.args([test, "--exact", "--nocapture"]);
    let ran = tokio::task::spawn_blocking(move || child.output().unwrap());
    let ran = ran.await.unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    service.asked().concat()
}

/// What the process does: an address that says nothing but the queue.
async fn read() {
    let source = SqsSource::from_url("sqs:///orders", "billing").unwrap();
    source.facts().await.unwrap();
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_of_the_environment_are_found() {
    if is_child() {
        return read().await;
    }
    let service = Service::new(&[]).await;
    let variables = vec![
        ("AWS_ENDPOINT_URL_SQS", service.endpoint.clone()),
        ("AWS_REGION", "eu-north-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "AKENVIRONMENT".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
    ];
    let test = "environment::variables_of_the_environment_are_found";
    let asked = asked(&service, test, variables).await;
    assert!(asked.contains("Credential=AKENVIRONMENT/"), "{asked}");
    assert!(asked.contains("/eu-north-1/sqs/"), "{asked}");
}

fn write(path: &Path, text: &str) -> String {
    std::fs::write(path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_is_found() {
    if is_child() {
        return read().await;
    }
    let service = Service::new(&[]).await;
    let dir = tempfile::tempdir().unwrap();
    let config = format!(
        "[profile shop]\nregion = eu-south-1\nservices = here\n[services here]\nsqs =\n  endpoint_url = {}\n",
        service.endpoint
    );
    let secrets = "[shop]\naws_access_key_id = AKPROFILE\naws_secret_access_key = secret\n";
    let variables = vec![
        (
            "AWS_CONFIG_FILE",
            write(&dir.path().join("config"), &config),
        ),
        (
            "AWS_SHARED_CREDENTIALS_FILE",
            write(&dir.path().join("secrets"), secrets),
        ),
        ("AWS_PROFILE", "shop".to_owned()),
    ];
    let asked = asked(&service, "environment::a_profile_is_found", variables).await;
    assert!(asked.contains("Credential=AKPROFILE/"), "{asked}");
    assert!(asked.contains("/eu-south-1/sqs/"), "{asked}");
}
