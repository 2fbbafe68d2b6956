//! What is looked at before a server is trusted with records: which version it is, whether it is a primary,
//! whether it may evict keys, and whether it keeps them on disk.
//!
//! Servers that forbid CONFIG, as managed ones do, are judged by INFO, and the notes say what could not be seen.

use std::collections::HashMap;

use redis::{Cmd, Value};
use semel_core::outcome::{BODY_BYTES_MAX, HEADER_BYTES_MAX};
use semel_core::{Error, Kind, Result, Timestamp};

use crate::config::Config;
use crate::connection::Link;
use crate::error::{damaged, from_redis};
use crate::keys::Keys;

/// The format of what is under a prefix. Builds that know only the one before cannot read what was asked.
const FORMAT: u8 = b'2';
/// All of it can be read as it is.
const FORMAT_BEFORE: u8 = b'1';

/// The oldest version whose commands the scripts use.
const VERSION_MIN: (u32, u32) = (6, 2);

/// The most bytes of a record beside its body: headers with their lengths, identity and head.
const BESIDE_BODY: usize = HEADER_BYTES_MAX + 16 * 1024;

/// What was found.
#[derive(Debug)]
pub(crate) struct Findings {
    /// Sentences for people.
    pub(crate) notes: Vec<String>,
    /// The server's time.
    pub(crate) now: Timestamp,
    /// The largest body that the servers take.
    pub(crate) body_bytes_max: usize,
}

