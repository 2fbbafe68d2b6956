//! Refuses requests that two parties could read differently.
//!
//! hyper has parsed the request by then. By itself it refuses, with a bare 400, lengths that differ, a
//! `Transfer-Encoding` that does not end in `chunked` or comes with HTTP/1.0, and names and values with
//! forbidden bytes. Of a length beside a `Transfer-Encoding` it believes the latter and reads no further request
//! from the connection; equal lengths are one length. What goes to the upstream is framed anew either way.

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, TRANSFER_ENCODING};
use http::{Method, Request, StatusCode, Version};
use semel_http::{Problem, Type};

use super::hop::{NAMES_MAX, misnamed, names};
use crate::path;

/// Says what is wrong with a request, if anything is.
pub(crate) fn screen<B>(request: &Request<B>) -> Result<(), Problem> {
    method(request)?;
    framing(request)?;
    host(request)?;
    target(request)?;
    match request.headers().contains_key(CONNECTION) {
        true => connection(request.headers()),
        false => Ok(()),
    }
}

fn connection(headers: &HeaderMap) -> Result<(), Problem> {
    if names(headers, CONNECTION).count() > NAMES_MAX {
        return Err(bad("Connection names too many headers"));
    }
    match misnamed(headers) {
        Some(name) => Err(bad(&format!(
            "Connection names {name}, which is not a header of one connection"
        ))),
        None => Ok(()),
    }
}

fn bad(detail: &str) -> Problem {
    Problem::new(Type::BadRequest, detail)
}

fn method<B>(request: &Request<B>) -> Result<(), Problem> {
    match *request.method() {
        Method::CONNECT => {
            let problem = bad("this gateway is not a forward proxy: CONNECT is not supported");
            Err(problem.status(StatusCode::NOT_IMPLEMENTED))
        }
        _ => Ok(()),
    }
}

fn framing<B>(request: &Request<B>) -> Result<(), Problem> {
    let headers = request.headers();
    if headers.get_all(CONTENT_LENGTH).iter().count() > 1 {
        return Err(bad("Content-Length is sent more than once"));
    }
    let mut encodings = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(encoding) = encodings.next() else {
        return Ok(());
    };
    if encodings.next().is_some() || !encoding.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Err(bad("Transfer-Encoding other than chunked is not supported"));
    }
    match headers.contains_key(CONTENT_LENGTH) {
        true => Err(bad("Content-Length and Transfer-Encoding are both sent")),
        false => Ok(()),
    }
}

fn host<B>(request: &Request<B>) -> Result<(), Problem> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(bad("Host is sent more than once"));
    }
    if let Some(host) = host
        && !host.as_bytes().iter().all(|b| is_host_byte(*b))
    {
        return Err(bad("Host holds characters that no host has"));
    }
    match (host, request.uri().authority()) {
        (None, None) if request.version() > Version::HTTP_10 => Err(bad("Host is missing")),
        (Some(host), Some(authority))
            if !host
                .as_bytes()
                .eq_ignore_ascii_case(authority.as_str().as_bytes()) =>
        {
            Err(bad(
                "the request names one host in its target and another in Host",
            ))
        }
        (_, Some(authority)) if authority.as_str().contains('@') => {
            Err(bad("the request's target holds a user name"))
        }
        _ => Ok(()),
    }
}

/// Letters, digits and marks of names, addresses and ports.
const fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']' | b'%' | b'~')
}

fn target<B>(request: &Request<B>) -> Result<(), Problem> {
    let path = request.uri().path();
    let asks_for_all = request.method() == Method::OPTIONS && path == "*";
    match asks_for_all || path::is_unambiguous(path) {
        true => Ok(()),
        false => Err(bad("the path has dot segments, or is none")),
    }
}
