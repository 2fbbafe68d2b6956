//! Asks the processes of Redis, alone or in a cluster.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::error::{Error, Result};

use super::super::endpoint::{Endpoint, Target};
use super::ANSWER_MAX;

/// The nodes of the cluster that is started here; half of them are replicas.
const NODES: usize = 6;

/// The flags of a node that no other node doubts.
const SOUND: [&str; 3] = ["myself", "master", "slave"];

/// Every process answers and has its data.
pub(in super::super) fn ping(target: &Target<'_>) -> Result<()> {
    each(target, &["PING"], |_| Ok(()))
}

/// Every node finds the cluster in order.
pub(in super::super) fn cluster_answers(target: &Target<'_>) -> Result<()> {
    each(target, &["CLUSTER", "INFO"], agrees)
}

/// Every node finds the cluster in order and knows who is a replica, and every replica has its data.
pub(in super::super) fn cluster_agrees(target: &Target<'_>) -> Result<()> {
    cluster_answers(target)?;
    each(target, &["CLUSTER", "NODES"], knows_roles)?;
    each(target, &["INFO", "replication"], follows)
}

fn each(target: &Target<'_>, command: &[&str], check: fn(&str) -> Result<()>) -> Result<()> {
    let mut endpoints = target.endpoints.iter();
    endpoints.try_for_each(|endpoint| check(&ask(endpoint, target, command)?))
}

/// Sends one command and returns the text of the answer.
fn ask(endpoint: &Endpoint, login: &Target<'_>, command: &[&str]) -> Result<String> {
    let mut stream = BufReader::new(endpoint.connect()?);
    match (login.user, login.password) {
        (_, None) => {}
        ("", Some(password)) => drop(exchange(&mut stream, &["AUTH", password])?),
        (user, Some(password)) => drop(exchange(&mut stream, &["AUTH", user, password])?),
    }
    exchange(&mut stream, command)
}

fn exchange(stream: &mut BufReader<TcpStream>, command: &[&str]) -> Result<String> {
    let written = stream.get_mut().write_all(encoded(command).as_bytes());
    written.map_err(Error::when("ask the server"))?;
    answer(stream)
}

fn encoded(command: &[&str]) -> String {
    let words = command.iter();
    let words: String = words
        .map(|word| format!("${}\r\n{word}\r\n", word.len()))
        .collect();
    format!("*{}\r\n{words}", command.len())
}

/// Reads a line or a text; other forms are never asked for.
fn answer(stream: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    let read = stream.take(ANSWER_MAX as u64).read_line(&mut line);
    read.map_err(Error::when("read the server's answer"))?;
    let line = line.trim_end();
    let strange = || Error::failed("what answers is not Redis");
    match line.split_at_checked(1) {
        Some(("+", text)) => Ok(text.to_owned()),
        Some(("-", why)) => Err(Error::failed(format!("the server says: {why}"))),
        Some(("$", length)) => {
            let length: usize = length.parse().map_err(|_| strange())?;
            if length > ANSWER_MAX {
                return Err(strange());
            }
            let mut text = vec![0; length];
            let read = stream.read_exact(&mut text);
            read.map_err(Error::when("read the server's answer"))?;
            String::from_utf8(text).map_err(|_| strange())
        }
        _ => Err(strange()),
    }
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

/// A master follows no other node.
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
    fn an_answer_is_a_line_a_text_or_a_refusal() {
        let table = [
            ("+PONG\r\n", Ok("PONG")),
            ("$4\r\na\r\nb\r\n", Ok("a\r\nb")),
            ("-LOADING wait\r\n", Err("the server says: LOADING wait")),
            ("HTTP/1.1 400\r\n", Err("what answers is not Redis")),
            ("$999999\r\n", Err("what answers is not Redis")),
            ("", Err("what answers is not Redis")),
        ];
        for (bytes, expected) in table {
            let found = answer(&mut bytes.as_bytes()).map_err(|error| error.to_string());
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(found, expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_command_is_sent_by_length() {
        assert_eq!(encoded(&["AUTH", "é"]), "*2\r\n$4\r\nAUTH\r\n$2\r\né\r\n");
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
}
