//! What it costs to be watched: the load with the dashboard open in browsers, or with spans sent to a collector, against the load on a gateway
//! that does neither.
//!
//! Gateways that send spans are processes of their own beside the plain one, each with its own store; all stand behind one another's turns, and
//! those that have no turn are idle. The browsers are open during their turns only.

use std::net::SocketAddr;
use std::path::Path;

use semel_core::Result;

use super::child::{Child, Ending, free_addresses};
use super::connection::Target;
use super::field::{self, GATEWAY};
use super::load::{Keys, Load, Until, Work};
use super::options::{GatewayOptions, Peer, Places, Traces};
use super::run::{BREATH, unless_interrupted};
use super::viewer::{self, Browsers};
use crate::load::Measured;
use crate::machine::{self, io};
use crate::report::{Machine, Measurement, Report, Turn};

/// Answers per connection that warm a gateway up, and leave keys to replay.
const WARM_UP: Until = Until::Answers(100);
/// The shares of traces that are recorded, each by a gateway of its own; the first sends nothing.
const SHARES: [f64; 3] = [0.0, 0.1, 1.0];
const SPANS: &str = "semel_spans_total";

/// How the gateway is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watch {
    /// Nothing but the load: no page is open, no span is sent.
    Nothing,
    Dashboard,
    SomeTraced,
    AllTraced,
}

const ORDER: [Watch; 4] = [
    Watch::Nothing,
    Watch::Dashboard,
    Watch::SomeTraced,
    Watch::AllTraced,
];

impl Watch {
    const fn gateway(self) -> usize {
        match self {
            Self::Nothing | Self::Dashboard => 0,
            Self::SomeTraced => 1,
            Self::AllTraced => 2,
        }
    }
}

/// A gateway with its own store and its own keys; ended when dropped.
struct Gateway {
    target: Target,
    admin: SocketAddr,
    keys: Keys,
    _process: Child,
}

/// What one round measured: first requests and replays for each way to watch.
struct Round(Vec<(Watch, [Measured; 2])>);

impl Round {
    fn of(&self, watch: Watch) -> &[Measured; 2] {
        let found = self.0.iter().find(|(one, _)| *one == watch);
        &found.expect("a round has turns of every way to watch").1
    }
}

/// Measures. It must be called inside a tokio runtime. Interrupted, it still ends what it started and removes its files.
pub async fn run(options: GatewayOptions) -> Result<Report> {
    options.check()?;
    let scratch = machine::scratch(&options.dir)?;
    unless_interrupted(measure(&options, scratch.path())).await
}

async fn measure(options: &GatewayOptions, scratch: &Path) -> Result<Report> {
    let fdatasync_p50_us = machine::fdatasync_p50_us(scratch).map_err(io("measuring the disk"))?;
    let [upstream, collector] = free_addresses()?;
    // A collector that answers at once is as cheap as one can be; it takes its share of the cores all the same.
    let _upstream = peer(options, "upstream", upstream, scratch).await?;
    let _collector = peer(options, "collector", collector, scratch).await?;
    let mut gateways = Vec::new();
    for share in SHARES {
        let traces = (share > 0.0).then_some(Traces { collector, share });
        gateways.push(Gateway::start(options, upstream, traces, scratch).await?);
    }
    let rounds = rounds(options, &gateways).await?;
    let mut results = results(&rounds);
    for gateway in &gateways[1..] {
        results.extend(gateway.exported().await?);
    }
    options.progress.step(1, 1, "done");
    Ok(Report {
        machine: Machine {
            cores: machine::cores(),
            fdatasync_p50_us,
            bytes_per_record: None,
        },
        callers: options.connections,
        seconds: options.turn.as_secs_f64(),
        results,
        gateway_memory: None,
    })
}

async fn peer(
    options: &GatewayOptions,
    name: &'static str,
    listen: SocketAddr,
    scratch: &Path,
) -> Result<Child> {
    let command = (options.peer)(Peer::Upstream { listen });
    Child::start(name, &command, Ending::Kill, listen, scratch).await
}

impl Gateway {
    async fn start(
        options: &GatewayOptions,
        upstream: SocketAddr,
        traces: Option<Traces>,
        scratch: &Path,
    ) -> Result<Self> {
        let [listen, admin] = free_addresses()?;
        let dir = scratch.join(listen.port().to_string());
        std::fs::create_dir(&dir).map_err(io("making a directory for a gateway"))?;
        let places = Places {
            listen,
            admin,
            upstream,
            dir: Default::default(),
            traces,
        };
        Ok(Self {
            target: Target {
                name: GATEWAY,
                address: listen,
            },
            admin,
            keys: Keys::new(1),
            _process: field::gateway(options, places, &dir).await?,
        })
    }

