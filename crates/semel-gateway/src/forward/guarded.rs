//! Forwards what a guard has claimed.

use std::sync::Arc;

use http::{Request, Response};
use semel_http::{Admitted, Body, Failure, Upstream};

use super::Visit;
use super::detach::Detached;
use super::reply::Content;
use crate::hygiene;
use crate::pool::{Need, Outgoing, Pool, Received};
use crate::server::{Client, Snapshot};

impl Visit {
    /// Runs an admitted request, to its end even if the client leaves.
    pub(super) async fn run(&mut self, pool: &Arc<Pool>, admitted: Admitted) -> Response<Content> {
        let way = Way {
            client: self.client.clone(),
            snapshot: self.snapshot.clone(),
            pool: pool.clone(),
        };
        let in_flight = self.in_flight.take();
        let run = async move { (admitted.run(way).await, in_flight) };
        let (response, in_flight) = Detached::new(run).await;
        self.in_flight = in_flight;
        response.map(Content::Ours)
    }
}

/// The way to the upstream for one guarded request.
struct Way {
    client: Arc<Client>,
    snapshot: Arc<Snapshot>,
    pool: Arc<Pool>,
}

impl Upstream for Way {
    type Body = Received;

    async fn call(self, request: Request<Body>) -> Result<Response<Received>, Failure> {
        let (mut parts, body) = request.into_parts();
        let path = self.pool.target().path(&parts.uri);
        let path = path.map_err(|_| Failure::NotReached("the path is too long".to_owned()))?;
        let (origin, manners) = (&self.client.origin, &self.snapshot.manners);
        hygiene::outbound(&mut parts, origin, manners, self.pool.target(), None);
        let request = Request::from_parts(parts, Outgoing::Whole(body));
        let response = self.pool.send(request, path, Need::Any).await;
        let response = response.inspect_err(|failure| {
            let upstream = self.pool.target().authority();
            tracing::warn!(%upstream, %failure, "a guarded request got no response");
        })?;
        let (mut parts, body) = response.into_parts();
        hygiene::inbound(&mut parts);
        Ok(Response::from_parts(parts, body))
    }
}
