//! Looks at a request that passes anyway.

use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, StatusCode};
use http_body_util::Either;
use semel_core::fingerprint::Builder;
use semel_core::store::ClaimAnswer;
use semel_core::{Fingerprint, Identity};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::underway::Arrival;
use super::{Ending, Finding, Observation, Observer, STORE_PATIENCE};
use crate::body::{AnyBody, Body, Chain};
use crate::event::What;
use crate::fingerprint::By;
use crate::guard::{Admission, Begun, Echo, Inner, Read, Spooled, spool};
use crate::key::{self, Found, Source, Whole};
use crate::mcp::Reading;

/// What can be told about a request by itself.
struct Seen {
    identity: Identity,
    fingerprint: Fingerprint,
    /// The same for the same request of the same caller, whatever its key.
    content: [u8; 32],
}

impl Observer {
    /// Lets a request pass, and observes it meanwhile.
    pub(crate) async fn admit<B>(
        &self,
        guard: &Arc<Inner>,
        parts: Parts,
        body: B,
        params: &[(String, String)],
    ) -> Admission<B>
    where
        B: AnyBody,
    {
        let began = Begun::now(&parts.extensions);
        let passing = |parts, body| (Request::from_parts(parts, body), Observation(None));
        let in_head = key::find_in_head(&guard.rules, &parts);
        // The head does not tell whether a message is a call.
        if let Some(finding) = hopeless(&in_head).filter(|_| guard.rules.mcp.is_none()) {
            guard.saw(None, What::Observed(finding), 0, &began);
            let (request, observation) = passing(parts, Either::Left(body));
            return Admission::Observed(request, observation);
        }
        let read = match spool(guard, &parts, body).await {
            Ok(Spooled::Whole(read)) => read,
            Ok(
                Spooled::TooLarge((begun, rest))
                | Spooled::TooSlow((begun, rest))
                | Spooled::NoRoom(_, (begun, rest)),
            ) => {
                guard.saw(None, What::Observed(Finding::BodyTooLarge), 0, &began);
                let (request, observation) = passing(parts, Either::Right(rejoined(begun, rest)));
                return Admission::Observed(request, observation);
            }
            // A body that cannot be read cannot be passed on either.
            Err(problem) => {
                let echo = Echo::default();
                return Admission::Refused(guard.refuse(problem, None, &began, &echo));
            }
        };
        let seen = see(guard, &parts, params, &read.bytes).await;
        let observation = match seen {
            Ok(Some(seen)) => self.begin(guard, seen, began),
            Ok(None) => Observation(None),
            Err(finding) => {
                guard.saw(None, What::Observed(finding), 0, &began);
                Observation(None)
            }
        };
        let request = Request::from_parts(parts, Either::Right(read.into()));
        Admission::Observed(request, observation)
    }

    /// Asks the store beside the request.
    fn begin(&self, guard: &Arc<Inner>, seen: Seen, began: Begun) -> Observation {
        let Ok(turn) = self.turns.clone().try_acquire_owned() else {
            guard.saw(
                Some(&seen.identity),
                What::Observed(Finding::Unobserved),
                0,
                &began,
            );
            return Observation(None);
        };
        let (mut arrival, running) = self.under_way.arrive(&seen.identity);
        let (sender, ended) = oneshot::channel::<Option<StatusCode>>();
        let guard = guard.clone();
        tokio::spawn(async move {
            let observer = &guard.observer;
            let answer = observer.ask(&seen, &mut arrival).await;
            let finding = observer.finding(&seen, answer.as_ref(), arrival.met_first());
            let status = ended.await.ok().flatten();
            let code = status.map_or(0, |status| status.as_u16());
            guard.saw(Some(&seen.identity), What::Observed(finding), code, &began);
            if let Some(ClaimAnswer::Granted(lease)) = answer {
                observer.settle(lease, status).await;
            }
            drop((arrival, turn));
        });
        let status = sender;
        Observation(Some(Box::new(Ending { running, status })))
    }

