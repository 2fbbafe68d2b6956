//! Forwards what a guard has claimed.

use std::sync::Arc;

use http::{Request, Response};
use semel_http::{Admitted, Body, Failure, Handover, Upstream, trace};

use super::detach::Detached;
use super::reply::Content;
use super::{Visit, Visited};
use crate::hygiene;
use crate::pool::{Need, Outgoing, Pool, Received};
use crate::server::{Client, Snapshot};

impl Visit {
    /// Runs an admitted request, to its end even if the client leaves.
    pub(super) async fn run(self, pool: &Arc<Pool>, admitted: Admitted) -> Visited {
        let way = Way {
            client: self.client.clone(),
            snapshot: self.snapshot.clone(),
            pool: pool.clone(),
            handover: Handover::pending(),
        };
        // In flight until the run has ended, so that a drain waits for it, even if its response is
        // handed on before that and its client leaves.
        let admitted = match &self.in_flight {
            Some(place) => admitted.keeping(place.clone()),
            None => admitted,
        };
        Detached::new(async move {
            let response = admitted.run(way).await;
            (self, response.map(Content::Ours))
        })
        .await
    }
}

/// The way to the upstream for one guarded request.
struct Way {
    client: Arc<Client>,
    snapshot: Arc<Snapshot>,
    pool: Arc<Pool>,
    handover: Handover,
}

impl Upstream for Way {
    type Body = Received;

    fn handover(&self) -> Handover {
        self.handover.clone()
    }

    async fn call(self, request: Request<Body>) -> Result<Response<Received>, Failure> {
        let (mut parts, body) = request.into_parts();
        let path = self.pool.target().path(&parts.uri);
        let path = path.map_err(|_| Failure::NotReached("the path is too long".to_owned()))?;
        let (origin, manners) = (&self.client.origin, &self.snapshot.manners);
        let target = self.pool.target();
        hygiene::outbound(&mut parts, origin, manners, target, None);
        let run = trace::of(&parts.extensions);
        let span = trace::client(&run, &parts.method, target.host(), target.port());
        trace::inject(&mut parts.headers, &span);
        let request = Request::from_parts(parts, Outgoing::Whole(body));
        let (pool, handover) = (self.pool.clone(), self.handover);
        // The route's timeout drops this future.
        let sending = trace::Sending::of(span);
        let response = pool.send_marking(request, path, Need::Any, handover).await;
        sending.ended(response.as_ref().map(Response::status));
        let response = response.inspect_err(|failure| {
            let upstream = self.pool.target().authority();
            tracing::warn!(%upstream, %failure, "a guarded request got no response");
        })?;
        let (mut parts, body) = response.into_parts();
        hygiene::inbound(&mut parts);
        Ok(Response::from_parts(parts, body))
    }
}
