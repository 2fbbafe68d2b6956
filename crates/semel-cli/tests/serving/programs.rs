//! The programs of the page about the claims API, as they stand there.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::python::block;
use crate::support::{Semel, semel};

/// A language: the fence of its block, the file, and the program that runs it.
struct Language {
    fence: &'static str,
    file: &'static str,
    runs_with: &'static str,
}

const PYTHON: Language = Language {
    fence: "```python\n",
    file: "pay.py",
    runs_with: "python3",
};
const JAVASCRIPT: Language = Language {
    fence: "```js\n",
    file: "pay.mjs",
    runs_with: "node",
};
const SHELL: Language = Language {
    fence: "```bash\n",
    file: "pay.sh",
    runs_with: "bash",
};

/// A server, a token for acme's payments, and a program that uses them.
struct World {
    dir: tempfile::TempDir,
    server: Semel,
    token: String,
    language: Language,
}

impl World {
    fn new(language: Language) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let new = ["token", "new", "--name", "shop", "--role", "claims"];
        let reach = ["--tenant", "acme", "--scope", "payments"];
        let (_, token, lines) = semel(dir.path(), &[&new[..], &reach].concat());
        let lines = lines.split_once("admin:\n").unwrap().1;
        let file = format!("admin:\n  listen: 127.0.0.1:0\n{lines}");
        fs::write(dir.path().join("semel.yaml"), file).unwrap();
        let program = block("docs/claims-api.md", language.fence);
        fs::write(dir.path().join(language.file), program).unwrap();
        Self {
            server: Semel::serve(dir.path(), &[]),
            token: token.trim().to_owned(),
            dir,
            language,
        }
    }

    /// The program, told where the API is.
    fn program(&self, api: SocketAddr, words: &[&str]) -> Command {
        let mut command = Command::new(self.language.runs_with);
        command.arg(self.language.file).args(words);
        command.current_dir(self.dir.path());
        command.env("SEMEL_API", format!("http://{api}/api/v1"));
        command.env("SEMEL_TOKEN", &self.token);
        // No proxy stands between a program and this machine.
        command
            .env("NO_PROXY", "127.0.0.1")
            .env("no_proxy", "127.0.0.1");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn pay(&self, words: &[&str]) -> (bool, String) {
        told(self.output(self.program(self.server.admin, words)))
    }

    fn output(&self, mut command: Command) -> Output {
        command.output().unwrap_or_else(|error| {
            let program = self.language.runs_with;
            panic!("{program} is needed to run the program of the page: {error}; install it, for example with `cargo xtask services up apps python`")
        })
    }

    fn charges(&self) -> String {
        let charges = fs::read_to_string(self.dir.path().join("charges.txt"));
        charges.unwrap_or_default()
    }
}

/// Whether it ended well, and what it said.
fn told(output: Output) -> (bool, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    (output.status.success(), said)
}

/// Stands before the API and loses the answer to the first claim.
fn lossy(api: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (addr, claims) = (
        listener.local_addr().unwrap(),
        Arc::<AtomicUsize>::default(),
    );
    let counted = claims.clone();
    thread::spawn(move || {
        for client in listener.incoming() {
            let counted = counted.clone();
            thread::spawn(move || forward(client.unwrap(), api, &counted));
        }
    });
    (addr, claims)
}

/// Forwards one request; of the first claim only the request.
fn forward(mut client: TcpStream, api: SocketAddr, claims: &AtomicUsize) {
    let Some((head, body)) = crate::support::read_message(&mut client) else {
        return;
    };
    let is_claim = head.starts_with("POST /api/v1/claims HTTP");
    let is_lost = is_claim && claims.fetch_add(1, Ordering::SeqCst) == 0;
    let fields = head
        .lines()
        .filter(|line| !line.to_lowercase().starts_with("connection:"));
    let fields: Vec<_> = fields.filter(|line| !line.is_empty()).collect();
    let mut upstream = TcpStream::connect(api).unwrap();
    let request = format!("{}\r\nConnection: close\r\n\r\n{body}", fields.join("\r\n"));
    upstream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer).unwrap();
    if !is_lost {
        let _ = client.write_all(&answer);
    }
}

fn charges_once_and_replays(world: &World) {
    let (ok, said) = world.pay(&["order-1", "4200"]);
    assert!(
        ok && said.starts_with("charged") && said.contains("4200"),
        "{said}"
    );
    let (ok, said) = world.pay(&["order-1", "4200"]);
    assert!(
        ok && said.starts_with("replayed") && said.contains("4200"),
        "{said}"
    );
    let (ok, said) = world.pay(&["order-1", "9900"]);
    assert!(!ok && said.contains("another request"), "{said}");
    assert_eq!(world.charges(), "order-1 4200\n");
}

fn gives_back_what_did_not_happen(world: &World) {
    let (ok, said) = world.pay(&["order-2", "0"]);
    assert!(!ok && said.contains("not charged"), "{said}");
    let (ok, said) = world.pay(&["order-2", "100"]);
    assert!(ok && said.starts_with("charged"), "{said}");
    assert!(world.charges().ends_with("order-2 100\n"));
}

/// The run takes longer than its lease, and a second program waits for it meanwhile.
fn renews_while_another_waits(world: &World) {
    let start = || {
        let mut command = world.program(world.server.admin, &["order-3", "300"]);
        command
            .env("SEMEL_LEASE", "1500ms")
            .env("CHARGE_SECONDS", "4");
        command.spawn().unwrap()
    };
    let both = [start(), start()].map(|child| told(child.wait_with_output().unwrap()));
    assert!(both.iter().all(|(ok, _)| *ok), "{both:?}");
    let charged = both
        .iter()
        .filter(|(_, said)| said.starts_with("charged"))
        .count();
    let replayed = both
        .iter()
        .filter(|(_, said)| said.starts_with("replayed"))
        .count();
    assert_eq!((charged, replayed), (1, 1), "{both:?}");
    assert_eq!(world.charges().matches("order-3 300\n").count(), 1);
}

/// The 201 is lost; the program asks again with its nonce and gets its own claim.
fn finds_its_own_claim_again(world: &World) {
    let (addr, claims) = lossy(world.server.admin);
    let (ok, said) = told(world.output(world.program(addr, &["order-4", "400"])));
    assert!(ok && said.starts_with("charged"), "{said}");
    assert_eq!(claims.load(Ordering::SeqCst), 2);
    assert_eq!(world.charges().matches("order-4 400\n").count(), 1);
}

fn holds_what_the_page_says(language: Language) {
    let world = World::new(language);
    charges_once_and_replays(&world);
    gives_back_what_did_not_happen(&world);
    renews_while_another_waits(&world);
    finds_its_own_claim_again(&world);
    is_not_told(world.dir.path(), &world);
}

/// The token stands in no file that the program wrote, and in no line of the log.
fn is_not_told(dir: &Path, world: &World) {
    for file in fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(!text.contains(&world.token), "{}", path.display());
    }
    assert!(!world.server.log().contains(&world.token));
}

#[test]
fn the_program_in_python_charges_once() {
    holds_what_the_page_says(PYTHON);
}

#[test]
fn the_program_in_javascript_charges_once() {
    holds_what_the_page_says(JAVASCRIPT);
}

#[test]
fn the_program_for_a_shell_charges_once() {
    holds_what_the_page_says(SHELL);
}