    /// A turn of first requests, and a turn that replays them.
    async fn turns(&self, connections: usize, until: Until) -> Result<[Measured; 2]> {
        let turn = |work| Load {
            target: self.target,
            work,
            connections,
            until,
        };
        let first = turn(Work::First(self.keys.clone())).drive().await?;
        tokio::time::sleep(BREATH).await;
        let replays = turn(Work::Replay(self.keys.clone())).drive().await?;
        Ok([first, replays])
    }

    /// The share of spans that reached the collector: those that are dropped cost less.
    async fn exported(&self) -> Result<Option<Measurement>> {
        let exported = viewer::counter(self.admin, SPANS, "result=\"exported\"").await?;
        let all = viewer::counter(self.admin, SPANS, "").await?;
        let name = "spans that reached the collector, by all that ended".to_owned();
        Ok(Measurement::of(
            "spans",
            name,
            &[Turn::plain(exported, all)],
        ))
    }
}

async fn rounds(options: &GatewayOptions, gateways: &[Gateway]) -> Result<Vec<Round>> {
    let total = options.rounds as u64 + 1;
    options.progress.step(0, total, "warming up");
    round(options, gateways, WARM_UP, false).await?;
    let mut taken = Vec::new();
    for i in 0..options.rounds {
        let what = format!("round {} of {}", i + 1, options.rounds);
        options.progress.step(i as u64 + 1, total, &what);
        let until = Until::Elapsed(options.turn);
        taken.push(round(options, gateways, until, i % 2 == 1).await?);
    }
    Ok(taken)
}

async fn round(
    options: &GatewayOptions,
    gateways: &[Gateway],
    until: Until,
    backwards: bool,
) -> Result<Round> {
    let mut order = ORDER;
    if backwards {
        order.reverse();
    }
    let mut turns = Vec::new();
    for watch in order {
        let gateway = &gateways[watch.gateway()];
        let browsers = match watch {
            Watch::Dashboard => Some(Browsers::open(gateway.admin).await?),
            _ => None,
        };
        turns.push((watch, gateway.turns(options.connections, until).await?));
        drop(browsers);
        tokio::time::sleep(BREATH).await;
    }
    Ok(Round(turns))
}

fn results(rounds: &[Round]) -> Vec<Measurement> {
    let pages = viewer::PAGES.len();
    let figures = [
        (
            Watch::Dashboard,
            "dashboard",
            format!("with {pages} pages of the dashboard open"),
        ),
        (
            Watch::SomeTraced,
            "traces",
            "with every tenth trace recorded".to_owned(),
        ),
        (
            Watch::AllTraced,
            "traces",
            "with every trace recorded".to_owned(),
        ),
    ];
    let figures = figures.into_iter().flat_map(|(watch, goal, how)| {
        [(0, "first requests/s"), (1, "replays/s")].map(|(which, what)| {
            let turns: Vec<_> = rounds
                .iter()
                .map(|round| Turn::of(&round.of(watch)[which], &round.of(Watch::Nothing)[which]))
                .collect();
            Measurement::of(goal, format!("gateway, {what} {how}, by without"), &turns)
        })
    });
    figures.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_stands_beside_the_gateway_that_nobody_watches() {
        let measured = |per_second| Measured {
            per_second,
            p50_us: 1.0,
            p99_us: 2.0,
        };
        let turns = ORDER.into_iter().zip([100.0, 90.0, 80.0, 50.0]);
        let turns = turns.map(|(watch, first)| (watch, [measured(first), measured(2.0 * first)]));
        let results = results(&[Round(turns.collect())]);
        let found: Vec<_> = results.iter().map(|one| (one.goal, one.ratio)).collect();
        let expected = [
            ("dashboard", 0.9),
            ("dashboard", 0.9),
            ("traces", 0.8),
            ("traces", 0.8),
            ("traces", 0.5),
            ("traces", 0.5),
        ];
        assert_eq!(found, expected);
        assert!(results[0].name.contains("first requests/s with 4 pages"));
        assert_eq!(results[1].baseline, 200.0);
    }
}
