//! Three gateways on one store, each on a port of its own that it keeps when it is started again.

use std::net::SocketAddr;
use std::thread;

use crate::process::free_port;
use crate::support::Semel;
use crate::test_store::TestStore;
use crate::upstream::Upstream;

pub(crate) const NODES: usize = 3;
/// A killed gateway's claims are nobody's when it has ended.
pub(crate) const LEASE_MS: u64 = 1_000;

/// What is done about outcomes that nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    Hold,
    Rerun,
}

/// The gateways.
pub(crate) struct Fleet<'a> {
    place: &'a TestStore,
    upstream: &'a Upstream,
    unknown: Unknown,
    addrs: [SocketAddr; NODES],
    nodes: Vec<Semel>,
}

impl<'a> Fleet<'a> {
    /// Starts all of them at once on a store that none of them has seen.
    pub(crate) fn start(place: &'a TestStore, upstream: &'a Upstream, unknown: Unknown) -> Self {
        let mut fleet = Self {
            place,
            upstream,
            unknown,
            addrs: [(); NODES].map(|()| ([127, 0, 0, 1], free_port()).into()),
            nodes: Vec::new(),
        };
        fleet.nodes = thread::scope(|scope| {
            let starts = [0, 1, 2].map(|node| {
                let command = fleet.command(node);
                scope.spawn(move || gateway(place, &command))
            });
            starts.map(|start| start.join().unwrap()).into()
        });
        fleet
    }

    pub(crate) const fn addrs(&self) -> [SocketAddr; NODES] {
        self.addrs
    }

    pub(crate) const fn unknown(&self) -> Unknown {
        self.unknown
    }

    pub(crate) const fn upstream(&self) -> &Upstream {
        self.upstream
    }

    pub(crate) const fn place(&self) -> &TestStore {
        self.place
    }

    /// Ends one with SIGKILL and starts another in its place.
    pub(crate) fn replace(&mut self, node: usize) {
        self.nodes[node].signal("KILL");
        assert_eq!(
            self.nodes[node].wait(),
            None,
            "it ended before it was killed"
        );
        self.nodes[node] = gateway(self.place, &self.command(node));
    }

    fn command(&self, node: usize) -> Vec<String> {
        let unknown = match self.unknown {
            Unknown::Hold => "hold",
            Unknown::Rerun => "rerun",
        };
        let (upstream, listen) = (self.upstream.url(), self.addrs[node]);
        let options = format!(
            "gateway --upstream {upstream} --listen {listen} --admin 127.0.0.1:0 --lease {LEASE_MS}ms \
             --unknown {unknown} --store"
        );
        let words = options.split_whitespace().map(str::to_owned);
        words.chain([self.place.url.clone()]).collect()
    }
}

fn gateway(place: &TestStore, command: &[String]) -> Semel {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    Semel::start(place.dir(), &words)
}
