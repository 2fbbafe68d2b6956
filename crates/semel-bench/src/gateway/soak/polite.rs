//! A client that keeps its connection and waits for every answer.

use semel_core::Result;

use super::super::connection::Connection;
use super::super::request::{OTHER_PAYMENT, PAYMENT, Request};
use super::clients::Client;
use super::tally::{Act, Tally};
use crate::sample::mix;

/// Sends new keys, old keys, old keys with another body, and no keys, until the time is over.
pub(super) async fn polite(client: Client) -> Result<Tally> {
    let host = client.gateway.address;
    let mut payment = Request::guarded(host, PAYMENT);
    let mut other = Request::guarded(host, OTHER_PAYMENT);
    let unguarded = Request::unguarded(host, PAYMENT);
    let mut connection = Connection::open(client.gateway).await?;
    let (mut tally, mut settled, mut draw) = (Tally::default(), 0, client.seed);
    while !client.is_over() {
        draw = mix(draw.wrapping_add(1));
        let act = choose(draw, settled);
        let old = (draw >> 8) % settled.max(1);
        let request = match act {
            Act::First => payment.keyed(client.seed, settled),
            Act::Replay => payment.keyed(client.seed, old),
            Act::Mismatch => other.keyed(client.seed, old),
            _ => unguarded.bytes(),
        };
        let head = connection.ask(request).await?;
        let (status, is_replay) = expected(act);
        if (head.status, head.is_replay) != (Some(status), is_replay) {
            let expected = format!("{status} to the act {:?}", act.name());
            return Err(client.gateway.wrong(&expected, head));
        }
        settled += u64::from(act == Act::First);
        tally.add(act);
    }
    Ok(tally)
}

/// New keys are few, because each stays on the disk; the other acts are what a busy gateway sees.
fn choose(draw: u64, settled: u64) -> Act {
    match draw % 16 {
        _ if settled == 0 => Act::First,
        0 => Act::First,
        1 => Act::Mismatch,
        2..=8 => Act::Replay,
        _ => Act::Unguarded,
    }
}

const fn expected(act: Act) -> (u16, bool) {
    match act {
        Act::Replay => (201, true),
        Act::Mismatch => (422, false),
        _ => (201, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_repeated_before_it_was_done_and_everything_is_done() {
        assert!((0..100).all(|draw| choose(draw, 0) == Act::First));
        for act in [Act::First, Act::Replay, Act::Mismatch, Act::Unguarded] {
            assert!((0..16).any(|draw| choose(draw, 1) == act), "{}", act.name());
        }
    }
}
