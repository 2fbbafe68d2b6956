//! How a serving process ends, and what is left when it does.

use std::thread;

use crate::support::{Semel, Shop, ask, semel};

const ANY: [&str; 4] = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];

fn gateway(upstream: &str) -> Vec<&str> {
    let mut args = vec!["gateway", "--upstream", upstream];
    args.extend(ANY);
    args
}

#[test]
fn asked_to_end_it_finishes_what_is_in_flight() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let url = shop.url();
    let mut server = Semel::start(dir.path(), &gateway(&url));
    let addr = server.gateway;
    let client = thread::spawn(move || {
        ask(addr, "POST", "/slow", &[("Idempotency-Key", "k")], "{}").unwrap()
    });
    let go = shop.began();
    server.signal("TERM");
    server.wait_for("asked to end");
    drop(go);
    let answer = client.join().unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (201, "effect 1"));
    assert_eq!(server.wait(), Some(0));
    // The outcome is on record for whoever asks next.
    let server = Semel::start(dir.path(), &gateway(&url));
    assert!(server.post("/slow", "k").is_replay());
    assert_eq!(shop.effects(), 1);
}

#[test]
fn a_run_goes_on_to_its_end_even_if_its_client_left_before_the_drain() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let url = shop.url();
    let mut server = Semel::start(dir.path(), &gateway(&url));
    let request = "POST /slow HTTP/1.1\r\nHost: 127.0.0.1\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n\r\n{}";
    let mut stream = std::net::TcpStream::connect(server.gateway).unwrap();
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let go = shop.began();
    drop(stream);
    server.signal("TERM");
    server.wait_for("asked to end");
    drop(go);
    assert_eq!(server.wait(), Some(0));
    let server = Semel::start(dir.path(), &gateway(&url));
    assert!(server.post("/slow", "k").is_replay());
    assert_eq!(shop.effects(), 1);
}

#[test]
fn killed_in_the_middle_it_says_later_that_nobody_knows_and_a_person_decides() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let url = shop.url();
    let mut args = gateway(&url);
    args.extend(["--lease", "100ms"]);
    let mut server = Semel::start(dir.path(), &args);
    let addr = server.gateway;
    let client =
        thread::spawn(move || ask(addr, "POST", "/slow", &[("Idempotency-Key", "k")], "{}"));
    let go = shop.began();
    server.signal("KILL");
    assert_eq!(server.wait(), None);
    drop(go);
    assert!(client.join().unwrap().is_none());
    let server = Semel::start(dir.path(), &args);
    let held = server.post("/slow", "k");
    assert_eq!(held.status, 409);
    // Whoever asks before the lease has ended is told that it still runs.
    let held = match held.body.contains("in-progress") {
        true => server.post("/slow", "k"),
        false => held,
    };
    assert!(
        held.body.contains("urn:semel:problem:outcome-unknown"),
        "{}",
        held.body
    );
    assert_eq!(shop.effects(), 1);
    let (code, _, said) = semel(
        dir.path(),
        &[
            "keys",
            "resolve",
            "k",
            "--scope",
            "POST /{*rest}",
            "--tenant",
            "public",
            "--succeeded",
            "--yes",
        ],
    );
    assert_eq!(code, Some(0), "{said}");
    let replay = server.post("/slow", "k");
    assert_eq!((replay.status, replay.is_replay()), (200, true));
    assert_eq!(shop.effects(), 1);
}
