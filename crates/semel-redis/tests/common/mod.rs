//! What the tests share: where the servers are, and a prefix of its own for each test.

#![allow(dead_code, reason = "not every test uses all of it")]
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use semel_core::Store;
use semel_redis::Config;
use semel_testkit::conformance::{Ability, Handle, Subject};
use semel_testkit::crash::Opening;

pub(crate) const SINGLE: &str = "SEMEL_TEST_REDIS_URL";
pub(crate) const CLUSTER: &str = "SEMEL_TEST_REDIS_CLUSTER_URL";

static PREFIXES: AtomicU64 = AtomicU64::new(0);

/// The URL in an environment variable that `cargo xtask test` sets.
pub(crate) fn url(variable: &str) -> String {
    let name = if variable == CLUSTER {
        "redis-cluster"
    } else {
        "redis"
    };
    std::env::var(variable).unwrap_or_else(|_| {
        panic!(
            "{variable} is not set: run `cargo xtask test`, or `cargo xtask services up {name}` and export what it prints"
        )
    })
}

/// A prefix that no other test uses; its keys are deleted when it is dropped.
pub(crate) struct Prefix {
    pub(crate) name: String,
    url: String,
}

impl Prefix {
    pub(crate) fn new(url: &str) -> Self {
        let number = PREFIXES.fetch_add(1, Ordering::Relaxed);
        Self {
            name: format!("test-{}-{number}", std::process::id()),
            url: url.to_owned(),
        }
    }

    pub(crate) fn config(&self) -> Config {
        Config::from_url(&self.url).unwrap().prefix(&self.name)
    }
}

impl Drop for Prefix {
    fn drop(&mut self) {
        for mut node in nodes(&self.url) {
            let pattern = format!("{{{}:*", self.name);
            let mut cursor = "0".to_owned();
            loop {
                let mut scan = redis::cmd("SCAN");
                scan.arg(&cursor)
                    .arg("MATCH")
                    .arg(&pattern)
                    .arg("COUNT")
                    .arg(1000);
                let Ok((next, keys)) = scan.query::<(String, Vec<Vec<u8>>)>(&mut node) else {
                    break;
                };
                for key in keys {
                    // A replica refuses, and follows its primary.
                    let _ = redis::cmd("DEL").arg(key).query::<()>(&mut node);
                }
                cursor = next;
                if cursor == "0" {
                    break;
                }
            }
        }
    }
}

/// A plain connection to each server of a URL.
pub(crate) fn nodes(url: &str) -> Vec<redis::Connection> {
    let (_, rest) = url.split_once("://").unwrap();
    let rest = rest.split('?').next().unwrap();
    let (credentials, hosts) = rest.rsplit_once('@').map_or(("", rest), |(c, h)| (c, h));
    let at = if credentials.is_empty() { "" } else { "@" };
    let (hosts, db) = hosts.split_once('/').unwrap_or((hosts, "0"));
    let connect = |host: &str| {
        let url = format!("redis://{credentials}{at}{host}/{db}");
        redis::Client::open(url).ok()?.get_connection().ok()
    };
    hosts.split(',').filter_map(connect).collect()
}

/// What the suites hold the store at the server of `variable` to. Its scripts are single steps of one thread, so no
/// test can hold up a writer.
pub(crate) async fn subject(variable: &str) -> Subject {
    let prefix = Arc::new(Prefix::new(&url(variable)));
    let config = prefix.config().sweep_every(None);
    let open = move || {
        let connecting = config.clone().connect();
        async move { Handle::of(connecting.await.unwrap()) }
    };
    let declined = [Ability::Clock, Ability::Outcomes, Ability::Stalls];
    let subject = Subject::opened(open).await.declining(&declined);
    subject.keeping(prefix)
}

/// The store of a crash test: its prefix is the name of the test's directory.
pub(crate) fn open(variable: &str, dir: PathBuf) -> Opening {
    let url = url(variable);
    Box::pin(async move {
        let name = dir.file_name().unwrap().to_string_lossy();
        let store = Config::from_url(&url)?.prefix(name).connect().await?;
        Ok(Arc::new(store) as Arc<dyn Store>)
    })
}
