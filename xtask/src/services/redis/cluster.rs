//! The service `redis-cluster`: three masters with one replica each.
//!
//! The address lists every node, in the order of their directories `node-1` to `node-6`;
//! the processes are told in the same order. At first the masters are the first three.

use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};

use super::super::account::Account;
use super::super::endpoint::{Endpoint, password, user};
use super::super::service::{Service, Status};
use super::super::setting::Setting;
use super::super::slot::Place;
use super::super::{home, port, process, program, secret, wait};
use super::node::{self, Node};
use super::wire::{self, Login};

const NODES: usize = 6;
const SCHEME: &str = "redis-cluster";

/// The flags of a node that nobody doubts.
const SOUND: [&str; 3] = ["myself", "master", "slave"];

/// The nodes have to meet, to agree, and after a restart to give up on each other first.
const AGREE_WAIT: Duration = Duration::from_secs(60);

/// The service `redis-cluster`.
pub(in super::super) struct RedisCluster;

impl Service for RedisCluster {
    fn name(&self) -> &'static str {
        "redis-cluster"
    }

    fn variable(&self) -> &'static str {
        "SEMEL_TEST_REDIS_CLUSTER_URL"
    }

    fn answers(&self, address: &str) -> Result<()> {
        let login = Login {
            user: user(address),
            password: password(address),
        };
        let ask = |endpoint| wire::ask(endpoint, login, &["CLUSTER", "INFO"]);
        let endpoints = endpoints(address)?;
        endpoints
            .iter()
            .try_for_each(|endpoint| agrees(&ask(endpoint)?))
    }

    fn status(&self, place: &Place) -> Status {
        if !place.exists() {
            return Status::Down;
        }
        let Some((nodes, address)) = recorded(place) else {
            return Status::Broken("an earlier start did not finish".into());
        };
        let gone = nodes.iter().filter(|node| node.process().is_none()).count();
        if gone > 0 {
            return Status::Broken(format!("processes that are gone: {gone} of {NODES}"));
        }
        match self.answers(&address) {
            Ok(()) => Status::Up(address),
            Err(error) => Status::Broken(error.to_string()),
        }
    }

    fn processes(&self, place: &Place) -> Vec<u32> {
        let nodes = recorded(place).map(|(nodes, _)| nodes).unwrap_or_default();
        nodes.iter().filter_map(Node::process).collect()
    }

    fn up(&self, place: &Place, settings: &[Setting]) -> Result<String> {
        node::find_or_install()?;
        stop(place)?;
        // A server that is started again keeps its address, which shells may hold.
        let earlier = place.address();
        let earlier = earlier.as_deref();
        let secret = match earlier.and_then(password) {
            Some(secret) => secret.to_owned(),
            None => secret::password()?,
        };
        let preferred = earlier.and_then(|url| endpoints(url).ok());
        let preferred = preferred.iter().flatten().map(|endpoint| endpoint.port);
        let ports = port::free_ones(2 * NODES, preferred)?;
        let (ports, bus_ports) = ports.split_at(NODES);
        home::remove(place)?;
        let account = node::account()?;
        let nodes = nodes(&home::create(place, account)?, &secret, ports);
        // Recorded first, so that nodes that start too late are also found.
        let address = address(&secret, ports);
        place.record_address(&address)?;
        for (node, bus_port) in nodes.iter().zip(bus_ports) {
            node.configure(account, &with_cluster(*bus_port, settings))?;
            node.start(account)?;
        }
        unite(&nodes, account)?;
        await_agreement(&nodes)?;
        Ok(address)
    }

    fn restart(&self, place: &Place) -> Result<String> {
        let (nodes, address) = recorded(place)
            .ok_or_else(|| Error::failed("there is no redis-cluster that was started"))?;
        node::kill_all(&nodes)?;
        let account = node::account()?;
        nodes.iter().try_for_each(|node| node.start(account))?;
        await_agreement(&nodes)?;
        Ok(address)
    }

    fn down(&self, place: &Place) -> Result<()> {
        stop(place)?;
        home::remove(place)?;
        place.forget()
    }
}

/// The nodes that were started in `place`, and their address.
fn recorded(place: &Place) -> Option<(Vec<Node>, String)> {
    let address = place.address()?;
    let ports: Vec<u16> = endpoints(&address)
        .ok()?
        .iter()
        .map(|end| end.port)
        .collect();
    let nodes = nodes(&place.home()?, password(&address)?, &ports);
    Some((nodes, address))
}

/// Their data is about to be removed, so they need not save any.
fn stop(place: &Place) -> Result<()> {
    recorded(place).map_or(Ok(()), |(nodes, _)| node::kill_all(&nodes))
}

fn nodes(home: &Path, secret: &str, ports: &[u16]) -> Vec<Node> {
    let numbered = (1..).zip(ports);
    numbered
        .map(|(number, port)| Node {
            dir: home.join(format!("node-{number}")),
            port: *port,
            secret: secret.to_owned(),
        })
        .collect()
}

fn address(secret: &str, ports: &[u16]) -> String {
    let hosts: Vec<String> = ports
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    format!("{SCHEME}://:{secret}@{}", hosts.join(","))
}

fn endpoints(address: &str) -> Result<Vec<Endpoint>> {
    Endpoint::parse_all(address, SCHEME, 6379)
}

