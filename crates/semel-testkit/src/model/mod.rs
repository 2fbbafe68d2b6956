//! A model of the protocol that a checker explores completely: every order of claims, crashes,
//! pauses, late effects and repeated calls, within stated [`Bounds`].
//!
//! The store of the model decides by [`semel_core::protocol`] itself, so the checker judges the
//! shipped code and not a copy of it. Around it stand workers that make the decisions of the shipped driver, may stop
//! or pause at any point and go on when their lease is long over, and a [`Provider`] whose ledger counts effects. An effect travels:
//! it may land after its sender died.
//!
//! Read it in this order: [`Config`] says what is modelled; `mirror` and `store` hold the record;
//! `ledger` is the provider; `worker` is what a caller does; `machine` ties them together;
//! [`property`] is what must hold; `mistake` builds in each [`Bug`], to show that the checker sees it. [`check`] explores everything, [`shortest`] tells how a
//! property is reached or broken.
//!
//! What it does not cover:
//! - **Retention.** Records are kept far longer than the model's time lasts: once retention has ended a
//!   repeat is a new operation, so "one effect" only means something within it.
//! - **Clocks that go back.** A store never lets its time go back; that is the store's to show.
//! - **Several identities, fingerprints, batches of a store and lost writes.** Those belong to the conformance suite
//!   and the crash tests.
//! - **Progress.** It shows that nothing bad happens, not that something good happens in time.
//! - **A network that multiplies effects by itself.** Each claim sends its effect at most once.
//!
//! A person who resolves held records is not modelled apart: who looks whether it happened and
//! then decides does what [`semel_core::OnUnknown::Reconcile`] does, and needs the same care.
//!
//! ```
//! use semel_core::OnUnknown;
//! use semel_testkit::model::{Config, Provider, check};
//!
//! let mut config = Config::new(OnUnknown::Hold, Provider::Plain);
//! config.bounds.claims_max = 1;
//! let check = check(&config);
//! assert!(check.violations.is_empty(), "{:?}", check.violations);
//! ```

mod check;
mod config;
mod ledger;
mod machine;
mod mirror;
mod mistake;
mod predicate;
pub mod property;
mod store;
mod worker;

pub use check::{Check, check, shortest};
pub use config::{Bounds, Bug, Config, Provider};
