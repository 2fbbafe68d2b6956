//! The gateway against plain proxies, in turns.
//!
//! Everything that answers is an operating system process of its own, as it would be in use: the gateway, the two
//! proxies that it is compared to, and the upstream behind all three. Only the load comes from here, from one thread.
//! Read it in this order: `head`, `wire` and `request` are just enough HTTP/1.1; [`upstream`] and [`hyper_proxy`]
//! are served by processes that the caller starts; `nginx` is somebody else's; `child` starts them all and ends
//! them; `load` asks and counts; `rounds` takes the turns; [`soak`] mistreats the gateway and watches its memory, and so does
//! [`hostile`], with bodies that are sent byte by byte; [`watched`] opens the dashboard (`viewer`) and collects spans.
//!
//! This module names no gateway: the caller says which command starts one.

mod child;
mod connection;
mod field;
mod head;
pub mod hostile;
pub mod hyper_proxy;
mod load;
pub mod memory;
mod nginx;
mod options;
mod request;
mod rounds;
mod run;
pub mod soak;
mod solo;
#[cfg(test)]
mod stub;
#[cfg(test)]
mod tests;
pub mod upstream;
mod viewer;
pub mod watched;
mod wire;

pub use options::{
    CommandLine, GatewayCommand, GatewayOptions, Peer, PeerCommand, Places, Prefill, Traces,
};
pub use run::run;
