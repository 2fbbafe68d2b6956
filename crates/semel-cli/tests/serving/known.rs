//! What an operator finds about requests whose outcomes are unknown: a gateway, a service that fails, and the command line.

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use crate::support::{Semel, read_message, semel};

/// A service that fails as its paths say.
fn failing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || fail(stream.unwrap()));
        }
    });
    format!("http://{addr}")
}

fn fail(mut stream: TcpStream) {
    let Some((head, _)) = read_message(&mut stream) else {
        return;
    };
    if head.contains("/overloaded") {
        let answer = "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(answer.as_bytes()).unwrap();
    } else if head.contains("/killed") {
        let _ = stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nhalf");
        let _ = stream.shutdown(Shutdown::Both);
    } else {
        // Says nothing until the gateway gives up.
        let _ = read_message(&mut stream);
    }
}

fn gateway(dir: &Path) -> Semel {
    let upstream = failing();
    let yaml = format!(
        "store: sqlite:semel.db\n\
         admin: {{ listen: 127.0.0.1:0 }}\n\
         gateway:\n\
         \x20 listen: 127.0.0.1:0\n\
         \x20 upstream: {upstream}\n\
         \x20 routes:\n\
         \x20   - match: {{ methods: [POST], path: '/payments/{{what}}' }}\n\
         \x20     scope: payments@1\n\
         \x20     tenant: public\n\
         \x20     timeout: 300ms\n"
    );
    std::fs::write(dir.join("semel.yaml"), yaml).unwrap();
    Semel::start(dir, &["serve", "--config", "semel.yaml"])
}

#[test]
fn an_unknown_payment_says_what_was_asked_and_how_the_service_failed() {
    let dir = tempfile::tempdir().unwrap();
    let gateway = gateway(dir.path());
    for (path, status) in [("overloaded", 504), ("killed", 502), ("silent", 504)] {
        let answer = gateway.post(&format!("/payments/{path}"), &format!("order-{path}"));
        assert_eq!(answer.status, status, "{path}");
    }
    let (code, listed, said) = semel(dir.path(), &["keys", "list", "--state", "unknown"]);
    assert_eq!(code, Some(0), "{said}");
    let line = |key: &str| {
        let found = listed.lines().find(|line| line.contains(key));
        found.unwrap_or_else(|| panic!("no {key} in {listed}"))
    };
    for (key, about, detail) in [
        (
            "order-overloaded",
            "POST /payments/overloaded",
            "504 from the upstream after ",
        ),
        ("order-killed", "POST /payments/killed", ", after "),
        (
            "order-silent",
            "POST /payments/silent",
            "no answer within 300ms, after ",
        ),
    ] {
        let line = line(key);
        assert!(line.contains(about) && line.contains(detail), "{listed}");
    }
    let (code, shown, said) = semel(dir.path(), &["keys", "show", "order-silent"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        shown.contains("because      no answer within 300ms"),
        "{shown}"
    );
}
