//! What a server is like, in sentences for people: its version, how durable its commits are, how many
//! connections it has to give.

use semel_core::{Error, Kind, Result, Timestamp};

use crate::config::Config;
use crate::connection::Link;
use crate::engine::Engine;
use crate::error::damaged;
use crate::schema;
use crate::store::PostgresStore;
use crate::value::Row;

const SERVER: &str = include_str!("sql/server.sql");

impl PostgresStore {
    /// How durable this server's records are, in sentences for people. A server that takes no writes is an error.
    pub async fn notes(&self) -> Result<Vec<String>> {
        let row = self.engine.ask_row("looking at the server", SERVER).await?;
        Server::of(&row)?.judge(self.config.connections)
    }

    /// Asks the server for its time; [`Store::now`](semel_core::Store::now) goes on from there.
    pub async fn ask_time(&self) -> Result<Timestamp> {
        let row = self
            .engine
            .ask_row("asking for the time", &self.engine.sql.now)
            .await?;
        let now = Timestamp::from_millis(row.number(0)?);
        self.engine.heard(now);
        Ok(now)
    }
}

impl Config {
    /// Whether the store's tables are there: connects, looks, and leaves everything as it is.
    pub async fn has_tables(&self) -> Result<bool> {
        let engine = Engine::new(self)?;
        let version = schema::version(&engine, &mut engine.links.get().await?).await;
        engine.links.close();
        let version = version.map_err(|failure| failure.into_error("looking for the tables"))?;
        Ok(version > 0)
    }
}

impl Engine {
    async fn ask_row(&self, doing: &str, sql: &str) -> Result<Row> {
        let rows = self.links.get().await?.ask_alone(sql, &[]).await;
        let rows = rows.map_err(|failure| failure.into_error(doing))?;
        rows.into_iter()
            .next()
            .ok_or_else(|| damaged("the server told nothing about itself"))
    }
}

/// Fails unless the server takes writes: a process that serves must not start on a replica.
pub(crate) async fn takes_writes(link: &mut Link) -> Result<()> {
    let rows = link.ask(SERVER, &[]).await;
    let rows = rows.map_err(|failure| failure.into_error("looking at the server"))?;
    let row = rows
        .first()
        .ok_or_else(|| damaged("the server told nothing about itself"))?;
    Server::of(row)?.takes_writes()
}

/// What a server says about itself; a setting that it does not know is empty.
struct Server<'a> {
    version: &'a str,
    fsync: &'a str,
    synchronous_commit: &'a str,
    full_page_writes: &'a str,
    standbys: &'a str,
    read_only: &'a str,
    in_recovery: bool,
    connections: i64,
}

impl<'a> Server<'a> {
    fn of(row: &'a Row) -> Result<Self> {
        let text = |at| Ok::<_, Error>(row.text(at)?.unwrap_or_default());
        Ok(Self {
            version: text(0)?,
            fsync: text(1)?,
            synchronous_commit: text(2)?,
            full_page_writes: text(3)?,
            standbys: text(4)?,
            read_only: text(5)?,
            in_recovery: row.number(6)? == 1,
            connections: row.number(7)?,
        })
    }

    fn judge(&self, connections: usize) -> Result<Vec<String>> {
        self.takes_writes()?;
        let mut notes = vec![format!("PostgreSQL {}", self.version)];
        notes.push(self.commits());
        if self.full_page_writes == "off" {
            notes.push(
                "full_page_writes is off: a power cut can damage the database, unless its disk writes pages whole"
                    .to_owned(),
            );
        }
        notes.push(self.connections(connections));
        Ok(notes)
    }

    fn takes_writes(&self) -> Result<()> {
        let why = match (self.in_recovery, self.read_only) {
            (true, _) => {
                "the server is a replica; name its primary, or add target_session_attrs=read-write"
            }
            (false, "on") => "its transactions are read-only (default_transaction_read_only)",
            (false, _) => return Ok(()),
        };
        let message = format!("postgres, a server that takes writes was expected: {why}");
        Err(Error::new(Kind::ReadOnly, message))
    }

    fn commits(&self) -> String {
        match (self.fsync, self.synchronous_commit) {
            ("off", _) => "fsync is off: a power cut can lose or damage everything, and what is lost can run again".to_owned(),
            (_, "off") => "synchronous_commit is off: a crash loses the last moments, and what was claimed in them \
                           can run again"
                .to_owned(),
            (_, mode) if self.standbys.is_empty() || mode == "local" => {
                "every claim is on the server's disk before it is granted; a failover to a replica can lose the last ones, \
                 and they can run again"
                    .to_owned()
            }
            (_, mode) => format!(
                "every claim is on the server's disk and with its standbys before it is granted (synchronous_commit {mode})"
            ),
        }
    }

    fn connections(&self, ours: usize) -> String {
        let given = self.connections;
        match i64::try_from(ours).is_ok_and(|ours| ours <= given) {
            true => format!("a process uses up to {ours} of the server's {given} connections"),
            false => format!(
                "a process may want {ours} connections, the server has {given}: some calls will find none"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Server<'_> = Server {
        version: "15.6",
        fsync: "on",
        synchronous_commit: "on",
        full_page_writes: "on",
        standbys: "",
        read_only: "off",
        in_recovery: false,
        connections: 97,
    };

    fn said(server: &Server<'_>) -> String {
        server.judge(8).unwrap().join("\n")
    }

    #[test]
    fn a_server_is_judged_by_its_settings() {
        let good = said(&GOOD);
        assert!(
            good.starts_with("PostgreSQL 15.6\nevery claim is on the server's disk"),
            "{good}"
        );
        assert!(
            good.ends_with("up to 8 of the server's 97 connections"),
            "{good}"
        );
        for (server, part) in [
            (
                Server {
                    fsync: "off",
                    ..GOOD
                },
                "fsync is off",
            ),
            (
                Server {
                    synchronous_commit: "off",
                    ..GOOD
                },
                "synchronous_commit is off",
            ),
            (
                Server {
                    full_page_writes: "off",
                    ..GOOD
                },
                "full_page_writes is off",
            ),
            (
                Server {
                    standbys: "a",
                    ..GOOD
                },
                "with its standbys",
            ),
            (
                Server {
                    connections: 3,
                    ..GOOD
                },
                "the server has 3",
            ),
        ] {
            assert!(said(&server).contains(part), "{}", said(&server));
        }
    }

    #[test]
    fn a_server_that_takes_no_writes_is_not_fit() {
        for (server, part) in [
            (
                Server {
                    in_recovery: true,
                    ..GOOD
                },
                "a replica",
            ),
            (
                Server {
                    read_only: "on",
                    ..GOOD
                },
                "default_transaction_read_only",
            ),
        ] {
            let error = server.judge(8).unwrap_err();
            assert_eq!(error.kind(), Kind::ReadOnly);
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
