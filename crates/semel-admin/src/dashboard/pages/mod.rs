//! The pages, one file or folder each.

pub(super) mod alerts;
pub(super) mod audit;
pub(super) mod configuration;
pub(super) mod dead_letters;
pub(super) mod duplicates;
pub(super) mod inbox;
pub(super) mod intents;
pub(super) mod keys;
pub(super) mod observe;
pub(super) mod overview;
pub(super) mod unknown;