    /// Asks the store after those that arrived before with the same identity; nothing if that takes too long.
    async fn ask(&self, seen: &Seen, arrival: &mut Arrival) -> Option<ClaimAnswer> {
        let asking = async {
            arrival.turn().await;
            self.claim(seen.identity.clone(), seen.fingerprint).await
        };
        let answer = tokio::time::timeout(STORE_PATIENCE, asking).await;
        let answer = answer.ok().flatten();
        arrival.answered(matches!(answer, Some(ClaimAnswer::Granted(_))));
        answer
    }

    fn finding(
        &self,
        seen: &Seen,
        answer: Option<&ClaimAnswer>,
        met_first: Option<bool>,
    ) -> Finding {
        match answer {
            None => Finding::Unobserved,
            // The first may have ended since this one arrived.
            Some(ClaimAnswer::Settled(_) | ClaimAnswer::Unknown { .. }) => match met_first {
                Some(true) => Finding::Concurrent,
                Some(false) | None => Finding::Duplicate,
            },
            // The store may not know yet that the first has ended. One that is not known here runs in another process.
            Some(ClaimAnswer::Running { .. }) => match met_first {
                Some(false) => Finding::Duplicate,
                Some(true) | None => Finding::Concurrent,
            },
            Some(ClaimAnswer::Mismatch) => Finding::Mismatch,
            Some(ClaimAnswer::Granted(_)) => self.first_or_suspicious(seen),
        }
    }

    fn first_or_suspicious(&self, seen: &Seen) -> Finding {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let key = seen.identity.key();
        let Some(earlier) = recent.see(seen.content, key, Instant::now()) else {
            return Finding::First;
        };
        tracing::info!(
            target: "semel::observe",
            scope = %seen.identity.scope(),
            tenant = %seen.identity.tenant(),
            %key,
            earlier_key = %earlier,
            "the same request came again with a new key",
        );
        Finding::SuspiciousKey
    }
}

/// What the head alone shows to be beyond a guard's help.
fn hopeless(in_head: &semel_core::Result<Found>) -> Option<Finding> {
    match in_head {
        Err(_) => Some(Finding::KeyInvalid),
        Ok(Found::Missing) => Some(Finding::KeyMissing),
        Ok(Found::Key(_) | Found::Derive | Found::NeedsBody) => None,
    }
}

/// What a request is to a guard; nothing if it is a message that none looks at.
async fn see(
    guard: &Inner,
    parts: &Parts,
    params: &[(String, String)],
    body: &Bytes,
) -> Result<Option<Seen>, Finding> {
    let compared = match &guard.rules.mcp {
        None => body.clone(),
        Some(mcp) => match mcp.read(&parts.headers, body) {
            Ok(Reading::Call(call)) => call.compared,
            Ok(Reading::Other) => return Ok(None),
            Err(_) => return Err(Finding::KeyInvalid),
        },
    };
    let whole = Whole {
        parts,
        params,
        body,
    };
    let found = match key::find(&guard.rules, &whole).await {
        Ok(Found::Missing) => return Err(Finding::KeyMissing),
        Ok(found) => found,
        Err(_) => return Err(Finding::KeyInvalid),
    };
    let tenant = guard
        .tenant(parts)
        .await
        .map_err(|_| Finding::TenantMissing)?;
    let fingerprint = guard.rules.fingerprint_of(parts, &compared).await;
    let head = &guard.rules.fingerprint_head;
    let content = without_key(guard).of(head, parts, &compared).await;
    let content = Builder::default()
        .part("tenant", tenant.as_str().as_bytes())
        .part("content", content.as_bytes())
        .finish();
    let key = guard.key(found, fingerprint, parts, &compared).await;
    let key = key.map_err(|_| Finding::TenantMissing)?;
    let scope = guard.observer.scope.clone();
    Ok(Some(Seen {
        identity: Identity::new(tenant, scope, key),
        fingerprint,
        content: *content.as_bytes(),
    }))
}

/// A key in the body must not make two equal requests look different.
fn without_key(guard: &Inner) -> By {
    let paths = guard.rules.key.iter().filter_map(|source| match source {
        Source::Body(path) => Some(path.clone()),
        _ => None,
    });
    By::Exclude(paths.collect())
}

/// A body of which some has been read.
fn rejoined<B>(begun: Read, rest: B) -> Body
where
    B: AnyBody,
{
    Body::stream(Chain::new(Body::from(begun), Body::stream(rest)))
}
