//! A store with a record of every kind, and the real binary run on it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use semel_core::record::{Claim, UnknownCause};
use semel_core::store::{ClaimAnswer, ClaimRequest, MarkRequest, SettleRequest, Takeover};
use semel_core::{
    About, Clock, Evidence, Fingerprint, Headers, Identity, LeaseTerm, ManualClock, Outcome,
    Retention, StoreExt, SystemClock, Timestamp,
};
use semel_sqlite::{Config, SqliteStore};

const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Everything happened this much earlier than a full hour ago, so that ages do not change their
/// text while a test runs.
const SLACK: Duration = Duration::from_secs(20);

/// A directory that holds `semel.db`; the binary runs in it.
pub(crate) struct Fixture {
    dir: tempfile::TempDir,
}

impl Fixture {
    /// No store at all.
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir }
    }

    /// A store with records in every state.
    pub(crate) fn filled() -> Self {
        let fixture = Self::empty();
        block_on(Filler::open(&fixture.path()).fill());
        fixture.served_until_now();
        fixture
    }

    /// A store that a test fills.
    pub(crate) fn filled_by(fill: impl AsyncFnOnce(&Filler)) -> Self {
        let fixture = Self::empty();
        block_on(fill(&Filler::open(&fixture.path())));
        fixture.served_until_now();
        fixture
    }

    /// Writes the time down, as a process that serves does every minute: otherwise the binary would find a clock that has jumped.
    pub(crate) fn served_until_now(&self) {
        let sql = "INSERT INTO semel_meta (name, value) VALUES ('clock_ms', ?1) \
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        let now = SystemClock::new().now().as_millis();
        self.connection().execute(sql, [now]).unwrap();
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("semel.db")
    }

    /// Everything that the store holds, for comparison.
    pub(crate) fn contents(&self) -> String {
        const TABLES: [&str; 7] = [
            "meta", "keys", "claims", "leases", "outcomes", "history", "archive",
        ];
        let connection = self.connection();
        let mut contents = String::new();
        for table in TABLES {
            let mut statement = connection
                .prepare(&format!("SELECT * FROM semel_{table}"))
                .unwrap();
            let columns = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let values =
                    (0..columns).map(|column| format!("{:?}", row.get_ref(column).unwrap()));
                contents += &format!("{table} {}\n", values.collect::<Vec<_>>().join(" "));
            }
        }
        contents
    }

    /// A direct connection, for what no store would do.
    pub(crate) fn connection(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }

    /// Runs `semel` with words that are separated by spaces.
    pub(crate) fn semel(&self, line: &str) -> Ran {
        self.run(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs `semel` with these words.
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().unwrap())
    }

    /// The command, not yet run; nothing of the tester's environment reaches it.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_semel"));
        command.args(words).current_dir(self.dir.path());
        command
            .env_clear()
            .env("USER", "alice")
            .stdin(Stdio::null());
        command
    }
}

/// What a run of the binary left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    /// Without the line about the store.
    pub(crate) stderr: String,
    /// What was said about which store is used and why; `discovering` looks at it, other tests have one store only.
    pub(crate) using: Option<String>,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).unwrap();
        let is_using = |line: &&str| line.starts_with("using ");
        let using = stderr.lines().find(is_using).map(ToOwned::to_owned);
        let others = stderr.split_inclusive('\n').filter(|line| !is_using(line));
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: others.collect(),
            using,
        }
    }

    /// All of it for a snapshot, with what differs from run to run replaced.
    pub(crate) fn shown(&self) -> String {
        let mut text = String::new();
        if !self.stdout.is_empty() {
            text += &format!("{}\n", stable(&self.stdout));
        }
        if !self.stderr.is_empty() {
            text += &format!("stderr:\n{}\n", stable(&self.stderr));
        }
        text + &format!("exit: {}", self.code)
    }

    /// The data as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }
}

/// Replaces what differs from run to run and from version to version.
fn stable(text: &str) -> String {
    let text = text.replace(rusqlite::version(), "<version>");
    let text = replaced(&text, "0000-00-00T00:00:00.000Z", "<time>");
    let text = replaced(&text, "000.0 KiB", "<size>");
    replaced(&text, "00.0 KiB", "<size>")
}

/// Replaces every text of this shape, in which 0 stands for a digit.
fn replaced(text: &str, shape: &str, by: &str) -> String {
    let same = |(c, shape): (char, char)| {
        if shape == '0' {
            c.is_ascii_digit()
        } else {
            c == shape
        }
    };
    let fits = |at: usize| {
        let found = text.get(at..at + shape.len())?;
        found.chars().zip(shape.chars()).all(same).then_some(found)
    };
    let found = (0..text.len()).filter_map(fits);
    found.fold(text.to_owned(), |text, found| text.replace(found, by))
}

