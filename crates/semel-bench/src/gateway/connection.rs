//! A client's end of a connection: asks, and reads what comes back.

use std::net::SocketAddr;

use semel_core::{Error, Kind, Result};
use tokio::net::TcpStream;

use super::head::Head;
use super::wire::Wire;
use crate::machine::io;

/// A process that is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
}

impl Target {
    /// A new connection to it.
    pub(super) async fn connect(self) -> Result<Wire> {
        let stream = TcpStream::connect(self.address).await;
        stream
            .and_then(Wire::new)
            .map_err(|e| self.failed("accept a connection").caused_by(e))
    }

    pub(super) fn failed(self, expected: &str) -> Error {
        Error::new(Kind::Unavailable, format!("{} must {expected}", self.name))
    }

    /// A process that answers otherwise is not fit to be measured.
    pub(super) fn wrong(self, expected: &str, head: Head) -> Error {
        let status = head
            .status
            .map_or("nothing known".into(), |s| s.to_string());
        let marker = match head.is_replay {
            true => " as a replay",
            false => "",
        };
        let name = self.name;
        let message = format!("{name} must answer with {expected}, found {status}{marker}");
        Error::new(Kind::Internal, message)
    }
}

/// A connection that is kept for the next request as long as the other side agrees.
#[derive(Debug)]
pub(super) struct Connection {
    target: Target,
    wire: Wire,
    is_over: bool,
}

impl Connection {
    pub(super) async fn open(target: Target) -> Result<Self> {
        Ok(Self {
            target,
            wire: target.connect().await?,
            is_over: false,
        })
    }

    /// Sends a request and waits for the whole answer.
    pub(super) async fn ask(&mut self, request: &[u8]) -> Result<Head> {
        if self.is_over {
            *self = Self::open(self.target).await?;
        }
        self.wire
            .send(request)
            .await
            .map_err(io("sending a request"))?;
        let received = self.wire.receive().await;
        let found = received.map_err(|e| self.target.failed("answer").caused_by(e))?;
        let head = found.ok_or_else(|| {
            self.target
                .failed("answer before it ends a connection that was not idle")
        })?;
        self.is_over = head.closes;
        Ok(head)
    }
}
