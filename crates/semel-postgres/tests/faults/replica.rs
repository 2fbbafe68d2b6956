//! A replica takes no writes until it is made the primary, and is followed then.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use semel_core::store::{ClaimAnswer, SettleAnswer};
use semel_core::{Kind, OnUnknown, Once, StoreExt};
use semel_testkit::server::Server;
use semel_testkit::storm::{Progress, Storm};
use tokio::task::block_in_place;

use super::storms::patient;
use crate::support::Schema;
use crate::support::verbs::{address, granted, identity, request, settle, until};

/// A hot standby of a private server; it and its data are gone when dropped.
struct Standby {
    dir: PathBuf,
    port: u16,
    owner: (u32, u32),
}

impl Standby {
    fn of(primary: &Server) -> Self {
        let data = primary.home().join("data");
        let owner = std::fs::metadata(data).expect("the server's data is there");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let standby = Self {
            dir: std::env::temp_dir().join(format!(
                "semel-standby-{:016x}",
                semel_testkit::random::fresh_seed()
            )),
            port: listener.local_addr().expect("an address").port(),
            owner: (owner.uid(), owner.gid()),
        };
        drop(listener);
        let url = primary.url();
        let (from, _) = url.rsplit_once('/').expect("a URL with a database");
        let mut backup = standby.command("pg_basebackup");
        backup.args([
            "--checkpoint=fast",
            "--write-recovery-conf",
            "--no-sync",
            "--dbname",
        ]);
        run(backup.arg(format!("{from}/replication")));
        standby.control(&[
            "start",
            "--wait",
            "--log",
            &standby.dir.join("log").to_string_lossy(),
            "-o",
            &format!("-p {}", standby.port),
        ]);
        standby
    }

    /// A program of the server on the data, under the account that owns them.
    fn command(&self, program: &str) -> Command {
        let bin = std::env::var("SEMEL_TEST_POSTGRES_BIN").expect(
            "SEMEL_TEST_POSTGRES_BIN is not set: run `cargo xtask test`, or \
             `cargo xtask services up postgres-bin` and export what it prints",
        );
        let mut command = Command::new(PathBuf::from(bin).join(program));
        command.arg("--pgdata").arg(&self.dir);
        command
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let own = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == self.owner.0);
        if !own {
            command.uid(self.owner.0).gid(self.owner.1);
        }
        command
    }

    fn control(&self, args: &[&str]) {
        run(self.command("pg_ctl").args(args));
    }

    /// Makes it the primary.
    fn promote(&self) {
        self.control(&["promote", "--wait"]);
    }
}

fn run(command: &mut Command) {
    let status = command.status().expect("the server's programs run");
    assert!(
        status.success(),
        "expected {:?} to succeed, found {status}",
        command.get_program()
    );
}

impl Drop for Standby {
    fn drop(&mut self) {
        let _ = self
            .command("pg_ctl")
            .args(["stop", "--mode=immediate", "--wait"])
            .status();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// The URL of `url`'s database on another port, or on both.
fn at_ports(url: &str, hosts: &str) -> String {
    let (user, rest) = url.split_once('@').expect("a URL with a user");
    let (_, database) = rest.split_once('/').expect("a URL with a database");
    format!("{user}@{hosts}/{database}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_is_read_and_takes_claims_when_it_is_promoted() {
    let primary = Server::start("postgres", &[]);
    let schema = Schema::at(primary.url());
    let store = schema.open().await;
    let lease = granted(&store, "k").await;
    let done = granted(&store, "done").await;
    let settled = store.settle_one(settle(&done.claim, "done")).await;
    assert_eq!(settled.unwrap(), SettleAnswer::Settled);
    let standby = block_in_place(|| Standby::of(&primary));
    let url = at_ports(&primary.url(), &format!("127.0.0.1:{}", standby.port));
    let config = schema
        .config_at(&url)
        .must_exist()
        .timeout(Duration::from_secs(1));
    let replica = config.connect().await.unwrap();
    until("the replica knows the record", async || {
        replica.look_up_one(identity("k")).await.unwrap().is_some()
    })
    .await;
    for error in [
        replica.claim_one(request("new")).await.unwrap_err(),
        replica
            .settle_one(settle(&lease.claim, "done"))
            .await
            .unwrap_err(),
        replica.notes().await.unwrap_err(),
        schema.config_at(&url).connect().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), Kind::ReadOnly, "{error}");
    }
    let replay = replica.claim_one(request("done")).await.unwrap();
    assert!(matches!(replay, ClaimAnswer::Settled(_)), "{replay:?}");
    primary.kill();
    block_in_place(|| standby.promote());
    let next = granted(&replica, "new").await;
    assert!(
        next.claim.fence > lease.claim.fence,
        "fences grow over a failover"
    );
    let answer = replica.claim_one(request("k")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Running { .. }), "{answer:?}");
    let settled = replica.settle_one(settle(&lease.claim, "done")).await;
    assert_eq!(settled.unwrap(), SettleAnswer::Settled);
}

/// With synchronous replication, so that nothing that was granted is lost with the primary.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_in_a_storm_is_followed() {
    let primary = Server::start("postgres", &[]);
    let schema = Schema::at(primary.url());
    drop(schema.open().await);
    let standby = block_in_place(|| Standby::of(&primary));
    synchronous(&schema).await;
    let hosts = format!("{},127.0.0.1:{}", address(&primary.url()), standby.port);
    let url = format!(
        "{}?target_session_attrs=read-write",
        at_ports(&primary.url(), &hosts)
    );
    let mut nodes = Vec::new();
    for _ in 0..3 {
        let store = schema
            .config_at(&url)
            .timeout(Duration::from_secs(1))
            .connect()
            .await
            .unwrap();
        nodes.push(Once::new(store).with_policy(patient(OnUnknown::Hold)));
    }
    let strike = async |progress: Progress| {
        progress.effects(15).await;
        block_in_place(|| primary.kill());
        progress.refused(5).await;
        // The new primary has nobody to wait for.
        block_in_place(|| standby.promote());
    };
    let tally = Storm::new(60, 3).rage(nodes, strike).await;
    tally.assert_once();
    assert_eq!(tally.told_done + tally.unknown, 60, "{tally:#?}");
}

/// Commits wait for the standby from here on. Its own configuration does not change.
async fn synchronous(schema: &Schema) {
    let client = schema.client().await;
    client
        .batch_execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        .await
        .unwrap();
    client
        .batch_execute("SELECT pg_reload_conf()")
        .await
        .unwrap();
    until("the standby is waited for", async || {
        let ask = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        client.query_one(ask, &[]).await.unwrap().get::<_, i64>(0) == 1
    })
    .await;
}
