//! Asks servers the first thing of their protocols: what answers, and is it ready?
//!
//! A port that accepts connections is not enough: some servers listen long before they answer.

use std::io::{BufRead, BufReader, Read, Write};

use crate::error::{Error, Result};

use super::endpoint::{Endpoint, Target};

pub(super) mod redis;

/// More than any answer to what is asked here.
const ANSWER_MAX: usize = 64 * 1024;

/// Something listens.
pub(super) fn connects(target: &Target<'_>) -> Result<()> {
    target
        .endpoints
        .iter()
        .try_for_each(|endpoint| endpoint.connect().map(drop))
}

/// PostgreSQL takes connections: it asks for a password or refuses for another reason than that it is starting.
pub(super) fn postgres(target: &Target<'_>) -> Result<()> {
    const STARTUP: &[u8] = b"\0\0\0\x14\0\x03\0\0user\0semel\0\0";
    const CANNOT_CONNECT_NOW: &[u8] = b"C57P03\0";
    let answer = ask(target, STARTUP, 1)?;
    match answer.as_slice() {
        [b'R', ..] => Ok(()),
        [b'E', rest @ ..] => {
            let is_early = rest
                .windows(CANNOT_CONNECT_NOW.len())
                .any(|part| part == CANNOT_CONNECT_NOW);
            if is_early {
                Err(Error::failed("the server is starting or stopping"))
            } else {
                Ok(())
            }
        }
        _ => Err(Error::failed("what answers is not PostgreSQL")),
    }
}

/// Kafka says which requests it understands.
pub(super) fn kafka(target: &Target<'_>) -> Result<()> {
    // Key 18, version 0, the number 7 of the request, and a client's name.
    let answer = ask(target, b"\0\0\0\x0f\0\x12\0\0\0\0\0\x07\0\x05semel", 10)?;
    match answer.get(4..10) {
        Some([0, 0, 0, 7, 0, 0]) => Ok(()),
        _ => Err(Error::failed("what answers is not Kafka")),
    }
}

/// RabbitMQ opens the connection.
pub(super) fn amqp(target: &Target<'_>) -> Result<()> {
    // The answer is a method's frame on channel 0: class 10, method 10.
    let answer = ask(target, b"AMQP\0\0\x09\x01", 11)?;
    match answer.as_slice() {
        [1, 0, 0, _, _, _, _, 0, 10, 0, 10, ..] => Ok(()),
        _ => Err(Error::failed("what answers is not an AMQP 0-9-1 broker")),
    }
}

/// NATS says what it is, and that it has JetStream.
pub(super) fn nats(target: &Target<'_>) -> Result<()> {
    let stream = BufReader::new(first(target)?.connect()?);
    let mut line = String::new();
    let read = stream.take(ANSWER_MAX as u64).read_line(&mut line);
    read.map_err(Error::when("read the server's first line"))?;
    if !line.starts_with("INFO {") {
        return Err(Error::failed("what answers is not NATS"));
    }
    if line.contains("\"jetstream\":true") {
        Ok(())
    } else {
        Err(Error::failed("the server has no JetStream"))
    }
}

/// An HTTP server answers.
pub(super) fn http(target: &Target<'_>) -> Result<()> {
    let Endpoint { host, port } = first(target)?;
    let request = format!(
        "GET /?Action=ListQueues HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
    );
    let answer = ask(target, request.as_bytes(), 9)?;
    if answer.starts_with(b"HTTP/1.1 ") {
        Ok(())
    } else {
        Err(Error::failed("what answers is not an HTTP server"))
    }
}

fn first<'a>(target: &'a Target<'_>) -> Result<&'a Endpoint> {
    target
        .endpoints
        .first()
        .ok_or_else(|| Error::failed("the address names no host"))
}

/// Sends `question` to the first process and reads what comes back at once, at least `least` bytes.
fn ask(target: &Target<'_>, question: &[u8], least: usize) -> Result<Vec<u8>> {
    let mut stream = first(target)?.connect()?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    let mut exchange = || {
        stream.write_all(question)?;
        while answer.len() < least {
            match stream.read(&mut buffer)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                read => answer.extend_from_slice(&buffer[..read]),
            }
        }
        Ok(())
    };
    exchange().map_err(|error: std::io::Error| {
        Error::failed(format!("no answer to a first message: {error}"))
    })?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::server::Probe;
    use std::net::TcpListener;

    /// What a probe says about a server that answers with these bytes.
    fn said(probe: Probe, answer: &'static [u8]) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(answer).unwrap();
            // Until the client has gone.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let result = probe(&Target::parse(&address, &[], 0).unwrap());
        server.join().unwrap();
        result.map_or_else(|error| error.to_string(), |()| "ready".to_owned())
    }

    #[test]
    fn a_first_answer_tells_what_a_server_is_and_whether_it_is_ready() {
        const HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        let table: [(Probe, &'static [u8], &str); 12] = [
            (postgres, b"R\0\0\0\x17\0\0\0\x0a", "ready"),
            (
                postgres,
                b"E\0\0\0\x20SFATAL\0C57P03\0Mwait\0\0",
                "the server is starting or stopping",
            ),
            (postgres, b"E\0\0\0\x20SFATAL\0C28000\0Mwho\0\0", "ready"),
            (postgres, HTTP, "what answers is not PostgreSQL"),
            (kafka, b"\0\0\0\x0a\0\0\0\x07\0\0\0\0\0\0", "ready"),
            (kafka, HTTP, "what answers is not Kafka"),
            (amqp, b"\x01\0\0\0\0\0\x09\0\x0a\0\x0a\0\x09", "ready"),
            (
                amqp,
                b"AMQP\0\x01\0\0AMQP",
                "what answers is not an AMQP 0-9-1 broker",
            ),
            (nats, b"INFO {\"jetstream\":true}\r\n", "ready"),
            (
                nats,
                b"INFO {\"port\":1}\r\n",
                "the server has no JetStream",
            ),
            (http, HTTP, "ready"),
            (
                http,
                b"INFO {\"port\":1}\r\n",
                "what answers is not an HTTP server",
            ),
        ];
        for (probe, answer, expected) in table {
            assert_eq!(said(probe, answer), expected, "{answer:?}");
        }
    }
}
