//! Asks a Redis server one thing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::error::{Error, Result};

use super::super::endpoint::Endpoint;

/// More than any answer to what is asked here.
const ANSWER_MAX: usize = 64 * 1024;

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Login<'a> {
    /// Empty for the default user.
    pub(super) user: &'a str,
    pub(super) password: Option<&'a str>,
}

/// Sends one command and returns the text of the answer.
pub(super) fn ask(endpoint: &Endpoint, login: Login<'_>, command: &[&str]) -> Result<String> {
    let mut stream = BufReader::new(endpoint.connect()?);
    match (login.user, login.password) {
        (_, None) => {}
        ("", Some(password)) => drop(exchange(&mut stream, &["AUTH", password])?),
        (user, Some(password)) => drop(exchange(&mut stream, &["AUTH", user, password])?),
    }
    exchange(&mut stream, command)
}

fn exchange(stream: &mut BufReader<TcpStream>, command: &[&str]) -> Result<String> {
    let written = stream.get_mut().write_all(encoded(command).as_bytes());
    written.map_err(Error::when("ask the server"))?;
    answer(stream)
}

fn encoded(command: &[&str]) -> String {
    let words = command.iter();
    let words: String = words
        .map(|word| format!("${}\r\n{word}\r\n", word.len()))
        .collect();
    format!("*{}\r\n{words}", command.len())
}

/// Reads a line or a text; other forms are never asked for.
fn answer(stream: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    let read = stream.take(ANSWER_MAX as u64).read_line(&mut line);
    read.map_err(Error::when("read the server's answer"))?;
    let line = line.trim_end();
    let strange = || Error::failed("what answers is not Redis");
    match line.split_at_checked(1) {
        Some(("+", text)) => Ok(text.to_owned()),
        Some(("-", why)) => Err(Error::failed(format!("the server says: {why}"))),
        Some(("$", length)) => {
            let length: usize = length.parse().map_err(|_| strange())?;
            if length > ANSWER_MAX {
                return Err(strange());
            }
            let mut text = vec![0; length];
            let read = stream.read_exact(&mut text);
            read.map_err(Error::when("read the server's answer"))?;
            String::from_utf8(text).map_err(|_| strange())
        }
        _ => Err(strange()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_line_a_text_or_a_refusal() {
        let table = [
            ("+PONG\r\n", Ok("PONG")),
            ("$4\r\na\r\nb\r\n", Ok("a\r\nb")),
            ("-LOADING wait\r\n", Err("the server says: LOADING wait")),
            ("HTTP/1.1 400\r\n", Err("what answers is not Redis")),
            ("$999999\r\n", Err("what answers is not Redis")),
            ("", Err("what answers is not Redis")),
        ];
        for (bytes, expected) in table {
            let found = answer(&mut bytes.as_bytes()).map_err(|error| error.to_string());
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(found, expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_command_is_sent_by_length() {
        assert_eq!(encoded(&["AUTH", "é"]), "*2\r\n$4\r\nAUTH\r\n$2\r\né\r\n");
    }
}