/// The settings of a cluster's node, before those that were asked for.
fn with_cluster(bus_port: u16, settings: &[Setting]) -> Vec<Setting> {
    let own = [
        ("cluster-enabled", "yes"),
        ("cluster-config-file", "nodes.conf"),
        ("cluster-node-timeout", "2000"),
        // The usual one is the node's port and ten thousand, which may be taken.
        ("cluster-port", &bus_port.to_string()),
    ];
    let own = own.map(|(name, value)| Setting {
        name: name.to_owned(),
        value: value.to_owned(),
    });
    own.into_iter().chain(settings.iter().cloned()).collect()
}

/// Makes a cluster of nodes that do not know each other yet.
fn unite(nodes: &[Node], account: Account) -> Result<()> {
    let client = program::find("redis-cli")
        .ok_or_else(|| Error::failed("redis-server is installed, but redis-cli is not"))?;
    let mut create = account.command(client);
    create.args(["--cluster", "create"]);
    for node in nodes {
        create.arg(format!("127.0.0.1:{}", node.port));
        // An argument could be seen by every user of the machine.
        create.env("REDISCLI_AUTH", &node.secret);
    }
    create.args(["--cluster-replicas", "1", "--cluster-yes"]);
    process::output(&mut create).map(drop)
}

/// Waits until every node finds the cluster in order and knows who is a replica, and
/// every replica has its data.
fn await_agreement(nodes: &[Node]) -> Result<()> {
    nodes.iter().try_for_each(|node| {
        wait::until(AGREE_WAIT, || {
            agrees(&node.ask(&["CLUSTER", "INFO"])?)?;
            knows_roles(&node.ask(&["CLUSTER", "NODES"])?)?;
            follows(&node.ask(&["INFO", "replication"])?)
        })
    })
}

fn agrees(info: &str) -> Result<()> {
    expect_line(info, "cluster_state", "ok")
}

/// A node line is an id, an address, flags such as `myself,slave`, and more. A node
/// hears of the others' roles some time after it finds the cluster in order.
fn knows_roles(nodes: &str) -> Result<()> {
    let flags = nodes.lines().filter_map(|line| line.split(' ').nth(2));
    let sound = |flags: &&str| flags.split(',').all(|flag| SOUND.contains(&flag));
    let flags: Vec<&str> = flags.filter(sound).collect();
    let replicas = flags.iter().filter(|flags| flags.contains("slave")).count();
    let masters = flags.len() - replicas;
    if (masters, replicas) == (NODES / 2, NODES / 2) {
        return Ok(());
    }
    Err(Error::failed(format!(
        "expected {0} masters and {0} replicas, found {masters} and {replicas}",
        NODES / 2
    )))
}

/// A master follows nobody.
fn follows(info: &str) -> Result<()> {
    match expect_line(info, "role", "master") {
        Ok(()) => Ok(()),
        Err(_) => expect_line(info, "master_link_status", "up"),
    }
}

fn expect_line(info: &str, name: &str, expected: &str) -> Result<()> {
    let mut lines = info.lines().filter_map(|line| line.split_once(':'));
    match lines.find(|(found, _)| *found == name) {
        Some((_, found)) if found == expected => Ok(()),
        found => {
            let found = found.map_or("nothing", |(_, value)| value);
            Err(Error::failed(format!(
                "expected {name}:{expected}, found {found}"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_lists_every_node_in_the_order_of_their_directories() {
        let address = address("s", &[1, 2]);
        assert_eq!(address, "redis-cluster://:s@127.0.0.1:1,127.0.0.1:2");
        let nodes = nodes(Path::new("/h"), "s", &[1, 2]);
        assert_eq!(nodes[1].dir, Path::new("/h/node-2"));
        assert_eq!(endpoints(&address).unwrap()[1], nodes[1].endpoint());
    }

    #[test]
    fn a_node_agrees_when_it_says_so_and_a_replica_follows_when_its_link_is_up() {
        assert!(agrees("cluster_enabled:1\r\ncluster_state:ok\r\n").is_ok());
        let error = agrees("cluster_state:fail\r\n").unwrap_err();
        assert_eq!(error.to_string(), "expected cluster_state:ok, found fail");
        assert!(agrees("").is_err());
        assert!(follows("role:master\r\n").is_ok());
        assert!(follows("role:slave\r\nmaster_link_status:up\r\n").is_ok());
        assert!(follows("role:slave\r\nmaster_link_status:down\r\n").is_err());
    }

    #[test]
    fn a_node_knows_the_roles_when_half_of_the_nodes_are_replicas_and_none_is_doubted() {
        let nodes = |flags: [&str; NODES]| -> String {
            let lines = flags.iter();
            lines
                .map(|flags| format!("id a:1@2 {flags} - 0\n"))
                .collect()
        };
        let good = [
            "myself,slave",
            "slave",
            "slave",
            "master",
            "master",
            "master",
        ];
        assert!(knows_roles(&nodes(good)).is_ok());
        for doubted in ["master", "slave,fail", "slave,fail?", "handshake"] {
            let mut flags = good;
            flags[1] = doubted;
            assert!(knows_roles(&nodes(flags)).is_err(), "{doubted}");
        }
    }

    #[test]
    fn what_was_asked_for_counts_more_than_the_usual_settings() {
        let asked = Setting::parse("cluster-node-timeout=500").unwrap();
        let settings = with_cluster(9, std::slice::from_ref(&asked));
        assert_eq!(settings.last(), Some(&asked));
    }
}
