//! Serves one client's connection.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use crate::access::{Entry, Sent};
use crate::heads::Heads;
use crate::listener::{Phase, Shared};
use crate::load::Pulse;
use crate::peer::Peer;
use crate::settings::{Ready, Settings};
use crate::wire::Wire;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Makes the service of one connection. Every function from a [`Peer`] to a service of hyper is one.
pub trait Serves: Send + Sync + 'static {
    /// Answers the requests of one connection.
    type Service: Service<
            Request<Incoming>,
            Response = Response<Self::Body>,
            Error = Infallible,
            Future: Send + 'static,
        > + Send
        + 'static;
    /// What it answers with.
    type Body: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static;

    /// The service of this connection.
    fn service(&self, peer: Arc<Peer>) -> Self::Service;
}

impl<F, S, B> Serves for F
where
    F: Fn(Arc<Peer>) -> S + Send + Sync + 'static,
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    type Service = S;
    type Body = B;

    fn service(&self, peer: Arc<Peer>) -> S {
        self(peer)
    }
}

/// A connection that was accepted.
pub(crate) struct Arrived<F> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) service: Arc<F>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) ip: Option<IpAddr>,
}

/// A connection among the others; counted out however it ends.
struct Member {
    shared: Arc<Shared>,
    pulse: Arc<Pulse>,
    id: u64,
}

impl Drop for Member {
    fn drop(&mut self) {
        self.shared.crowd.part(self.id);
        self.pulse.close();
    }
}

impl<F> Arrived<F> {
    fn join(&self) -> (Member, oneshot::Receiver<()>) {
        let (id, leave) = self.shared.crowd.join(self.pulse.clone());
        let member = Member {
            shared: self.shared.clone(),
            pulse: self.pulse.clone(),
            id,
        };
        (member, leave)
    }
}

/// Serves a connection to its end, with TLS if the settings say so.
pub(crate) async fn serve<F: Serves>(arrived: Arrived<F>, stream: TcpStream) {
    let (_member, mut leave) = arrived.join();
    let ready = arrived.shared.ready();
    let Some(secure) = &ready.tls else {
        return converse(stream, arrived, &ready, leave, None).await;
    };
    let mut phase = arrived.shared.phase.subscribe();
    let shaken = tokio::select! {
        shaken = timeout(ready.settings.header, secure.acceptor.accept(stream)) => shaken,
        // Nothing is lost: no request can have come yet.
        _ = &mut leave => return,
        _ = phase.wait_for(|phase| *phase != Phase::Open) => return,
    };
    let (port, peer) = (arrived.shared.name, arrived.ip);
    match shaken {
        Ok(Ok(stream)) => {
            let certificates = stream.get_ref().1.peer_certificates();
            let own = certificates.and_then(|chain| chain.first());
            let tls = Secured(own.map(|own| own.clone().into_owned()));
            converse(stream, arrived, &ready, leave, Some(tls)).await;
        }
        Ok(Err(error)) => tracing::debug!(port, ?peer, %error, "a TLS handshake failed"),
        Err(_) => tracing::debug!(port, ?peer, "a TLS handshake was not finished in time"),
    }
}

/// Serves a connection that is never encrypted.
#[cfg(unix)]
pub(crate) async fn serve_plain<F: Serves>(arrived: Arrived<F>, stream: tokio::net::UnixStream) {
    let (_member, leave) = arrived.join();
    let ready = arrived.shared.ready();
    converse(stream, arrived, &ready, leave, None).await;
}

/// What TLS says about the client.
struct Secured(Option<tokio_rustls::rustls::pki_types::CertificateDer<'static>>);

async fn converse<T, F>(
    stream: T,
    arrived: Arrived<F>,
    ready: &Ready,
    mut leave: oneshot::Receiver<()>,
    tls: Option<Secured>,
) where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    F: Serves,
{
    let Arrived {
        shared,
        service,
        pulse,
        ip,
    } = arrived;
    let settings = &ready.settings;
    let mut phase = shared.phase.subscribe();
    let service = service.service(Arc::new(Peer {
        pulse: pulse.clone(),
        ip,
        is_tls: tls.is_some(),
        certificate: tls.and_then(|tls| tls.0),
    }));
    let access = shared.access(settings.access_log, ip);
    let service = service_fn(move |request| {
        let entry = access.as_ref().and_then(|log| Entry::begin(log, &request));
        let answer = service.call(request);
        answer.map(move |answer| answer.map(|response| Sent::new(response, entry)))
    });
    let reads = Heads::new(pulse.clone(), settings.header);
    let io = TokioIo::new(Wire::new(stream, reads, settings.stall));
    let mut serving = pin!(ready.http.serve_connection_with_upgrades(io, service));
    let mut patience = Patience::new(settings);
    let mut is_asked = false;
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
                    tracing::debug!(port = shared.name, error, "a client's connection ended");
                });
            }
            // The sender lives as long as any connection, so this never fails.
            _ = phase.changed() => {}
            _ = &mut leave, if !is_asked => {
                is_asked = true;
                serving.as_mut().graceful_shutdown();
                // A request that came just now is answered first.
                if pulse.idle_since().is_some() {
                    return last_words(serving).await;
                }
            }
            () = sleep_until(patience.look) => match patience.judge(&pulse, settings) {
                Verdict::Fine => {}
                Verdict::End => serving.as_mut().graceful_shutdown(),
                Verdict::CutOff => return,
            }
        }
    }
}

/// Lets a connection that must make room write what it has to say, as far as the client's buffers take it at once.
async fn last_words(serving: impl Future) {
    tokio::select! {
        biased;
        _ = serving => {}
        () = std::future::ready(()) => {}
    }
}

/// What becomes of a connection that was looked at.
enum Verdict {
    Fine,
    /// It has been idle, or has lived, for too long: its client hears that it ends.
    End,
    /// Its client heard that and is still there.
    CutOff,
}

/// How long a connection may go on.
struct Patience {
    /// When it is looked at next.
    look: Instant,
    dies: Option<Instant>,
    is_told: bool,
}

impl Patience {
    fn new(settings: &Settings) -> Self {
        let now = Instant::now();
        let first = now + settings.idle.min(settings.header);
        let dies = settings.life.map(|life| now + life);
        Self {
            look: dies.map_or(first, |dies| dies.min(first)),
            dies,
            is_told: false,
        }
    }

    fn judge(&mut self, pulse: &Pulse, settings: &Settings) -> Verdict {
        let now = Instant::now();
        let deadline = deadline(pulse, settings);
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(deadline) || is_due(self.dies) {
            self.look = now + settings.header;
            return match std::mem::replace(&mut self.is_told, true) {
                true if pulse.idle_since().is_some() => Verdict::CutOff,
                // It ends with the answer to its request in flight.
                true => Verdict::Fine,
                false => Verdict::End,
            };
        }
        // A request may come and go before this deadline, and set an earlier one.
        let latest = now + settings.idle;
        let all = [deadline, self.dies].into_iter().flatten();
        self.look = all.fold(latest, Instant::min);
        Verdict::Fine
    }
}

/// Until when an idle connection may wait for its next request; the first one must come sooner.
fn deadline(pulse: &Pulse, settings: &Settings) -> Option<Instant> {
    let limit = match pulse.requests() {
        0 => settings.header,
        _ => settings.idle,
    };
    pulse.idle_since().map(|since| since + limit)
}
