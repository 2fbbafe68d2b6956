//! Connections to one upstream, and the truth about what reached it.
//!
//! The gateway keeps its own pool because it must know, for every request that failed, whether it can have
//! taken effect. hyper gives a request back if its connection never began to write it, and an HTTP/2
//! upstream says which streams it refused. Only in these cases this module sends a request again, or says
//! [`Failure::NotReached`] after a connection was made. Everything else is [`Failure::Broken`], or
//! [`Failure::Unreadable`] if there was an answer that cannot be used.
//!
//! - `dial` makes connections; `idle` keeps those that wait for their next request; `shared` is one that
//!   many requests use at once.
//! - `outgoing` is the body that goes out, `received` the body that comes back and brings its
//!   connection home.
//! - `verdict` reads from an error what became of a request.
//! - `reach` looks whether services that were not reached are back.

mod dial;
mod idle;
mod outgoing;
mod reach;
mod received;
mod shared;
mod tls;
mod verdict;

pub(crate) use dial::Dial;
pub(crate) use outgoing::{Outgoing, Progress};
pub(crate) use reach::watch;
pub(crate) use received::Received;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use http::header::{CONNECTION, HOST, TE};
use http::uri::{Authority, PathAndQuery};
use http::{HeaderValue, Request, Response, Uri, Version};
use http_body_util::Either;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1;
use semel_http::{Failure, Handover};
use tokio::sync::{Notify, Semaphore};

use crate::target::Target;
use idle::Shelf;
use outgoing::Spare;
use received::Lent;
use shared::Place;
use verdict::Verdict;

/// How many kept connections that turn out to be closed are tried before a new one is made.
const STALE_MAX: usize = 4;
/// How often a request is sent again that the upstream refused to process.
const REFUSED_MAX: usize = 1;

/// A connection that takes a request.
pub(crate) enum Sender {
    /// HTTP/1.1: one request at a time.
    One(http1::SendRequest<Outgoing>),
    /// HTTP/2: many.
    Many(Place),
}

/// What a request needs of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Any version of HTTP.
    Any,
    /// HTTP/1.1 and a connection of its own, because it may become a tunnel.
    Tunnel,
}

/// Connections to one upstream.
pub(crate) struct Pool {
    target: Target,
    dial: Arc<Dial>,
    shelf: Shelf,
    /// One caller at a time makes a connection that all will share.
    sharing: Semaphore,
    /// A place on a shared connection is free again.
    freed: Notify,
    /// How many connections have failed since the service was reached last.
    unreached: AtomicU32,
}

impl Pool {
    pub(crate) fn new(target: Target, dial: Arc<Dial>) -> Arc<Self> {
        Arc::new(Self {
            shelf: Shelf::new(dial.idle_max, dial.shared_max, dial.idle),
            sharing: Semaphore::new(1),
            freed: Notify::new(),
            unreached: AtomicU32::new(0),
            target,
            dial,
        })
    }

    /// Where its connections go.
    pub(crate) const fn target(&self) -> &Target {
        &self.target
    }

    /// How many connections have failed since the service was reached last: it is not reached, as requests met it.
    pub(crate) fn unreached(&self) -> u32 {
        self.unreached.load(Ordering::Relaxed)
    }

    fn reached(&self) {
        // Every request comes by here, and a load disturbs no other.
        if self.unreached() > 0 {
            self.unreached.store(0, Ordering::Relaxed);
        }
    }

    /// Whether a request may become a tunnel here.
    pub(crate) fn allows_tunnels(&self) -> bool {
        !self.dial.speaks_h2c(&self.target)
    }

    /// Sends a request whose URI is `path` and whose `Host` is set. It is processed at most once.
    pub(crate) fn send(
        self: Arc<Self>,
        request: Request<Outgoing>,
        path: PathAndQuery,
        need: Need,
    ) -> impl Future<Output = Result<Response<Received>, Failure>> + Send + use<> {
        self.send_marking(request, path, need, Handover::default())
    }

    /// The same, and `handover` tells while it is under way whether the request can have taken effect.
    ///
    /// Not an `async fn`: that would keep its arguments twice, and this future is made for every request.
    pub(crate) fn send_marking(
        self: Arc<Self>,
        mut request: Request<Outgoing>,
        path: PathAndQuery,
        need: Need,
        handover: Handover,
    ) -> impl Future<Output = Result<Response<Received>, Failure>> + Send + use<> {
        let (mut stale, mut refused) = (0, 0);
        async move {
            loop {
                let kept = match stale < STALE_MAX {
                    true => self.kept(need),
                    false => None,
                };
                let is_kept = kept.is_some();
                let sender = match kept {
                    Some(kept) => kept,
                    // Boxed, because it is large and rare: requests that find a connection do not carry the
                    // room for it.
                    None => Box::pin(self.connect(need)).await?,
                };
                let spare = match &sender {
                    Sender::One(_) => None,
                    Sender::Many(_) => Spare::of(&mut request),
                };
                if !handover.mark() {
                    let why = "the claim's lease ended before the request was sent";
                    return Err(Failure::NotReached(why.to_owned()));
                }
                let error = match self.transmit(sender, request, &path).await {
                    Ok(response) => {
                        self.reached();
                        return Ok(response);
                    }
                    Err(error) => error,
                };
                let is_begun = spare.as_ref().is_some_and(Spare::is_begun);
                request = match Verdict::of(error, is_begun) {
                    Verdict::Sent(failure) => return Err(failure),
                    Verdict::Unsent(unsent, failure) => {
                        handover.take_back();
                        stale += 1;
                        is_kept.then_some(unsent).ok_or(failure)?
                    }
                    Verdict::Refused(failure) => {
                        handover.take_back();
                        refused += 1;
                        let spare = spare.filter(|_| refused <= REFUSED_MAX);
                        spare.ok_or(failure)?.into_request()
                    }
                };
            }
        }
    }

