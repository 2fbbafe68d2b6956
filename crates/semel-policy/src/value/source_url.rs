//! Where a consumer's messages come from.

use std::path::PathBuf;

use schemars::{Schema, json_schema};

use super::broker_url::BrokerUrl;
use super::word::{Refusal, Text};
use crate::limits::NAME_BYTES_MAX;

/// Where messages come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceUrl {
    /// They are posted to `/inbox/NAME`.
    Http,
    /// They are the lines of a file, each one JSON.
    File {
        /// The file.
        path: PathBuf,
        /// Whether lines that are added later are read too.
        follow: bool,
        /// Whether a line is the message itself, rather than an envelope with `id`, `type`, `key`, `sequence` and `payload`.
        whole_lines: bool,
    },
    /// They are delivered by a broker.
    Broker(BrokerUrl),
}

impl Text for SourceUrl {
    const EXPECTED: &'static str =
        "http, file:PATH, or the URL of a broker (kafka, amqp, nats, sqs, redis-streams)";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match text.split_once(':') {
            None if text == "http" => Ok(Self::Http),
            Some(("file", rest)) => file(rest),
            Some(_) if BrokerUrl::is_like(text) => BrokerUrl::parse(text).map(Self::Broker),
            Some(("http" | "https", _)) => Err(Refusal::Said(
                "expected http alone, because messages are posted to /inbox/NAME of inbox.listen, found a URL"
                    .to_owned(),
            )),
            Some(_) => Err(Refusal::Said(format!("expected {}", Self::EXPECTED))),
            None => Err(Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(http|file:.+|(kafka|amqps?|nats|tls|sqs|rediss?-streams)://.+)$",
            "examples": ["http", "file:events.jsonl?follow=true", "kafka://127.0.0.1:9092/orders?group=mailer"]
        })
    }
}

fn file(rest: &str) -> Result<SourceUrl, Refusal> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    // `file:///var/events` and `file:/var/events` are the same file.
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.len() > NAME_BYTES_MAX || path.contains('\0') {
        let message =
            format!("a file such as file:events.jsonl, with a path of 1 to {NAME_BYTES_MAX} bytes");
        return Err(Refusal::Expected(message));
    }
    let (mut follow, mut whole_lines) = (false, false);
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=') {
            Some(("follow", "true")) => follow = true,
            Some(("follow", "false")) => follow = false,
            Some(("lines", "whole")) => whole_lines = true,
            Some(("lines", "envelope")) => whole_lines = false,
            _ => {
                let expected = "follow=true, lines=whole or nothing after the path";
                return Err(Refusal::Expected(expected.to_owned()));
            }
        }
    }
    let path = path.into();
    Ok(SourceUrl::File {
        path,
        follow,
        whole_lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_http_or_a_file() {
        let file = |path: &str, follow, whole_lines| SourceUrl::File {
            path: path.into(),
            follow,
            whole_lines,
        };
        for (text, expected) in [
            ("http", SourceUrl::Http),
            ("file:a.jsonl", file("a.jsonl", false, false)),
            ("file:/a/b?follow=true", file("/a/b", true, false)),
            ("file:a?lines=whole&follow=true", file("a", true, true)),
            ("file:a?lines=envelope", file("a", false, false)),
            ("file:///a/b?follow=false", file("/a/b", false, false)),
        ] {
            assert_eq!(SourceUrl::parse(text).unwrap(), expected, "{text}");
        }
        for text in [
            "",
            "https",
            "file:",
            "file:?follow=true",
            "file:a?tail=1",
            "a.jsonl",
            "http://a",
        ] {
            assert!(SourceUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_broker_is_taken_and_never_quoted() {
        let url = SourceUrl::parse("kafka://u:hunter2@h/t").unwrap();
        assert!(matches!(url, SourceUrl::Broker(_)));
        assert!(!format!("{url:?}").contains("hunter2"));
        let Err(Refusal::Said(said)) = SourceUrl::parse("odd://u:hunter2@h") else {
            panic!("an unknown scheme is taken");
        };
        assert!(!said.contains("hunter2"), "{said}");
    }
}
