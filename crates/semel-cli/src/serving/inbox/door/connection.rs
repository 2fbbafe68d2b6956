//! Serves one connection until it ends, idles for too long, or the door closes.

use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::pulse::{Felt, Patience, Pulse};

/// What a connection may use up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) head_bytes_max: usize,
    pub(super) header: Duration,
    pub(super) idle: Duration,
}

pub(super) async fn serve(
    stream: TcpStream,
    router: Router,
    limits: Limits,
    mut stopping: watch::Receiver<bool>,
) {
    // Without this, small answers wait for the client's acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let pulse = Pulse::new();
    let (felt, router) = (pulse.clone(), TowerToHyperService::new(router));
    let service = service_fn(move |request| {
        let (busy, answer) = (felt.begin(), router.call(request));
        async move {
            let answer = answer.await;
            drop(busy);
            answer
        }
    });
    let io = TokioIo::new(Felt::new(stream, pulse.clone()));
    let serving = http1::Builder::new()
        .max_header_size(limits.head_bytes_max)
        .serve_connection(io, service);
    let mut serving = pin!(serving);
    let patience = Patience {
        header: limits.header,
        idle: limits.idle,
    };
    let mut is_told = false;
    loop {
        // A request in flight is looked at again after it may have ended.
        let look = pulse.deadline(patience);
        let look = look.unwrap_or_else(|| Instant::now() + patience.header.min(patience.idle));
        tokio::select! {
            // A client that breaks off is no news.
            _ = serving.as_mut() => return,
            _ = stopping.wait_for(|stop| *stop), if !is_told => {
                serving.as_mut().graceful_shutdown();
                is_told = true;
            }
            () = sleep_until(look) => {
                if pulse.deadline(patience).is_some_and(|at| at <= Instant::now()) {
                    return;
                }
            }
        }
    }
}
