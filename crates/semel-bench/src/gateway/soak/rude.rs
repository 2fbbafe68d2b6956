//! Clients that are slow, stop half-way, or leave before the answer. Half of those that leave say goodbye (FIN),
//! the other half vanish (RST).

use std::time::Duration;

use semel_core::Result;

use super::super::head::Head;
use super::super::request::{PAYMENT, Request};
use super::super::wire::Wire;
use super::clients::Client;
use super::tally::{Act, Tally};
use crate::machine::io;

/// Between two bytes of a slow client, and between two acts of one that leaves.
const PAUSE: Duration = Duration::from_millis(100);
const SHORT_PAYMENT: &[u8] = br#"{"amount":1250,"currency":"eur"}"#;
const UPLOAD_BYTES: usize = 64 * 1024;

/// Sends its body byte by byte, then waits for the answer.
pub(super) async fn slow(client: Client) -> Result<Tally> {
    let mut requests = Requests::new(client, SHORT_PAYMENT);
    let mut tally = Tally::default();
    while !client.is_over() {
        let request = requests.next();
        let mut wire = client.gateway.connect().await?;
        let (head, body) = request.bytes().split_at(request.body_at());
        wire.send(head).await.map_err(io("sending a head"))?;
        for byte in body {
            tokio::time::sleep(PAUSE).await;
            wire.send(&[*byte]).await.map_err(io("sending slowly"))?;
        }
        let answer = answer(client, &mut wire).await?;
        if (answer.status, answer.is_replay) != (Some(201), false) {
            return Err(client.gateway.wrong("201 to a slow client", answer));
        }
        tally.add(Act::Slow);
    }
    Ok(tally)
}

/// Sends half of a large body and leaves.
pub(super) async fn aborting(client: Client) -> Result<Tally> {
    let mut requests = Requests::new(client, &json_of(UPLOAD_BYTES));
    let mut tally = Tally::default();
    while !client.is_over() {
        let request = requests.next();
        let mut wire = client.gateway.connect().await?;
        let half = request.body_at() + UPLOAD_BYTES / 2;
        wire.send(&request.bytes()[..half])
            .await
            .map_err(io("sending half of a request"))?;
        leave(wire, requests.number);
        tally.add(Act::Abort);
        tokio::time::sleep(PAUSE).await;
    }
    Ok(tally)
}

/// Sends a whole request, leaves before the answer, and comes back for it once.
pub(super) async fn disconnecting(client: Client) -> Result<Tally> {
    let mut requests = Requests::new(client, PAYMENT);
    let mut tally = Tally::default();
    while !client.is_over() {
        let request = requests.next();
        let mut wire = client.gateway.connect().await?;
        wire.send(request.bytes())
            .await
            .map_err(io("sending a request"))?;
        leave(wire, requests.number);
        tally.add(Act::Disconnect);
        tokio::time::sleep(PAUSE).await;
        tally.add(retry(client, &request).await?);
    }
    Ok(tally)
}

/// The effect may still be on its way, or nobody may know of it: to refuse is right then.
async fn retry(client: Client, request: &Request) -> Result<Act> {
    let mut wire = client.gateway.connect().await?;
    wire.send(request.bytes())
        .await
        .map_err(io("sending a request again"))?;
    let answer = answer(client, &mut wire).await?;
    match answer.status {
        Some(201) => Ok(Act::Retry),
        Some(409) => Ok(Act::RetryRefused),
        _ => Err(client.gateway.wrong("201 or 409 to a retry", answer)),
    }
}

async fn answer(client: Client, wire: &mut Wire) -> Result<Head> {
    let received = wire.receive().await;
    let found = received.map_err(|e| client.gateway.failed("answer").caused_by(e))?;
    found.ok_or_else(|| client.gateway.failed("answer before it ends a connection"))
}

fn leave(wire: Wire, number: u64) {
    // By every second pair of requests, so that both kinds of request end both ways.
    if number & 2 == 0 {
        // If it cannot vanish it says goodbye.
        let _ = wire.reset();
    }
}

/// Requests by turns with a new key and without any.
struct Requests {
    guarded: Request,
    unguarded: Request,
    seed: u64,
    number: u64,
}

impl Requests {
    fn new(client: Client, body: &[u8]) -> Self {
        Self {
            guarded: Request::guarded(client.gateway.address, body),
            unguarded: Request::unguarded(client.gateway.address, body),
            seed: client.seed,
            number: 0,
        }
    }

    fn next(&mut self) -> Request {
        self.number += 1;
        if self.number & 1 == 0 {
            return self.unguarded.clone();
        }
        self.guarded.keyed(self.seed, self.number);
        self.guarded.clone()
    }
}

/// A JSON text of so many bytes.
fn json_of(bytes: usize) -> Vec<u8> {
    let mut text = vec![b'x'; bytes];
    text[0] = b'"';
    text[bytes - 1] = b'"';
    text
}
