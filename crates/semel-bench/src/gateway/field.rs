//! Who takes part, and where each one listens.

use std::path::Path;

use semel_core::Result;

use super::child::{Child, Ending, free_addresses};
use super::connection::Target;
use super::memory::Memory;
use super::nginx;
use super::options::{GatewayOptions, Peer, Places, Prefill};
use crate::machine::io;
use crate::prefill::prefill;
use crate::sample::mix;

const UPSTREAM: &str = "the upstream";
const NGINX: &str = "nginx";
const HYPER_PROXY: &str = "the hyper proxy";
pub(super) const GATEWAY: &str = "the gateway";
/// A seed of records that no request asks for.
const FILLING: u64 = 8;

/// Where each one listens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) upstream: Target,
    pub(super) nginx: Target,
    pub(super) hyper_proxy: Target,
    pub(super) gateway: Target,
}

/// The proxies that the gateway is compared to; ended when dropped.
#[derive(Debug)]
pub(super) struct Proxies {
    _nginx: Child,
    _hyper_proxy: Child,
}

/// The gateway and the service behind it; ended when dropped, the gateway first.
#[derive(Debug)]
pub(super) struct Guarded {
    gateway: Child,
    _upstream: Child,
}

impl Field {
    /// An address for each, and nobody there yet.
    pub(super) fn new() -> Result<(Self, Places)> {
        let [upstream, nginx, hyper_proxy, gateway, admin] = free_addresses()?;
        let target = |name, address| Target { name, address };
        let field = Self {
            upstream: target(UPSTREAM, upstream),
            nginx: target(NGINX, nginx),
            hyper_proxy: target(HYPER_PROXY, hyper_proxy),
            gateway: target(GATEWAY, gateway),
        };
        let places = Places {
            listen: gateway,
            admin,
            upstream,
            dir: Default::default(),
            traces: None,
        };
        Ok((field, places))
    }

    /// Starts the upstream and then the gateway, with a store in a directory of its own below `scratch`.
    pub(super) async fn guard(
        &self,
        options: &GatewayOptions,
        places: Places,
        scratch: &Path,
    ) -> Result<Guarded> {
        let listen = self.upstream.address;
        let command = (options.peer)(Peer::Upstream { listen });
        let upstream = Child::start("upstream", &command, Ending::Kill, listen, scratch).await?;
        Ok(Guarded {
            gateway: gateway(options, places, scratch).await?,
            _upstream: upstream,
        })
    }

    /// Starts the proxies that it is compared to.
    pub(super) async fn proxies(
        &self,
        options: &GatewayOptions,
        scratch: &Path,
    ) -> Result<Proxies> {
        let upstream = self.upstream.address;
        let listen = self.hyper_proxy.address;
        let command = (options.peer)(Peer::HyperProxy { listen, upstream });
        Ok(Proxies {
            _nginx: nginx::start(self.nginx.address, upstream, scratch).await?,
            _hyper_proxy: Child::start("hyper-proxy", &command, Ending::Kill, listen, scratch)
                .await?,
        })
    }
}

impl Guarded {
    /// The memory of the gateway now.
    pub(super) fn memory(&self) -> Result<Memory> {
        Memory::of(self.gateway.id())
    }
}

/// Starts a gateway, with a store in a directory of its own below `scratch`.
pub(super) async fn gateway(
    options: &GatewayOptions,
    mut places: Places,
    scratch: &Path,
) -> Result<Child> {
    places.dir = scratch.join("store");
    std::fs::create_dir(&places.dir).map_err(io("making a directory for the store"))?;
    fill(options, &places.dir).await?;
    let command = (options.gateway)(&places);
    Child::start("gateway", &command, Ending::Kill, places.listen, scratch).await
}

/// Fills the store that the gateway will find, and closes it.
async fn fill(options: &GatewayOptions, dir: &Path) -> Result<()> {
    let Some(Prefill { open, records }) = &options.prefill else {
        return Ok(());
    };
    let what = format!("filling a store with {records} records");
    let filled = |done: u64| {
        options
            .progress
            .step(done.min(records - 1), *records, &what)
    };
    let store = open(dir.to_owned()).await?;
    prefill(&store, mix(FILLING), *records, filled).await
}
