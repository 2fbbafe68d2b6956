//! Limits of tenants, before anything is claimed. A settle is never refused by them: its effect has happened.

use std::sync::LazyLock;

use semel_core::record::Claim;
use semel_core::store::{ClaimRequest, SettleRequest};
use semel_core::{Scope, State, StoreExt};
use semel_http::quota::{Limit, Place, Ticket, bytes_of};

use crate::refused::{Refused, ask};
use crate::router::App;

/// What claims count under: their scopes are chosen by callers.
static SCOPE: LazyLock<Scope> =
    LazyLock::new(|| Scope::new("claims-api", 1).expect("a short name is valid"));

/// Counts a claim, and gives the right to a new key if it turns out to be one. What is on record needs none.
pub(super) async fn ticket(app: &App, request: &ClaimRequest) -> Result<Ticket, Refused> {
    let (quotas, at) = (&app.parts.quotas, Place::plain(&SCOPE));
    let tenant = request.identity.tenant();
    let counted = quotas.request(at, tenant);
    counted.map_err(|exceeded| quotas.refuse(exceeded, at, tenant))?;
    let exceeded = match quotas.new_key(at, tenant) {
        Ok(ticket) => return Ok(ticket),
        Err(exceeded) => exceeded,
    };
    match ask(app.parts.store.look_up_one(request.identity.clone())).await? {
        // If it is granted after all, it is charged.
        Some(_) => Ok(quotas.on_record(at, tenant)),
        None => Err(quotas.refuse(exceeded, at, tenant).into()),
    }
}

/// What a settle is about to store, on record or beside it for the audit. An outcome that is sent again is on record already, and an erased record
/// takes none. The store is looked at only where that makes a difference; without its answer everything counts.
pub(super) async fn bytes_to_store(app: &App, request: &SettleRequest) -> u64 {
    let (claim, outcome) = (&request.claim, &request.outcome);
    let tenant = claim.identity.tenant();
    let quotas = &app.parts.quotas;
    if !quotas.limits(Place::plain(&SCOPE), tenant, Limit::StoredBytes) {
        return 0;
    }
    let found = ask(app.parts.store.look_up_one(claim.identity.clone())).await;
    let stores_nothing = found.ok().flatten().is_some_and(|record| {
        let State::Settled(settled) = &record.state else {
            return false;
        };
        settled.erased || (record.fence == claim.fence && settled.is_of(outcome))
    });
    match stores_nothing {
        true => 0,
        false => bytes_of(outcome),
    }
}

/// Charges what was stored under a claim.
pub(super) fn stored(app: &App, claim: &Claim, bytes: u64) {
    let tenant = claim.identity.tenant();
    app.parts.quotas.stored(Place::plain(&SCOPE), tenant, bytes);
}
