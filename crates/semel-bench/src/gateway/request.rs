//! Requests that are written once and sent many times: only the key changes, in place.

use std::net::SocketAddr;

use crate::sample::mix;

/// Bytes of a key, without the quotes around it.
const KEY_BYTES: usize = 44;
const KEY_PREFIX: &[u8] = b"pay_";

/// What a payment says, at the usual length.
pub(super) const PAYMENT: &[u8] = br#"{"account":"acct_1MtCmzLkdIwHu7ix","amount":1250,"currency":"eur","reference":"order 48213","capture":true,"note":"blue"}"#;
/// The same with another amount.
pub(super) const OTHER_PAYMENT: &[u8] = br#"{"account":"acct_1MtCmzLkdIwHu7ix","amount":9999,"currency":"eur","reference":"order 48213","capture":true,"note":"blue"}"#;

/// A request, ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct Request {
    bytes: Vec<u8>,
    key_at: usize,
    body_bytes: usize,
}

impl Request {
    /// A request that no gateway guards.
    pub(super) fn unguarded(host: SocketAddr, body: &[u8]) -> Self {
        Self::new(host, "", body)
    }

    /// A request with a key, which [`keyed`](Self::keyed) chooses.
    pub(super) fn guarded(host: SocketAddr, body: &[u8]) -> Self {
        let blank = "0".repeat(KEY_BYTES);
        let header = format!("Idempotency-Key: \"{blank}\"\r\n");
        let mut request = Self::new(host, &header, body);
        let found = request
            .bytes
            .windows(KEY_BYTES)
            .position(|part| part == blank.as_bytes());
        request.key_at = found.expect("the key was written a moment ago");
        request
    }

    /// The same request with the key of this number; another seed makes other keys.
    pub(super) fn keyed(&mut self, seed: u64, number: u64) -> &[u8] {
        let key = &mut self.bytes[self.key_at..self.key_at + KEY_BYTES];
        key.copy_from_slice(&key_of(seed, number));
        &self.bytes
    }

    /// All of it.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where its body begins.
    pub(super) fn body_at(&self) -> usize {
        self.bytes.len() - self.body_bytes
    }

    fn new(host: SocketAddr, header: &str, body: &[u8]) -> Self {
        let length = body.len();
        let head = format!(
            "POST /payments HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             {header}Content-Length: {length}\r\n\r\n"
        );
        Self {
            bytes: [head.as_bytes(), body].concat(),
            key_at: 0,
            body_bytes: length,
        }
    }
}

/// Unlike any other key of the seed: the first digits are a permutation of the numbers.
fn key_of(seed: u64, number: u64) -> [u8; KEY_BYTES] {
    let first = mix(seed.wrapping_add(number));
    let second = mix(first ^ seed);
    let mut key = [0; KEY_BYTES];
    let (prefix, digits) = key.split_at_mut(KEY_PREFIX.len());
    prefix.copy_from_slice(KEY_PREFIX);
    let (a, rest) = digits.split_at_mut(16);
    let (b, c) = rest.split_at_mut(16);
    hex(first, a);
    hex(second, b);
    hex(number, c);
    key
}

/// The lowest digits of a number, as many as there is room for.
fn hex(mut number: u64, digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number & 0xf) as usize];
        number >>= 4;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::head::Head;
    use super::*;

    fn host() -> SocketAddr {
        "127.0.0.1:80".parse().unwrap()
    }

    #[test]
    fn a_request_is_whole_and_says_its_length() {
        for (request, keys) in [
            (Request::unguarded(host(), PAYMENT), 0),
            (Request::guarded(host(), PAYMENT), 1),
        ] {
            let head = Head::read(request.bytes()).unwrap();
            assert_eq!(head.bytes, request.body_at());
            assert_eq!(head.body_bytes, Some(PAYMENT.len()));
            assert_eq!(&request.bytes()[request.body_at()..], PAYMENT);
            let text = std::str::from_utf8(request.bytes()).unwrap();
            assert_eq!(text.matches("Idempotency-Key: \"").count(), keys);
        }
    }

    #[test]
    fn only_the_key_changes() {
        let mut request = Request::guarded(host(), PAYMENT);
        let first = request.keyed(7, 1).to_vec();
        let text = String::from_utf8(first.clone()).unwrap();
        let key = text.split('"').nth(1).unwrap();
        assert_eq!(key.len(), KEY_BYTES);
        assert!(key.starts_with("pay_") && key.ends_with("00000001"));
        assert_ne!(request.keyed(7, 2), first);
        assert_ne!(request.keyed(8, 1), first);
        assert_eq!(request.keyed(7, 1), first);
    }

    #[test]
    fn keys_of_a_seed_never_meet() {
        let keys: HashSet<_> = (0..10_000).map(|number| key_of(3, number)).collect();
        assert_eq!(keys.len(), 10_000);
    }

    #[test]
    fn payments_are_alike_but_for_the_amount() {
        assert_eq!(PAYMENT.len(), OTHER_PAYMENT.len());
        assert!((110..=130).contains(&PAYMENT.len()), "{}", PAYMENT.len());
        for body in [PAYMENT, OTHER_PAYMENT] {
            let value: serde_json::Value = serde_json::from_slice(body).unwrap();
            assert_eq!(value["currency"], "eur");
        }
    }
}
