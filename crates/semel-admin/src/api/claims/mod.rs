//! The claims API: claim, renew, settle, release, mark as unknown, look up.

mod answers;
mod inputs;
mod limited;
mod waiting;

pub(crate) use answers::not_found;
pub(crate) use waiting::{WAIT_MAX, waiters};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use semel_core::duplicate::{Duplicate, Origin};
use semel_core::record::{Lease, UnknownCause};
use semel_core::store::{
    ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, ReleaseAnswer, RenewAnswer, SettleAnswer,
};
use semel_core::{Error, Fence, Kind, Scope, StoreExt};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::Instrument;

use super::problem::Problem;
use crate::input::Params;
use crate::metered::Metered;
use crate::refused::{Refused, ask, change};
use crate::router::{App, Shared};
use crate::tokens::{Caller, Reached};
use answers::{
    Granted, OnRecord, Renewed, Stands, in_progress, key_reused, late_outcome, lease_lost,
    never_granted, outcome_unknown,
};
use inputs::{ClaimInput, LookUpParams, ReleaseInput, RenewInput, SettleInput, UnknownInput};

/// Asks for the right to run an operation.
///
/// 201 means: run it, and settle it under the fence. 200 means: it is done, and this is what it brought. With `wait` a claim of an operation
/// that runs is answered when that run has ended.
#[utoipa::path(post, path = "/api/v1/claims", tag = "claims", request_body = ClaimInput,
    responses(
        (status = 201, description = "Granted: run it", body = Granted),
        (status = 200, description = "Settled before: replay this", body = OnRecord),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 409, description = "`in-progress` (with Retry-After) or `outcome-unknown`; nothing is to be run", body = Problem),
        (status = 413, description = "`body-too-large`", body = Problem),
        (status = 422, description = "`key-reused`; nothing is to be run", body = Problem),
        (status = 429, description = "`rate-limited` or `quota-exceeded` (with Retry-After); nothing is to be run", body = Problem),
        (status = 503, description = "`store-unavailable`; nothing is to be run", body = Problem),
    ))]
pub(crate) async fn claim(
    State(app): State<Shared>,
    Reached(input): Reached<ClaimInput>,
) -> Result<Response, Refused> {
    let (request, wait) = input.into_value().request()?;
    let (term, scope) = (request.lease, request.identity.scope().clone());
    let began = Instant::now();
    let mut ticket = limited::ticket(&app, &request).await?;
    let before = named_before(&app, &request).await?;
    let answer = waiting::claim(&app, request, wait, &ticket).await?;
    count_duplicate(&app, &scope, &answer, began);
    match answer {
        ClaimAnswer::Granted(lease) => {
            if before != Some(lease.claim.fence) {
                ticket.used();
            }
            let granted = Granted::of(&lease, term);
            let granted = match before == Some(lease.claim.fence) {
                true => granted.repeated(lease.until.since(app.now())),
                false => granted,
            };
            Ok((StatusCode::CREATED, Json(granted)).into_response())
        }
        ClaimAnswer::Settled(record) => Ok(Json(OnRecord::of(&record, app.now())).into_response()),
        ClaimAnswer::Running { fence, lease_left } => Err(in_progress(fence, lease_left)),
        ClaimAnswer::Unknown {
            fence,
            since,
            cause,
        } => Err(outcome_unknown(fence, since, cause)),
        ClaimAnswer::Mismatch => Err(key_reused()),
    }
}

/// Counts a claim that is not granted because there is another, or was.
fn count_duplicate(app: &App, scope: &Scope, answer: &ClaimAnswer, began: Instant) {
    let found = match answer {
        ClaimAnswer::Granted(_) | ClaimAnswer::Mismatch => return,
        ClaimAnswer::Settled(record) => Duplicate::answered(record, app.now(), began.elapsed()),
        ClaimAnswer::Running { .. } => Duplicate::of(scope, Origin::ConcurrentRetry),
        ClaimAnswer::Unknown { .. } => Duplicate::of(scope, Origin::ClientRetry),
    };
    app.parts.store.metrics().count_duplicate(&found);
}

/// The live claim that already has the nonce of a request. A claim that is granted under its fence is no new one.
async fn named_before(app: &App, request: &ClaimRequest) -> Result<Option<Fence>, Refused> {
    if request.nonce.is_none() {
        return Ok(None);
    }
    let found = ask(app.parts.store.look_up_one(request.identity.clone())).await?;
    let named = found.filter(|record| record.nonce == request.nonce);
    Ok(named.map(|record| record.fence))
}

/// Claims in a task of its own. A caller that has hung up when the grant comes cannot have
/// begun, because it does not know the fence: the claim is given back. One with a nonce is kept: its caller asks again, and may have the
/// claim already by another answer.
async fn claim_for_caller(store: Metered, request: ClaimRequest) -> Result<ClaimAnswer, Refused> {
    let (tell, told) = oneshot::channel();
    let is_named = request.nonce.is_some();
    let claiming = async move {
        let answer = store.claim_one(request).await;
        if let Err(Ok(ClaimAnswer::Granted(lease))) = tell.send(answer)
            && !is_named
        {
            give_back(&store, lease).await;
        }
    };
    tokio::spawn(claiming.in_current_span());
    ask(async {
        let died = |e| Error::new(Kind::Internal, "a claim panicked").caused_by(e);
        told.await.map_err(died)?
    })
    .await
}