    fn kept(self: &Arc<Self>, need: Need) -> Option<Sender> {
        match need {
            Need::Any => self.take(),
            Need::Tunnel => None,
        }
    }

    async fn connect(self: &Arc<Self>, need: Need) -> Result<Sender, Failure> {
        let limit = self.dial.connect;
        let connected = tokio::time::timeout(limit, self.connect_or_share(need)).await;
        let timed_out = |_| Err(format!("no connection within {limit:?}"));
        let connected = connected.unwrap_or_else(timed_out);
        match connected {
            Ok(_) => self.reached(),
            Err(_) => {
                self.unreached.fetch_add(1, Ordering::Relaxed);
            }
        }
        connected.map_err(|why| {
            let address = self.target.authority();
            Failure::NotReached(format!("{address}: {why}"))
        })
    }

    async fn connect_or_share(self: &Arc<Self>, need: Need) -> Result<Sender, String> {
        let will_share = need == Need::Any && self.shares();
        let _turn = match will_share {
            true => self.sharing.acquire().await.ok(),
            false => None,
        };
        match will_share {
            true => self.share_or_dial().await,
            false => self.dial.dial(self, need).await,
        }
    }

    /// A place on a shared connection, on a further one if those there are full.
    async fn share_or_dial(self: &Arc<Self>) -> Result<Sender, String> {
        loop {
            let freed = self.freed.notified();
            if let Some(sender) = self.take() {
                return Ok(sender);
            }
            if self.shelf.may_share_more() {
                return self.dial.dial(self, Need::Any).await;
            }
            // All are full. A request that waits here has not been handed over.
            freed.await;
        }
    }

    /// Whether connections are expected to be shared by many requests.
    fn shares(&self) -> bool {
        self.dial.speaks_h2c(&self.target) || self.shelf.has_shared()
    }

    /// Hands a request to a connection, which gives it back if it never began to write it.
    fn transmit(
        self: &Arc<Self>,
        sender: Sender,
        mut request: Request<Outgoing>,
        path: &PathAndQuery,
    ) -> impl Future<Output = Result<Response<Received>, TrySendError<Request<Outgoing>>>> + use<>
    {
        let (sending, lent) = match sender {
            Sender::One(mut sender) => {
                address_h1(&mut request, path);
                let sending = sender.try_send_request(request);
                (Either::Left(sending), Lent::One(self.clone(), sender))
            }
            Sender::Many(mut place) => {
                address_h2(&mut request, path, &self.target);
                let sending = place.sender().try_send_request(request);
                (Either::Right(sending), Lent::Many(place))
            }
        };
        async move {
            let response = match sending {
                Either::Left(sending) => sending.await,
                Either::Right(sending) => sending.await,
            };
            response.map(|response| response.map(|body| Received::new(body, lent)))
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({})", self.target.authority())
    }
}

/// Writes the request line and `Host` as HTTP/1.1 has them.
fn address_h1(request: &mut Request<Outgoing>, path: &PathAndQuery) {
    if let Some(authority) = request.uri().authority() {
        // It was meant for an HTTP/2 connection, which closed before it took it.
        if let Ok(host) = HeaderValue::from_str(authority.as_str()) {
            request.headers_mut().insert(HOST, host);
        }
    }
    *request.uri_mut() = Uri::from(path.clone());
    *request.version_mut() = Version::HTTP_11;
    if request.headers().contains_key(TE) && !request.headers().contains_key(CONNECTION) {
        request
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("te"));
    }
}

/// Moves `Host` to where HTTP/2 has it.
fn address_h2(request: &mut Request<Outgoing>, path: &PathAndQuery, target: &Target) {
    request.headers_mut().remove(CONNECTION);
    let authority = match request.headers_mut().remove(HOST) {
        Some(host) if host != *target.host_header() => Authority::try_from(host.as_bytes()).ok(),
        Some(_) => None,
        // It was meant for another HTTP/2 connection, which closed before it took it.
        None => request.uri().authority().cloned(),
    };
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(target.scheme().clone());
    parts.authority = Some(authority.unwrap_or_else(|| target.authority().clone()));
    parts.path_and_query = Some(path.clone());
    *request.uri_mut() = Uri::from_parts(parts).expect("scheme, authority and path make a URI");
    *request.version_mut() = Version::HTTP_2;
}

/// An error with all that caused it.
pub(crate) fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// What hyper hands over as a response's body.
type Raw = Incoming;
