//! The handler in Python of the page about messages, as it stands there.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{Semel, ask, semel};

/// The first block of a page that begins with this fence.
pub(crate) fn block(page: &str, fence: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = fs::read_to_string(format!("{root}/{page}")).unwrap();
    let (_, rest) = page.split_once(fence).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// The Python that tests use.
pub(crate) fn python() -> String {
    std::env::var("SEMEL_TEST_PYTHON").expect(
        "SEMEL_TEST_PYTHON names no Python: run the tests with `cargo xtask test`, or \
         `cargo xtask services up python` and export what it prints",
    )
}

/// A script that runs, and is killed with the test.
struct Script(Child);

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> String {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port().to_string()
}

/// What is listed of the consumer, once nothing is on its way any more.
fn settled(dir: &Path) -> String {
    loop {
        let (_, listed, _) = semel(dir, &["inbox", "list", "mailer"]);
        let moving = ["RECEIVED ", "IN_PROGRESS "];
        if !listed
            .lines()
            .any(|line| moving.iter().any(|state| line.starts_with(state)))
        {
            return listed;
        }
    }
}

#[test]
fn the_handler_of_the_page_about_messages_gets_each_mail_once() {
    let dir = tempfile::tempdir().unwrap();
    let port = free_port();
    let here = |text: String| text.replace("9000", &port);
    let config = here(block("docs/messages.md", "```yaml\n"));
    let ports = "admin: { listen: 127.0.0.1:0 }\ninbox: { listen: 127.0.0.1:0 }\n";
    fs::write(dir.path().join("semel.yaml"), format!("{ports}{config}")).unwrap();
    let script = here(block("docs/messages.md", "```python\n"));
    fs::write(dir.path().join("mailer.py"), script).unwrap();
    let mails = dir.path().join("mails");
    let mailer = Command::new(python())
        .arg("mailer.py")
        .current_dir(dir.path())
        .stdout(fs::File::create(&mails).unwrap())
        .stderr(Stdio::null())
        .spawn();
    let _mailer = Script(mailer.unwrap());
    let addr: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    // Whatever it says to a GET, it is up then.
    while ask(addr, "GET", "/", &[], "").is_none() {
        std::thread::yield_now();
    }

    let server = Semel::start_inbox(dir.path());
    let send = |id: &str, to: &str| {
        let body = format!(r#"{{"id": "{id}", "type": "order.paid", "to": "{to}"}}"#);
        let json = [("content-type", "application/json")];
        let sent = ask(server.inbox, "POST", "/inbox/mailer", &json, &body);
        sent.unwrap().status
    };
    assert_eq!(send("evt-1", "ann@example.org"), 202);
    assert_eq!(send("evt-1", "ann@example.org"), 200);
    assert_eq!(send("evt-2", "nobody"), 202);
    let listed = settled(dir.path());
    let state = |id: &str| {
        let line = listed.lines().find(|line| line.contains(id)).unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(state("evt-1"), "COMPLETED", "{listed}");
    assert_eq!(state("evt-2"), "FAILED_TERMINAL", "{listed}");
    let sent = fs::read_to_string(&mails).unwrap();
    assert_eq!(
        sent,
        "mail to ann@example.org attempt 1 key mailer@1:evt-1\n"
    );
}
