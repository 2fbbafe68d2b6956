//! Private servers of every kind are paused, killed and restarted, really.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use semel_testkit::server::Server;

/// A question that the server answers before anybody has logged in.
const ASK_POSTGRES: &[u8] = &[0, 0, 0, 8, 4, 210, 22, 47];
const ASK_REDIS: &[u8] = b"PING\r\n";

/// The first `host:port` of a URL.
fn address(server: &Server) -> String {
    let url = server.url();
    let (_, rest) = url.split_once("://").expect("a URL has a scheme");
    let rest = rest.rsplit('@').next().expect("there is a last part");
    let end = rest.find(['/', ',', '?']).unwrap_or(rest.len());
    rest[..end].to_owned()
}

fn asked(server: &Server, question: &[u8]) -> std::io::Result<TcpStream> {
    let mut connection = TcpStream::connect(address(server))?;
    connection.write_all(question)?;
    Ok(connection)
}

fn answers(server: &Server, question: &[u8]) -> bool {
    asked(server, question).is_ok_and(answered)
}

fn answered(mut connection: TcpStream) -> bool {
    connection.read_exact(&mut [0]).is_ok()
}

fn is_up(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

fn obeys(name: &str, settings: &[&str], question: &[u8]) {
    let server = Server::start(name, settings);
    let (url, pids, home) = (server.url(), server.pids(), server.home());
    assert!(answers(&server, question), "{name} answers");

    server.pause();
    let waiting = asked(&server, question).expect("the system accepts for a paused server");
    server.resume();
    assert!(answered(waiting), "{name} answers when it is resumed");

    server.kill();
    assert!(!pids.iter().any(|pid| is_up(*pid)), "{name} is killed");
    assert!(!answers(&server, question), "{name} does not answer");

    server.restart();
    assert_eq!((server.url(), server.home()), (url, home.clone()));
    assert!(answers(&server, question), "{name} answers again");

    let pids = server.pids();
    server.pause();
    drop(server);
    assert!(!pids.iter().any(|pid| is_up(*pid)), "{name} is stopped");
    assert!(!Path::new(&home).exists(), "the data of {name} is gone");
}

#[test]
fn postgres_obeys() {
    obeys("postgres", &["max_connections=20"], ASK_POSTGRES);
}

#[test]
fn redis_obeys() {
    obeys("redis", &["maxmemory=64mb"], ASK_REDIS);
}

#[test]
fn a_redis_cluster_obeys() {
    obeys("redis-cluster", &[], ASK_REDIS);
}
