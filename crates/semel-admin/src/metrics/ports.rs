//! What is going on at each port: connections, and requests in flight. Looked at when the numbers are asked for.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use semel_listen::Load;

type Number = Gauge<u64, AtomicU64>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AtPort {
    port: &'static str,
}

type Look = Box<dyn Fn() -> Load + Send + Sync>;

pub(super) struct Ports {
    connections: Family<AtPort, Number>,
    in_flight: Family<AtPort, Number>,
    watched: Mutex<Vec<(&'static str, Look)>>,
}

impl Ports {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let ports = Self {
            connections: Family::default(),
            in_flight: Family::default(),
            watched: Mutex::default(),
        };
        registry.register(
            "semel_port_connections",
            "Open connections of clients",
            ports.connections.clone(),
        );
        registry.register(
            "semel_port_in_flight",
            "Requests that are not answered to the end yet",
            ports.in_flight.clone(),
        );
        ports
    }

    pub(super) fn watch(&self, port: &'static str, look: Look) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|(known, _)| *known != port);
        watched.push((port, look));
    }

    pub(super) fn refresh(&self) {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        for (port, look) in watched.iter() {
            let (load, at) = (look(), AtPort { port });
            self.connections
                .get_or_create(&at)
                .set(load.connections as u64);
            self.in_flight.get_or_create(&at).set(load.in_flight as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use semel_listen::Load;

    use crate::Metrics;

    #[test]
    fn a_port_is_looked_at_when_the_numbers_are_asked_for() {
        let metrics = Metrics::new();
        metrics.watch_port("gateway", || Load {
            connections: 3,
            in_flight: 2,
        });
        let text = metrics.text();
        for series in [
            "semel_port_connections{port=\"gateway\"} 3",
            "semel_port_in_flight{port=\"gateway\"} 2",
        ] {
            assert!(text.contains(series), "{text}");
        }
    }
}
