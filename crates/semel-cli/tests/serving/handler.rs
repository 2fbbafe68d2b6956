//! A scripted handler of messages.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::support::{PATIENCE, field, read_message};

/// A handler that tells of each delivery and answers it when it is told to.
pub(crate) struct Handler {
    pub(crate) addr: SocketAddr,
    deliveries: Receiver<Delivery>,
}

/// A message at the handler.
pub(crate) struct Delivery {
    head: String,
    pub(crate) body: String,
    answer: Sender<Answer>,
}

/// A status, the media type of its body, and the body.
type Answer = (u16, &'static str, String);

impl Delivery {
    pub(crate) fn header(&self, name: &str) -> &str {
        field(&self.head, name).unwrap_or("")
    }

    pub(crate) fn answer(self, status: u16) {
        self.answer_with((status, "text/plain", "ok".to_owned()));
    }

    pub(crate) fn answer_with(self, answer: Answer) {
        self.answer.send(answer).unwrap();
    }
}

impl Handler {
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (tell, deliveries) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let tell = tell.clone();
                thread::spawn(move || serve(stream.unwrap(), &tell));
            }
        });
        Self { addr, deliveries }
    }

    /// The next delivery.
    pub(crate) fn next(&self) -> Delivery {
        self.deliveries.recv_timeout(PATIENCE).unwrap()
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.deliveries.try_recv().is_err()
    }
}

fn serve(mut stream: TcpStream, tell: &Sender<Delivery>) {
    let Some((head, body)) = read_message(&mut stream) else {
        return;
    };
    let (answer, answered) = channel();
    let delivery = Delivery { head, body, answer };
    tell.send(delivery).unwrap();
    let Ok((status, kind, body)) = answered.recv_timeout(PATIENCE) else {
        return;
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    // Who was killed meanwhile does not hear it.
    let _ = stream.write_all(answer.as_bytes());
}
