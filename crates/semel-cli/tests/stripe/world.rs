//! Everything that a scenario needs, in a directory of its own.

use std::path::Path;

use crate::client::{self, Call, Client};
use crate::gateway::{Gateway, Unknown};
use crate::ledger;
use crate::upstream::Upstream;

/// A gateway in front of an upstream.
pub(crate) struct World {
    pub(crate) gateway: Gateway,
    pub(crate) upstream: Upstream,
    /// Removed last, when the processes that use it are gone.
    _dir: tempfile::TempDir,
}

impl World {
    /// Starts both, with no charges and no records.
    pub(crate) fn new(unknown: Unknown) -> Self {
        Self::with(|dir, upstream| Gateway::by_file(dir, upstream, unknown))
    }

    /// The same, with a gateway that has no configuration file.
    pub(crate) fn without_file() -> Self {
        Self::with(Gateway::by_options)
    }

    fn with(gateway: impl FnOnce(&Path, &Upstream) -> Gateway) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let upstream = Upstream::start(dir.path());
        Self {
            gateway: gateway(dir.path(), &upstream),
            upstream,
            _dir: dir,
        }
    }

    /// A client of the gateway that calls for every operation this many times.
    pub(crate) fn client(&self, calls_each: usize) -> Client {
        Client::start(&self.gateway.url(), calls_each)
    }

    /// Every charge that the upstream has, as operation and id.
    pub(crate) fn charges(&self) -> Vec<(String, String)> {
        client::list(&self.upstream.url())
    }

    /// Fails unless every operation was charged exactly once, every call returned that charge, and
    /// a call for it from now on gets it as a replay.
    pub(crate) fn assert_once(&self, operations: &[String], calls: &[Call]) {
        let charges = ledger::once_each(operations, &self.charges());
        ledger::all_agree(calls, &charges);
        let mut again = self.client(1);
        again.charge(operations);
        let again = again.calls();
        ledger::all_agree(&again, &charges);
        let firsts = ledger::first_answers(&again);
        assert!(firsts.values().all(|count| *count == 0), "{firsts:?}");
        assert_eq!(self.charges().len(), operations.len());
    }
}
