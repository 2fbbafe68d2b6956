use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest,
};
use semel_core::Tracer;
use semel_core::trace::{Kind, Origin, Sampling};

use super::*;

/// A collector that gives these answers, one to each request, and tells how many spans each had.
fn collector(answers: Vec<(&'static str, Vec<u8>)>) -> (SocketAddr, Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let (tell, heard) = channel();
    thread::spawn(move || {
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = tell.send(spans_of(&mut stream));
            let length = body.len();
            let framing = match status.contains("chunked") {
                true => String::new(),
                false => format!("Content-Length: {length}\r\n"),
            };
            let head = format!("HTTP/1.1 {status}\r\n{framing}Connection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&body).unwrap();
        }
    });
    (addr, heard)
}

fn spans_of(stream: &mut TcpStream) -> usize {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).unwrap();
    }
    let head = head.to_ascii_lowercase();
    let (_, length) = head.split_once("content-length: ").unwrap();
    let length = length.lines().next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request = ExportTraceServiceRequest::decode(&body[..]).unwrap();
    let of = request.resource_spans.into_iter();
    of.flat_map(|of| of.scope_spans)
        .map(|of| of.spans.len())
        .sum()
}

/// Ends so many spans.
fn end(tracer: &Tracer, spans: usize) {
    for _ in 0..spans {
        drop(tracer.begin(Kind::Server, "x", || Origin::Request(None)));
    }
}

/// Has so many spans exported, and gives how many were exported and how many failed.
async fn export(
    addr: SocketAddr,
    spans: usize,
    heard: &Receiver<usize>,
    requests: usize,
) -> (u64, u64) {
    let mut config = Config::new(format!("http://{addr}"));
    config.every = Duration::from_millis(1);
    let (sink, exporter) = crate::start(config).unwrap();
    let tracer = Tracer::new(sink, Sampling::default());
    end(&tracer, spans);
    let counts = exporter.counts();
    let mut seen = 0;
    while seen < requests {
        match heard.try_recv() {
            Ok(_) => seen += 1,
            Err(_) => sleep(Duration::from_millis(2)).await,
        }
    }
    exporter.shutdown().await;
    (counts.exported(), counts.failed())
}

#[tokio::test]
async fn a_collector_that_is_busy_is_offered_the_batch_again() {
    let busy = ("503 Service Unavailable\r\nRetry-After: 0", Vec::new());
    let (addr, heard) = collector(vec![busy, ("200 OK", Vec::new())]);
    assert_eq!(export(addr, 3, &heard, 2).await, (3, 0));
}

#[tokio::test]
async fn what_is_refused_for_good_is_dropped_and_counted() {
    let (addr, heard) = collector(vec![("400 Bad Request", Vec::new())]);
    assert_eq!(export(addr, 2, &heard, 1).await, (0, 2));
}

#[tokio::test]
async fn what_a_collector_takes_only_a_part_of_is_counted_so() {
    let answer = ExportTraceServiceResponse {
        partial_success: Some(ExportTracePartialSuccess {
            rejected_spans: 1,
            ..ExportTracePartialSuccess::default()
        }),
    };
    let (addr, heard) = collector(vec![("200 OK", answer.encode_to_vec())]);
    assert_eq!(export(addr, 3, &heard, 1).await, (2, 1));
}

#[tokio::test]
async fn an_answer_in_chunks_is_read_too() {
    let answer = ExportTraceServiceResponse {
        partial_success: Some(ExportTracePartialSuccess {
            rejected_spans: 2,
            ..ExportTracePartialSuccess::default()
        }),
    };
    let answer = answer.encode_to_vec();
    let mut body = format!("{:x}\r\n", answer.len()).into_bytes();
    body.extend(answer);
    body.extend(b"\r\n0\r\n\r\n");
    let chunked = "200 OK\r\nTransfer-Encoding: chunked";
    let (addr, heard) = collector(vec![(chunked, body)]);
    assert_eq!(export(addr, 3, &heard, 1).await, (1, 2));
}

#[tokio::test]
async fn what_waits_while_the_collector_is_busy_is_counted_at_the_end() {
    let busy = "503 Service Unavailable\r\nRetry-After: 60";
    let answers = vec![(busy, Vec::new()), (busy, Vec::new())];
    let (addr, heard) = collector(answers);
    let mut config = Config::new(format!("http://{addr}"));
    config.every = Duration::from_millis(1);
    let (sink, exporter) = crate::start(config).unwrap();
    let tracer = Tracer::new(sink, Sampling::default());
    let counts = exporter.counts();
    let span = || drop(tracer.begin(Kind::Server, "x", || Origin::Request(None)));
    span();
    while heard.try_recv().is_err() {
        sleep(Duration::from_millis(2)).await;
    }
    // It stands in the pause before the next attempt, and another span waits behind it.
    span();
    exporter.shutdown().await;
    assert_eq!((counts.exported(), counts.failed()), (0, 2));
    assert_eq!(heard.recv().unwrap(), 1, "the other one was offered once");
}

#[tokio::test]
async fn what_ends_after_the_exporter_has_failed_and_found_no_full_queue() {
    let (addr, _heard) = collector(vec![("200 OK", Vec::new())]);
    let (sink, exporter) = crate::start(Config::new(format!("http://{addr}"))).unwrap();
    let tracer = Tracer::new(sink, Sampling::default());
    let counts = exporter.counts();
    end(&tracer, 1);
    exporter.shutdown().await;
    end(&tracer, 2);
    let counted = (counts.exported(), counts.queue_full(), counts.failed());
    assert_eq!(counted, (1, 0, 2));
    assert_eq!(counts.leave(), 0, "none of them is left in the queue");
}

#[tokio::test]
async fn what_waits_at_the_end_is_sent() {
    let (addr, heard) = collector(vec![("200 OK", Vec::new())]);
    let mut config = Config::new(format!("http://{addr}"));
    config.every = Duration::from_secs(3_600);
    let (sink, exporter) = crate::start(config).unwrap();
    let tracer = Tracer::new(sink, Sampling::default());
    drop(tracer.begin(Kind::Server, "x", || Origin::Request(None)));
    exporter.shutdown().await;
    assert_eq!(heard.recv().unwrap(), 1);
}
