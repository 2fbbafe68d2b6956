//! A primary and its replica, behind an address that leads to one of them.

use std::net::SocketAddr;

use semel_testkit::proxy::Proxy;
use semel_testkit::server::Server;

use crate::common::nodes;
use crate::{info, tell, until};

pub(crate) struct Pair {
    pub(crate) primary: Server,
    pub(crate) replica: Server,
    pub(crate) proxy: Proxy,
}

/// The parts of `redis://:password@host:port/0`.
pub(crate) fn parts(url: &str) -> (String, SocketAddr) {
    let (password, host) = url
        .strip_prefix("redis://:")
        .unwrap()
        .split_once('@')
        .unwrap();
    let (host, _) = host.split_once('/').unwrap();
    (password.to_owned(), host.parse().unwrap())
}

impl Pair {
    /// Both servers, the replica up to date; they share the primary's password.
    pub(crate) async fn start() -> Self {
        let (primary, replica) = (Server::start("redis", &[]), Server::start("redis", &[]));
        let (password, addr) = parts(&primary.url());
        let mut node = nodes(&replica.url()).remove(0);
        for setting in ["masterauth", "requirepass"] {
            tell(&mut node, &["CONFIG", "SET", setting, &password]);
        }
        let pair = Self {
            proxy: Proxy::start(addr).await,
            primary,
            replica,
        };
        follow(&mut node, addr);
        pair.replicated().await;
        pair
    }

    /// The store's URL.
    pub(crate) fn url(&self) -> String {
        self.at(self.proxy.addr())
    }

    fn at(&self, addr: SocketAddr) -> String {
        format!("redis://:{}@{addr}/0", parts(&self.primary.url()).0)
    }

    pub(crate) fn primary_node(&self) -> redis::Connection {
        nodes(&self.primary.url()).remove(0)
    }

    pub(crate) fn replica_node(&self) -> redis::Connection {
        let (_, addr) = parts(&self.replica.url());
        nodes(&self.at(addr)).remove(0)
    }

    /// Waits until the replica has all that the primary has.
    pub(crate) async fn replicated(&self) {
        let (mut primary, mut replica) = (self.primary_node(), self.replica_node());
        until(async || {
            info(&mut replica, "master_link_status") == "up"
                && info(&mut primary, "master_repl_offset")
                    == info(&mut replica, "slave_repl_offset")
        })
        .await;
    }

    /// The replica is a primary from here on, and the address leads to it.
    pub(crate) fn promote(&self) {
        tell(&mut self.replica_node(), &["REPLICAOF", "NO", "ONE"]);
        self.proxy.lead_to(parts(&self.replica.url()).1);
    }

    /// The old primary, which must be up, follows the new one.
    pub(crate) fn demote(&self) {
        follow(&mut self.primary_node(), parts(&self.replica.url()).1);
    }
}

fn follow(node: &mut redis::Connection, primary: SocketAddr) {
    let (host, port) = (primary.ip().to_string(), primary.port().to_string());
    tell(node, &["REPLICAOF", &host, &port]);
}
