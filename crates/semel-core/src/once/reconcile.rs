//! Asking whoever knows: did the effect happen?

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::identity::Identity;
use crate::outcome::Outcome;
use crate::policy::Retention;
use crate::record::Fence;
use crate::store::Resolution;

/// What the provider of an effect says about an unknown outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reconciled {
    /// It happened, with this outcome.
    Happened(Outcome),
    /// It did not happen and, under this fence, never will: it may be run again.
    ///
    /// A slow owner may still be on its way to the effect. Say this only if the provider
    /// refuses that owner from now on (it checks the fence), or if the owner is known to be dead.
    DidNotHappen,
    /// The provider cannot tell, or cannot be reached. The record stays unknown.
    CannotTell,
}

impl Reconciled {
    /// What it decides about the claim that was asked about, whose outcome is kept for `retention`; `None` if that stays unknown.
    pub fn resolution(self, retention: Retention) -> Option<Resolution> {
        match self {
            Self::Happened(outcome) => Some(Resolution::Settle { outcome, retention }),
            Self::DidNotHappen => Some(Resolution::Release),
            Self::CannotTell => None,
        }
    }
}

/// The boxed future of [`Reconcile::ask`].
pub type Asking<'a> = Pin<Box<dyn Future<Output = Reconciled> + Send + 'a>>;

/// Somebody who knows whether an effect happened.
pub trait Reconcile: Send + Sync + 'static {
    /// Did the claim `fence` of `identity` take effect?
    fn ask<'a>(&'a self, identity: &'a Identity, fence: Fence) -> Asking<'a>;
}

impl<F, Fut> Reconcile for F
where
    F: Fn(Identity, Fence) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Reconciled> + Send + 'static,
{
    fn ask<'a>(&'a self, identity: &'a Identity, fence: Fence) -> Asking<'a> {
        Box::pin(self(identity.clone(), fence))
    }
}

impl Reconcile for Arc<dyn Reconcile> {
    fn ask<'a>(&'a self, identity: &'a Identity, fence: Fence) -> Asking<'a> {
        (**self).ask(identity, fence)
    }
}

impl fmt::Debug for dyn Reconcile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reconcile")
    }
}
