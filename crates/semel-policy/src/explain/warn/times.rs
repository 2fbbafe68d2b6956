//! Times that do not fit together.

use semel_core::duration::show;

use super::super::route::name;
use crate::compile::CompiledRoute;
use crate::file::Gateway;

/// A route that gives up before a connection to its service may be given up. Nothing is lost by it: a request that
/// was not handed over is released. But the two together are hardly meant.
pub(super) fn of_gateway(gateway: &Gateway, routes: &[CompiledRoute]) -> Option<String> {
    let connect = gateway.timeouts.connect.0;
    let short = routes.iter().filter(|route| route.rules.timeout <= connect);
    let short: Vec<_> = short.map(name).collect();
    if short.is_empty() {
        return None;
    }
    Some(format!(
        "{}: timeout is not longer than gateway.timeouts.connect, which is {}: a service that is slow to accept \
         connections gets no time to answer",
        short.join(", "),
        show(connect)
    ))
}
