//! A collector of traces that reads them with OpenTelemetry's own protocol buffers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::Value;

use crate::support::{PATIENCE, field};

/// Reads requests, one line of hexadecimal digits each, and writes their spans as one line of JSON.
const READER: &str = r#"
import json, sys
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

def values(attributes):
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}

for line in sys.stdin:
    request = ExportTraceServiceRequest.FromString(bytes.fromhex(line.strip()))
    spans = []
    for of in request.resource_spans:
        service = values(of.resource.attributes)["service.name"]
        for scope in of.scope_spans:
            for span in scope.spans:
                assert span.start_time_unix_nano <= span.end_time_unix_nano
                spans.append({
                    "service": service,
                    "name": span.name,
                    "kind": Span.SpanKind.Name(span.kind),
                    "trace": span.trace_id.hex(),
                    "span": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "state": span.trace_state,
                    "links": [link.span_id.hex() for link in span.links],
                    "failed": span.status.code == 2,
                    "attributes": values(span.attributes),
                })
    print(json.dumps(spans), flush=True)
"#;

/// A collector that takes everything.
pub(crate) struct Collector {
    pub(crate) addr: SocketAddr,
    bodies: Receiver<Vec<u8>>,
    reader: Reader,
    spans: Vec<Value>,
}

/// The program that reads what was sent.
struct Reader {
    child: Child,
    asked: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Collector {
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (tell, bodies) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let tell = tell.clone();
                thread::spawn(move || serve(stream.unwrap(), &tell));
            }
        });
        Self {
            addr,
            bodies,
            reader: Reader::start(),
            spans: Vec::new(),
        }
    }

    /// Waits for a span that is like this; it is taken out.
    pub(crate) fn span(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.spans.iter().position(&is_it) {
                return self.spans.remove(at);
            }
            let body = self.bodies.recv_timeout(PATIENCE);
            let body = body.unwrap_or_else(|_| panic!("no span {what} among {:#?}", self.spans));
            self.spans.extend(self.reader.read(&body));
        }
    }

    /// The same by its name and its trace.
    pub(crate) fn named(&mut self, name: &str, trace: &str) -> Value {
        let what = format!("{name} of {trace}");
        self.span(&what, |span| span["name"] == name && span["trace"] == trace)
    }

    /// Whether one of the spans that have arrived, and were not taken out, belongs to a trace.
    pub(crate) fn has(&self, trace: &str) -> bool {
        self.spans.iter().any(|span| span["trace"] == trace)
    }
}

impl Reader {
    fn start() -> Self {
        let python = std::env::var("SEMEL_TEST_OTLP").expect(
            "SEMEL_TEST_OTLP names no Python: run the tests with `cargo xtask test`, or \
             `cargo xtask services up otlp` and export what it prints",
        );
        let mut child = Command::new(python)
            .args(["-c", READER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            asked: child.stdin.take().unwrap(),
            said: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn read(&mut self, body: &[u8]) -> Vec<Value> {
        let digits: String = body.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(self.asked, "{digits}").unwrap();
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(stream: TcpStream, tell: &Sender<Vec<u8>>) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    assert!(head.starts_with("POST /v1/traces "), "{head}");
    assert_eq!(field(&head, "content-type"), Some("application/x-protobuf"));
    assert_eq!(field(&head, "api-key"), Some("secret"));
    let length = field(&head, "content-length").unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    // A process that was killed does not hear it, and a test that has ended reads no more.
    let _ = reader.into_inner().write_all(answer);
    let _ = tell.send(body);
}
