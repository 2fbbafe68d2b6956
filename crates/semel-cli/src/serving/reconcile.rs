//! What the gateway's routes know of providers, as the admin side asks it: by the record's scope, and with the configuration
//! that holds at that moment.

use std::sync::Arc;

use semel_admin::reconcile::{Asking, Missing, Reconciler, Reconcilers};
use semel_core::{Claim, Record, Retention};
use semel_gateway::{Handle, NoReconciler, RouteReconciler};

/// The routes of a gateway.
pub(super) struct Routes(pub(super) Handle);

impl Reconcilers for Routes {
    fn of(&self, record: &Record) -> Result<Arc<dyn Reconciler>, Missing> {
        match self.0.reconciler(record) {
            Ok(found) => Ok(Arc::new(Asked(found))),
            Err(NoReconciler::NoRoute) => Err(Missing::Route),
            Err(NoReconciler::NoUrl) => Err(Missing::Url),
            Err(NoReconciler::Ambiguous) => Err(Missing::Single),
        }
    }
}

/// A route's reconcile URL.
struct Asked(RouteReconciler);

impl Reconciler for Asked {
    fn url(&self) -> String {
        self.0.url().to_string()
    }

    fn retention(&self) -> Retention {
        self.0.retention()
    }

    fn ask<'a>(&'a self, claim: &'a Claim) -> Asking<'a> {
        Box::pin(self.0.ask(claim))
    }
}