/// Undoes a claim that nobody knows of. If the store cannot do it now, the lease will end.
async fn give_back(store: &Metered, lease: Lease) {
    let claim = lease.claim;
    let _ = match lease.attempt {
        1 => store.release_one(claim).await.map(drop),
        // What was unknown before the takeover is unknown again: released, it would be forgotten.
        _ => {
            let cause = UnknownCause::RunUndecided;
            store
                .mark_one(MarkRequest {
                    claim,
                    cause,
                    evidence: None,
                })
                .await
                .map(drop)
        }
    };
}

/// Extends a lease that is still alive.
#[utoipa::path(post, path = "/api/v1/claims/renew", tag = "claims", request_body = RenewInput,
    responses(
        (status = 200, description = "The lease lasts longer", body = Renewed),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 409, description = "`lease-lost`: whatever the run brings will be late", body = Problem),
        (status = 503, description = "`store-unavailable`: try again while the lease lasts", body = Problem),
    ))]
pub(crate) async fn renew(
    State(app): State<Shared>,
    Reached(input): Reached<RenewInput>,
) -> Result<Json<Renewed>, Refused> {
    let (store, request) = (app.parts.store.clone(), input.value.request());
    let claim = request.claim.clone();
    match change(async move { store.renew_one(request).await }).await? {
        RenewAnswer::Renewed(until) => Ok(Json(Renewed::until(until))),
        RenewAnswer::Lost => Err(lease_lost(&claim)),
    }
}

/// Brings an outcome; every duplicate gets it from now on.
///
/// Sending the same settle again is safe and gets the same answer.
#[utoipa::path(post, path = "/api/v1/claims/settle", tag = "claims", request_body = SettleInput,
    responses(
        (status = 200, description = "The outcome is on record", body = Stands),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 409, description = "`late-outcome`: the lease was lost before; the outcome is kept for the audit and never served", body = Problem),
        (status = 404, description = "`not-found`: no such claim was ever granted; nothing was written", body = Problem),
        (status = 413, description = "`body-too-large`: settle without the body", body = Problem),
        (status = 503, description = "`store-unavailable`: try again while the lease lasts", body = Problem),
    ))]
pub(crate) async fn settle(
    State(app): State<Shared>,
    Reached(input): Reached<SettleInput>,
) -> Result<Json<Stands>, Refused> {
    let (store, request) = (app.parts.store.clone(), input.value.request()?);
    let claim = request.claim.clone();
    let bytes = limited::bytes_to_store(&app, &request).await;
    match change(async move { store.settle_one(request).await }).await? {
        SettleAnswer::Settled => {
            limited::stored(&app, &claim, bytes);
            Ok(Json(Stands { state: "settled" }))
        }
        SettleAnswer::Late => {
            limited::stored(&app, &claim, bytes);
            Err(late_outcome(&claim))
        }
        SettleAnswer::NeverGranted => Err(never_granted(&claim)),
    }
}

/// Gives a claim back: nothing happened, the next claim runs.
#[utoipa::path(post, path = "/api/v1/claims/release", tag = "claims", request_body = ReleaseInput,
    responses(
        (status = 200, description = "The operation is absent again", body = Stands),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 409, description = "`lease-lost`: nothing changed", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn release(
    State(app): State<Shared>,
    Reached(input): Reached<ReleaseInput>,
) -> Result<Json<Stands>, Refused> {
    let (store, claim) = (app.parts.store.clone(), input.value.claim());
    let released = claim.clone();
    match change(async move { store.release_one(released).await }).await? {
        ReleaseAnswer::Released => Ok(Json(Stands { state: "absent" })),
        ReleaseAnswer::Lost => Err(lease_lost(&claim)),
    }
}

/// Says of a live claim that its outcome cannot be known: somebody must decide.
#[utoipa::path(post, path = "/api/v1/claims/unknown", tag = "claims", request_body = UnknownInput,
    responses(
        (status = 200, description = "The record is unknown", body = Stands),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 409, description = "`lease-lost`: nothing changed", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn mark_unknown(
    State(app): State<Shared>,
    Reached(input): Reached<UnknownInput>,
) -> Result<Json<Stands>, Refused> {
    let (store, request) = (app.parts.store.clone(), input.value.request());
    let claim = request.claim.clone();
    match change(async move { store.mark_one(request).await }).await? {
        MarkAnswer::Marked => Ok(Json(Stands { state: "unknown" })),
        MarkAnswer::Lost => Err(lease_lost(&claim)),
    }
}

/// What is on record about an operation. Never waits for writers; with `wait` it waits while the operation runs.
#[utoipa::path(get, path = "/api/v1/claims", tag = "claims", params(LookUpParams),
    responses(
        (status = 200, description = "The record, and the outcome of a settled one", body = OnRecord),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: the operation is absent", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn look_up(
    State(app): State<Shared>,
    caller: Caller,
    Params(params): Params<LookUpParams>,
) -> Result<Json<OnRecord>, Refused> {
    let (identity, wait) = params.asked()?;
    caller.must_reach(&identity)?;
    let found = waiting::look(&app, &identity, wait).await?;
    let record = found.ok_or_else(|| not_found(&identity))?;
    Ok(Json(OnRecord::of(&record, app.now())))
}
