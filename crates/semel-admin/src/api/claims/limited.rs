//! Limits of tenants, before anything is claimed. A settle is never refused by them: its effect has happened.

use std::sync::LazyLock;

use semel_core::record::Claim;
use semel_core::store::ClaimRequest;
use semel_core::{Scope, StoreExt};
use semel_http::quota::{Place, Ticket};

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
        Some(_) => Ok(Ticket::default()),
        None => Err(quotas.refuse(exceeded, at, tenant).into()),
    }
}

/// Charges what was stored under a claim.
pub(super) fn stored(app: &App, claim: &Claim, bytes: u64) {
    let tenant = claim.identity.tenant();
    app.parts.quotas.stored(Place::plain(&SCOPE), tenant, bytes);
}
