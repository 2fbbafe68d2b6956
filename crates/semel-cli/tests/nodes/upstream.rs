//! The service behind the gateways. It outlives them all, and its effects are counted where no gateway can
//! reach them.

use std::collections::HashMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use semel_testkit::ledger::{Effect, Ledger};

use crate::support::{field, read_message};

/// How long a request is worked on before its effect, and again after it: whoever is killed is killed in either.
const WORK: Duration = Duration::from_millis(15);

/// What the service does with an operation that it has done before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// It does it again.
    None,
    /// It gives the same answer, unless a newer claim has been there already.
    Idempotent,
}

/// A service on a port of its own.
pub(crate) struct Upstream {
    addr: SocketAddr,
    service: Arc<Service>,
    _dir: tempfile::TempDir,
}

struct Service {
    care: Care,
    ledger: Ledger,
    effects: AtomicUsize,
    /// What the first effect of each operation was answered with.
    answers: Mutex<HashMap<String, String>>,
}

impl Upstream {
    pub(crate) fn start(care: Care) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let service = Arc::new(Service {
            care,
            ledger: Ledger::open(dir.path()).unwrap(),
            effects: AtomicUsize::new(0),
            answers: Mutex::default(),
        });
        let serving = service.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let service = serving.clone();
                thread::spawn(move || service.serve(stream.unwrap()));
            }
        });
        Self {
            addr,
            service,
            _dir: dir,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.service.ledger
    }
}

impl Service {
    /// Nobody may be left to hear the answer; what was asked for is done all the same.
    fn serve(&self, mut stream: TcpStream) {
        let Some((head, _)) = read_message(&mut stream) else {
            return;
        };
        let operation = field(&head, "Idempotency-Key").unwrap();
        let fence = field(&head, "Semel-Fence").unwrap().parse().unwrap();
        thread::sleep(WORK);
        let (status, body) = match self.effect(operation, fence) {
            Some(body) => ("201 Created", body),
            None => (
                "412 Precondition Failed",
                "a newer claim was here".to_owned(),
            ),
        };
        thread::sleep(WORK);
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        let _ = stream.write_all(answer.as_bytes());
    }

    /// What the caller is told; nothing if the claim is too old.
    fn effect(&self, operation: &str, fence: u64) -> Option<String> {
        // Whoever finds an operation done finds its answer, too.
        let mut answers = self.answers.lock().unwrap();
        let effect = match self.care {
            Care::None => self.ledger.effect(operation, fence).map(|()| Effect::Done),
            Care::Idempotent => self.ledger.effect_checked(operation, fence),
        };
        match effect.unwrap() {
            Effect::Done => {
                let nth = self.effects.fetch_add(1, Ordering::Relaxed);
                let answer = format!("{operation} is effect {nth}, under fence {fence}");
                answers.insert(operation.to_owned(), answer.clone());
                Some(answer)
            }
            Effect::AlreadyDone => Some(answers[operation].clone()),
            Effect::Refused => None,
        }
    }
}
