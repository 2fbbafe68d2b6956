//! A place on a server that only one test uses, and the binary run on it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

static PLACES: AtomicU64 = AtomicU64::new(0);

/// The URL of a server that the environment names.
pub(crate) fn server(name: &str) -> String {
    let variable = format!("SEMEL_TEST_{name}_URL");
    std::env::var(&variable).unwrap_or_else(|_| {
        panic!(
            "{variable} is not set: run `cargo xtask test`, or `cargo xtask services up {}` and export what it prints",
            name.to_lowercase().replace('_', "-")
        )
    })
}

/// A store of its own on a shared server, and a directory to run in.
pub(crate) struct TestStore {
    pub(crate) url: String,
    dir: tempfile::TempDir,
    schema: Option<(String, String)>,
}

impl TestStore {
    /// A schema in PostgreSQL, gone with the test.
    pub(crate) fn postgres() -> Self {
        let (server, name) = (server("POSTGRES"), fresh("cli"));
        let mut place = Self::at(&with(&server, &format!("schema={name}")));
        place.schema = Some((server, name));
        place
    }

    /// A prefix in Redis; what is under it expires.
    pub(crate) fn redis() -> Self {
        Self::at(&with(&server("REDIS"), &format!("prefix={}", fresh("cli"))))
    }

    /// Claims in Redis, outcomes in a file.
    pub(crate) fn redis_and_file() -> Self {
        let mut place = Self::redis();
        place.url += "+sqlite:semel.db";
        place
    }

    /// Claims in Redis, outcomes in PostgreSQL.
    pub(crate) fn redis_and_postgres() -> Self {
        let mut place = Self::postgres();
        place.url = format!("{}+{}", Self::redis().url, place.url);
        place
    }

    /// A prefix in a Redis Cluster.
    pub(crate) fn redis_cluster() -> Self {
        let server = server("REDIS_CLUSTER");
        Self::at(&with(&server, &format!("prefix={}", fresh("cli"))))
    }

    /// Any store at all.
    pub(crate) fn at(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            dir: tempfile::tempdir().unwrap(),
            schema: None,
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The first password of the URL.
    pub(crate) fn password(&self) -> &str {
        self.passwords().next().unwrap()
    }

    /// The passwords of the URL, which must not be seen.
    fn passwords(&self) -> impl Iterator<Item = &str> {
        let credentials = self
            .url
            .split("://")
            .skip(1)
            .filter_map(|rest| rest.split_once('@'));
        credentials.filter_map(|(credentials, _)| Some(credentials.split_once(':')?.1))
    }

    /// Whether nothing in `text` must not be seen.
    pub(crate) fn is_discreet(&self, text: &str) -> bool {
        self.passwords().all(|password| !text.contains(password))
    }

    /// Runs `semel` on this store; its password is in none of what it says.
    pub(crate) fn semel(&self, words: &[&str]) -> Ran {
        // A verb that hangs is a failure, and says so before the whole run is given up.
        let output = Command::new("timeout")
            .args(["--kill-after=5", "180", env!("CARGO_BIN_EXE_semel")])
            .args(words)
            .current_dir(self.dir())
            .env_clear()
            .env("USER", "alice")
            .env("SEMEL_STORE", &self.url)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let ran = Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(
            self.is_discreet(&format!("{ran:?}")),
            "{words:?} tells a password"
        );
        ran
    }
}

/// What a run of the binary left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The data, once it is known that all went well.
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The same as JSON.
    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.done()).unwrap()
    }
}

/// A name that no other test has.
pub(crate) fn fresh(what: &str) -> String {
    let number = PLACES.fetch_add(1, Ordering::Relaxed);
    format!("{what}_{}_{number}", std::process::id())
}

/// The URL with one more parameter.
pub(crate) fn with(url: &str, parameter: &str) -> String {
    let joint = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joint}{parameter}")
}

impl Drop for TestStore {
    fn drop(&mut self) {
        let Some((server, schema)) = self.schema.take() else {
            return;
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            // A failed clean-up must not hide why a test failed.
            if let Ok((client, connection)) =
                tokio_postgres::connect(&server, tokio_postgres::NoTls).await
            {
                tokio::spawn(connection);
                let drop = format!("DROP SCHEMA IF EXISTS {schema} CASCADE");
                let _ = client.batch_execute(&drop).await;
            }
        });
    }
}