/// Runs a future on a small runtime of its own.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

/// Fills a store in the past, by a clock that it moves itself.
pub(crate) struct Filler {
    pub(crate) store: SqliteStore,
    clock: Arc<ManualClock>,
    now: Timestamp,
}

impl Filler {
    pub(crate) fn open(path: &Path) -> Self {
        let now = SystemClock::new().now();
        // Time never goes back, so it begins before everything that is filled in.
        let clock = Arc::new(ManualClock::at(now.before(DAY * 4)));
        let config = Config::new(path).clock(clock.clone()).sweep_every(None);
        let store = config.open().unwrap();
        Self { store, clock, now }
    }

    /// Moves the clock to a time before now.
    pub(crate) fn ago(&self, ago: Duration) {
        let ms = i64::try_from((ago + SLACK).as_millis()).unwrap();
        let at = Timestamp::from_millis(self.now.as_millis() - ms);
        self.clock.set(at);
    }

    pub(crate) async fn claim(
        &self,
        scope: &str,
        tenant: &str,
        key: &str,
        lease: Duration,
    ) -> Claim {
        let request = ClaimRequest {
            identity: Identity::parse(tenant, scope, key).unwrap(),
            fingerprint: Fingerprint::of_bytes(key.as_bytes()),
            lease: LeaseTerm::new(lease).unwrap(),
            takeover: Takeover::Allowed,
            about: None,
            nonce: None,
        };
        match self.store.claim_one(request).await.unwrap() {
            ClaimAnswer::Granted(lease) => lease.claim,
            other => panic!("expected a grant, found {other:?}"),
        }
    }

    /// An unknown record of a request, and what its owner could say.
    pub(crate) async fn unknown(
        &self,
        identity: &str,
        about: &str,
        evidence: Option<Evidence>,
    ) -> Claim {
        let [tenant, scope, key] = identity.split('/').collect::<Vec<_>>()[..] else {
            panic!("{identity} is not tenant/scope/key");
        };
        let identity = Identity::parse(tenant, scope, key).unwrap();
        let request = ClaimRequest {
            about: About::new(about),
            ..ClaimRequest::new(identity, Fingerprint::none())
        };
        let ClaimAnswer::Granted(lease) = self.store.claim_one(request).await.unwrap() else {
            panic!("a first claim is granted");
        };
        let mark = MarkRequest {
            claim: lease.claim.clone(),
            cause: UnknownCause::RunUndecided,
            evidence,
        };
        self.store.mark_one(mark).await.unwrap();
        lease.claim
    }

    pub(crate) async fn settle(&self, claim: Claim, outcome: Outcome, retention: Retention) {
        let request = SettleRequest {
            claim,
            outcome,
            took: Duration::from_millis(120),
            retention,
        };
        self.store.settle_one(request).await.unwrap();
    }

    async fn fill(&self) {
        let keep = |days| Retention::delete_after(DAY * days).unwrap();
        let archive = Retention::archive_after(DAY).unwrap();
        let claim = |tenant, key| self.claim("payments@1", tenant, key, MINUTE);

        self.ago(DAY * 3);
        self.settle(
            claim("public", "expired-1").await,
            Outcome::succeeded("old"),
            keep(1),
        )
        .await;
        self.settle(
            claim("public", "archived-1").await,
            Outcome::succeeded("old"),
            archive,
        )
        .await;
        let refund = self.claim("refunds@2", "acme", "refund-7", MINUTE).await;
        self.settle(refund, created(), keep(30)).await;
        let mut declined = Outcome::failed("card declined: 4000-0000");
        declined.status = 402;
        self.settle(claim("public", "order-1").await, declined, keep(30))
            .await;

        self.ago(DAY * 2);
        let late = claim("acme", "order-2").await;
        self.ago(DAY * 2 - HOUR);
        self.settle(late, created(), keep(1)).await;

        self.ago(HOUR * 5);
        let undecided = MarkRequest {
            claim: claim("public", "order-3").await,
            cause: UnknownCause::RunUndecided,
            evidence: None,
        };
        self.store.mark_one(undecided).await.unwrap();
        claim("public", "order-4").await;

        self.ago(HOUR * 2);
        self.claim("payments@1", "public", "order 5", HOUR * 14 + MINUTE)
            .await;
    }
}

/// An outcome with everything that must stay private.
pub(crate) fn created() -> Outcome {
    let fields = [
        ("Content-Type", "application/json"),
        ("Set-Cookie", "session=SECRET"),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.into()));
    let mut outcome = Outcome::succeeded(r#"{"id":42,"iban":"SECRET"}"#);
    outcome.status = 201;
    outcome.headers = Headers::new(fields.to_vec()).unwrap();
    outcome
}
