//! The service behind every proxy: it answers each request at once with the same 201.
//!
//! It is as cheap as it can be, because it shares the machine with what is measured.

use std::io;
use std::net::SocketAddr;

use semel_core::Result;
use tokio::net::{TcpListener, TcpStream};

use super::solo;
use super::wire::Wire;
use crate::machine::io as doing;

/// 300 bytes of JSON, and a head that says so.
const ANSWER: &[u8] = b"HTTP/1.1 201 Created\r\n\
    Content-Type: application/json\r\n\
    Content-Length: 300\r\n\
    \r\n\
    {\"id\":\"pay_3MtwBwLkdIwHu7ix28a3tqPa\",\"object\":\"payment\",\"amount\":1250,\"currency\":\"eur\",\
    \"account\":\"acct_1MtCmzLkdIwHu7ix\",\"status\":\"succeeded\",\"created\":1793000000,\
    \"receipt\":\"rcpt_8c1f0e6ab74d4f0f9d53c2b7e1a6d9440b7c42d1e9a03\",\"livemode\":false,\
    \"description\":\"order 48213, blue, captured\",\"refunds\":[]}";

/// Serves until the process ends.
pub async fn serve(listen: SocketAddr) -> Result<()> {
    solo::run(move || async move {
        let listener = TcpListener::bind(listen)
            .await
            .map_err(doing("listening as the upstream"))?;
        accept(listener)
            .await
            .map_err(doing("serving the upstream"))
    })
    .await
}

/// Serves whoever connects.
pub(super) async fn accept(listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        // A connection that fails is its client's to notice.
        tokio::spawn(answer(stream));
    }
}

async fn answer(stream: TcpStream) -> io::Result<()> {
    let mut wire = Wire::new(stream)?;
    while let Some(head) = wire.receive().await? {
        wire.send(ANSWER).await?;
        if head.closes {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::head::Head;
    use super::*;

    #[test]
    fn the_answer_has_the_length_it_claims() {
        let head = Head::read(ANSWER).unwrap();
        assert_eq!(head.status, Some(201));
        assert_eq!(head.body_bytes, Some(ANSWER.len() - head.bytes));
        let body: serde_json::Value = serde_json::from_slice(&ANSWER[head.bytes..]).unwrap();
        assert_eq!(body["status"], "succeeded");
    }
}
