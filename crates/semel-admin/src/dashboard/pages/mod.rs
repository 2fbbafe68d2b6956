//! The pages, one file or folder each.

pub(super) mod overview;
