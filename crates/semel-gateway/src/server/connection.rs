//! Serves one client's connection.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};

use super::heads::Heads;
use super::load::Pulse;
use super::{Phase, Shared, Snapshot};
use crate::forward;
use crate::hygiene::Origin;
use crate::wire::Wire;

/// A client's connection, as its requests see it.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) shared: Arc<Shared>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) origin: Origin,
}

/// Serves a connection to its end.
pub(super) async fn serve(
    shared: Arc<Shared>,
    stream: TcpStream,
    peer: SocketAddr,
    pulse: Arc<Pulse>,
) {
    let _closing = Closing(pulse.clone());
    let snapshot = shared.snapshot();
    let client = |is_tls| {
        Arc::new(Client {
            origin: Origin::new(peer.ip(), is_tls),
            shared: shared.clone(),
            pulse: pulse.clone(),
        })
    };
    let Some(tls) = &snapshot.tls else {
        return converse(stream, client(false), &snapshot).await;
    };
    match timeout(snapshot.timeouts.header, tls.0.accept(stream)).await {
        Ok(Ok(stream)) => converse(stream, client(true), &snapshot).await,
        Ok(Err(error)) => tracing::debug!(%peer, %error, "a TLS handshake failed"),
        Err(_) => tracing::debug!(%peer, "a TLS handshake was not finished in time"),
    }
}

/// Counts a connection out, however it ends.
struct Closing(Arc<Pulse>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

async fn converse<T>(stream: T, client: Arc<Client>, snapshot: &Snapshot)
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let timeouts = snapshot.timeouts;
    let pulse = client.pulse.clone();
    let mut phase = client.shared.phase();
    let reads = Heads::new(pulse.clone(), timeouts.header);
    let io = TokioIo::new(Wire::new(stream, reads, timeouts.body_idle));
    let service = service_fn(move |request| forward::answer(&client, request));
    let mut serving = pin!(snapshot.http.0.serve_connection_with_upgrades(io, service));
    let mut look = Instant::now() + timeouts.idle.min(timeouts.header);
    let mut is_told = false;
    loop {
        // A phase that changed before we looked counts too.
        match *phase.borrow_and_update() {
            Phase::Open => {}
            Phase::Draining => serving.as_mut().graceful_shutdown(),
            Phase::Closed => return,
        }
        tokio::select! {
            biased;
            ended = serving.as_mut() => {
                return ended.unwrap_or_else(|error| {
                    tracing::debug!(error, "a client's connection ended");
                });
            }
            // The sender lives as long as any client, so this never fails.
            _ = phase.changed() => {}
            () = sleep_until(look) => {
                let now = Instant::now();
                match deadline(&pulse, &timeouts) {
                    // A request may come and go before this deadline, and set an earlier one.
                    Some(deadline) if deadline > now => look = deadline.min(now + timeouts.idle),
                    None => look = now + timeouts.idle,
                    Some(_) if is_told => return,
                    Some(_) => {
                        serving.as_mut().graceful_shutdown();
                        (is_told, look) = (true, now + timeouts.header);
                    }
                }
            }
        }
    }
}

/// Until when an idle connection may wait for its next request; the first one must come sooner.
fn deadline(pulse: &Pulse, timeouts: &crate::config::Timeouts) -> Option<Instant> {
    let limit = match pulse.requests() {
        0 => timeouts.header,
        _ => timeouts.idle,
    };
    pulse.idle_since().map(|since| since + limit)
}
