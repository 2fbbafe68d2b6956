//! A store in front of another one: a cache, a meter, a fault.
//!
//! A [`Layer`] says only what it does differently; everything else goes to the store beneath. It is a
//! [`Store`] by that alone.

use std::fmt;
use std::sync::Arc;

use super::{
    Answer, Answers, AuditEntry, Batch, ClaimAnswer, ClaimRequest, Limits, MarkAnswer, MarkRequest,
    Page, Query, ReleaseAnswer, RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest,
    SettleAnswer, SettleRequest, Stats, Store, Swept,
};
use crate::clock::Timestamp;
use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::record::{Claim, Event, Record};

/// A verb of [`Store`] by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// [`Store::claim`].
    Claim,
    /// [`Store::renew`].
    Renew,
    /// [`Store::settle`].
    Settle,
    /// [`Store::release`].
    Release,
    /// [`Store::mark_unknown`].
    MarkUnknown,
    /// [`Store::resolve`].
    Resolve,
    /// [`Store::look_up`].
    LookUp,
    /// [`Store::history`].
    History,
    /// [`Store::list`].
    List,
    /// [`Store::sweep`].
    Sweep,
    /// [`Store::stats`].
    Stats,
    /// [`Store::audit`].
    Audit,
}

impl Verb {
    /// Every verb, in the order of their codes.
    pub const ALL: [Self; 12] = [
        Self::Claim,
        Self::Renew,
        Self::Settle,
        Self::Release,
        Self::MarkUnknown,
        Self::Resolve,
        Self::LookUp,
        Self::History,
        Self::List,
        Self::Sweep,
        Self::Stats,
        Self::Audit,
    ];

    /// The lowercase name used in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Renew => "renew",
            Self::Settle => "settle",
            Self::Release => "release",
            Self::MarkUnknown => "mark-unknown",
            Self::Resolve => "resolve",
            Self::LookUp => "look-up",
            Self::History => "history",
            Self::List => "list",
            Self::Sweep => "sweep",
            Self::Stats => "stats",
            Self::Audit => "audit",
        }
    }
}

macro_rules! layer {
    (
        items { $($verb:ident($item:ty) -> $answer:ty, $name:ident;)+ }
        questions { $($question:ident($($arg:ident: $asked:ty)?) -> $found:ty, $named:ident;)+ }
    ) => {
        /// A store in front of another one. What it does not override, the store beneath does.
        pub trait Layer: fmt::Debug + Send + Sync + 'static {
            /// The store beneath.
            fn beneath(&self) -> &dyn Store;

            /// Every call about items passes here, unless the layer overrides its verb.
            fn around<'a, A: Send + 'a>(
                &'a self,
                _verb: Verb,
                _items: usize,
                call: impl FnOnce() -> Answers<'a, A> + Send + 'a,
            ) -> Answers<'a, A> {
                call()
            }

            /// Every other call passes here, unless the layer overrides its verb.
            fn around_question<'a, A: Send + 'a>(
                &'a self,
                _verb: Verb,
                call: impl FnOnce() -> Answer<'a, A> + Send + 'a,
            ) -> Answer<'a, A> {
                call()
            }

            /// As [`Store::limits`].
            fn limits(&self) -> Limits {
                self.beneath().limits()
            }

            /// As [`Store::now`].
            fn now(&self) -> Timestamp {
                self.beneath().now()
            }

            /// As [`Store::cached`].
            fn cached(&self, identity: &Identity, fingerprint: Fingerprint) -> Option<Arc<Record>> {
                self.beneath().cached(identity, fingerprint)
            }

            $(
                #[doc = concat!("As [`Store::", stringify!($verb), "`].")]
                fn $verb(&self, items: Batch<$item>) -> Answers<'_, $answer> {
                    let len = items.len();
                    self.around(Verb::$name, len, move || self.beneath().$verb(items))
                }
            )+
            $(
                #[doc = concat!("As [`Store::", stringify!($question), "`].")]
                fn $question(&self $(, $arg: $asked)?) -> Answer<'_, $found> {
                    self.around_question(Verb::$named, move || self.beneath().$question($($arg)?))
                }
            )+
        }

        impl<L: Layer> Store for L {
            fn limits(&self) -> Limits {
                Layer::limits(self)
            }

            fn now(&self) -> Timestamp {
                Layer::now(self)
            }

            fn cached(&self, identity: &Identity, fingerprint: Fingerprint) -> Option<Arc<Record>> {
                Layer::cached(self, identity, fingerprint)
            }

            $(fn $verb(&self, items: Batch<$item>) -> Answers<'_, $answer> {
                Layer::$verb(self, items)
            })+
            $(fn $question(&self $(, $arg: $asked)?) -> Answer<'_, $found> {
                Layer::$question(self $(, $arg)?)
            })+
        }
    };
}

layer! {
    items {
        claim(ClaimRequest) -> ClaimAnswer, Claim;
        renew(RenewRequest) -> RenewAnswer, Renew;
        settle(SettleRequest) -> SettleAnswer, Settle;
        release(Claim) -> ReleaseAnswer, Release;
        mark_unknown(MarkRequest) -> MarkAnswer, MarkUnknown;
        resolve(ResolveRequest) -> ResolveAnswer, Resolve;
        look_up(Identity) -> Option<Arc<Record>>, LookUp;
    }
    questions {
        history(identity: Identity) -> Vec<Event>, History;
        list(query: Query) -> Page, List;
        sweep(limit: usize) -> Swept, Sweep;
        stats() -> Stats, Stats;
        audit(limit: usize) -> Vec<AuditEntry>, Audit;
    }
}