/// Refuses servers that would lose records; tells what is worth knowing about the others.
pub(crate) async fn check(link: &Link, keys: &Keys, config: &Config) -> Result<Findings> {
    let failed = |e| from_redis("looking at the server", e);
    let infos = link.ask_primaries(info()).await.map_err(failed)?;
    let mut notes = Vec::new();
    // A user may well be allowed everything but CONFIG; what it does not tell is said in the notes.
    let settings = link.ask_primaries(settings()).await.unwrap_or_default();
    let count = infos.len();
    let mut body_bytes_max = BODY_BYTES_MAX;
    for (node, info) in infos.into_iter().enumerate() {
        let node = Node {
            info: info_map(&text_of(info)?),
            settings: settings.get(node).map(settings_map),
        };
        body_bytes_max = body_bytes_max.min(node.body_bytes_max());
        let found = node.judge(config)?;
        for note in found {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    if link.is_cluster() {
        notes.insert(0, format!("a cluster with {count} primaries"));
    }
    check_format(link, keys).await?;
    let now = link.ask(redis::cmd("TIME")).await.map_err(failed)?;
    let (seconds, micros): (i64, i64) =
        redis::from_redis_value(now).map_err(|_| damaged("TIME was not told"))?;
    let now = Timestamp::from_millis(seconds * 1_000 + micros / 1_000);
    Ok(Findings {
        notes,
        now,
        body_bytes_max,
    })
}

fn info() -> Cmd {
    redis::cmd("INFO")
}

fn settings() -> Cmd {
    redis::cmd("CONFIG").arg("GET").arg("*").take()
}

/// Writes down the format of what is under the prefix, or refuses one that is newer.
async fn check_format(link: &Link, keys: &Keys) -> Result<()> {
    let failed = |e| from_redis("looking at the format of the store", e);
    let key = keys.format();
    let read = redis::cmd("GET").arg(&key).take();
    let write = redis::cmd("SET")
        .arg(&key)
        .arg([FORMAT].as_slice())
        .arg("NX")
        .take();
    // Read first: a server that takes no writes at the moment can still replay.
    let mut found = link.ask_when_loaded(read.clone()).await.map_err(failed)?;
    if found == Value::Nil {
        link.ask(write).await.map_err(failed)?;
        found = link.ask(read).await.map_err(failed)?;
    }
    if found == Value::BulkString(vec![FORMAT_BEFORE]) {
        let write = redis::cmd("SET").arg(&key).arg([FORMAT].as_slice()).take();
        // A server that takes no writes at the moment keeps the old number until the next start.
        let _ = link.ask(write).await;
        return Ok(());
    }
    if found == Value::BulkString(vec![FORMAT]) {
        return Ok(());
    }
    let found = text_of(found)?;
    Err(Error::new(
        Kind::NewerVersion,
        format!(
            "redis, records have format {}, found {found:?} in {key}",
            char::from(FORMAT)
        ),
    ))
}

/// One server as it describes itself.
struct Node {
    info: HashMap<String, String>,
    /// None where CONFIG is forbidden.
    settings: Option<HashMap<String, String>>,
}

impl Node {
    fn judge(&self, config: &Config) -> Result<Vec<String>> {
        self.is_known(config.address.cluster)?;
        if self.info("role").is_some_and(|role| role != "master") {
            let message = "redis, a primary was expected, found a replica (name its primary)";
            return Err(Error::new(Kind::ReadOnly, message));
        }
        let version = self.info("redis_version").unwrap_or_default();
        let mut notes = vec![format!("Redis {version}")];
        self.eviction(config, &mut notes)?;
        self.persistence(config, &mut notes)?;
        self.replication(config, &mut notes);
        Ok(notes)
    }

    fn info(&self, name: &str) -> Option<&str> {
        self.info.get(name).map(String::as_str)
    }

    fn setting(&self, name: &str) -> Option<&str> {
        self.settings.as_ref()?.get(name).map(String::as_str)
    }

    /// A record is sent as one argument, and the server says how long one may be.
    fn body_bytes_max(&self) -> usize {
        let limits = ["proto-max-bulk-len", "client-query-buffer-limit"];
        let limits = limits
            .iter()
            .filter_map(|name| self.setting(name)?.parse().ok());
        let argument: usize = limits.min().unwrap_or(usize::MAX);
        argument.saturating_sub(BESIDE_BODY).min(BODY_BYTES_MAX)
    }

    fn is_known(&self, cluster: bool) -> Result<()> {
        let version = self.info("redis_version").unwrap_or_default();
        let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
        let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if found < VERSION_MIN {
            let (major, minor) = VERSION_MIN;
            return Err(Error::invalid(format!(
                "redis, version {major}.{minor} or later was expected, found {version:?}"
            )));
        }
        if !cluster && self.info("cluster_enabled") == Some("1") {
            return Err(Error::invalid(
                "redis, the server is a node of a cluster: write redis-cluster:// in its URL",
            ));
        }
        Ok(())
    }

    /// Settled records expire by themselves, so even a policy that evicts only what expires evicts records.
    fn eviction(&self, config: &Config, notes: &mut Vec<String>) -> Result<()> {
        let policy = self
            .setting("maxmemory-policy")
            .or(self.info("maxmemory_policy"));
        let memory = self.setting("maxmemory").or(self.info("maxmemory"));
        let bounded = memory != Some("0");
        match policy {
            Some("noeviction") => notes.push(
                "no key is evicted: when its memory is full, the server refuses claims".to_owned(),
            ),
            None => notes.push("whether keys may be evicted could not be seen".to_owned()),
            Some(policy) if !bounded => notes.push(format!(
                "maxmemory-policy is {policy}, without effect as long as maxmemory is 0"
            )),
            Some(policy) if config.accepts_eviction => notes.push(format!(
                "keys may be evicted (maxmemory-policy {policy}), as was accepted: what their records stood for can run again"
            )),
            Some(policy) => {
                return Err(Error::invalid(format!(
                    "redis, maxmemory-policy noeviction was expected, found {policy}: an evicted record would let \
                     its operation run again (set noeviction, or accept it by accept=eviction in the URL)"
                )));
            }
        }
        Ok(())
    }

    fn persistence(&self, config: &Config, notes: &mut Vec<String>) -> Result<()> {
        let aof = self.setting("appendonly").map(|on| on == "yes");
        let aof = aof.or(self.info("aof_enabled").map(|on| on == "1"));
        let save = self.setting("save");
        match (aof, self.setting("appendfsync"), save) {
            (Some(true), Some("always"), _) => {
                notes.push("every claim is on disk before it is granted (appendfsync always)".to_owned());
            }
            (Some(true), Some(fsync), _) => notes.push(format!(
                "claims are on disk within moments (appendfsync {fsync}): a power cut can lose the last second, \
                 and what was claimed in it can run again; appendfsync always loses nothing on one machine"
            )),
            (Some(true), None, _) => notes.push(
                "an append-only file is kept; how often it is synced could not be seen".to_owned(),
            ),
            (_, _, Some(points)) if !points.is_empty() => notes.push(format!(
                "snapshots only (save {points}): a crash of the server loses what came after the last one, and it \
                 can run again; set appendonly yes"
            )),
            (Some(false), _, Some(_)) if config.accepts_no_persistence => notes.push(
                "nothing is kept on disk, as was accepted: a restart of the server forgets everything".to_owned(),
            ),
            (Some(false), _, Some(_)) => {
                return Err(Error::invalid(
                    "redis, a server that keeps its data on disk was expected, found neither an append-only file nor \
                     save points: a restart would let everything run again (set appendonly yes, or accept it by \
                     accept=no-persistence in the URL)",
                ));
            }
            (_, _, _) => notes.push("whether data is kept on disk could not be seen".to_owned()),
        }
        Ok(())
    }

    fn replication(&self, config: &Config, notes: &mut Vec<String>) {
        let replicas: u32 = self
            .info("connected_slaves")
            .and_then(|n| n.parse().ok())
            .unwrap_or(0);
        let wanted = config.wait_replicas;
        notes.push(match (replicas, wanted) {
            (0, 0) => "no replica".to_owned(),
            (found, 0) => format!(
                "{found} replicas, not waited for: a failover can lose the last claims, and they can run again \
                 (wait_replicas=1 in the URL makes that rare)"
            ),
            (found, wanted) if found < wanted => format!(
                "{found} replicas, although every claim waits for {wanted}: claims are refused until there are more"
            ),
            (found, wanted) => format!("{found} replicas, of which {wanted} have a claim before it is granted"),
        });
    }
}

fn text_of(value: Value) -> Result<String> {
    redis::from_redis_value(value).map_err(|_| damaged("text was expected"))
}

fn info_map(text: &str) -> HashMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}

fn settings_map(value: &Value) -> HashMap<String, String> {
    redis::from_redis_value(value.clone()).unwrap_or_default()
}
