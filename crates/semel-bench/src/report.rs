//! What a run found, for people and for programs.

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde_json::{Value, json};

use crate::gateway::memory::Memory;
use crate::goal::Goal;
use crate::load::Measured;

/// One figure of one round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) ours: f64,
    pub(crate) baseline: f64,
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
}

impl Turn {
    /// How much was done per second, with the latencies of ours.
    pub(crate) fn of(ours: &Measured, baseline: &Measured) -> Self {
        Self {
            ours: ours.per_second,
            baseline: baseline.per_second,
            p50_us: Some(ours.p50_us),
            p99_us: Some(ours.p99_us),
        }
    }

    /// Two figures without latencies.
    pub(crate) const fn plain(ours: f64, baseline: f64) -> Self {
        Self {
            ours,
            baseline,
            p50_us: None,
            p99_us: None,
        }
    }

    fn ratio(&self) -> f64 {
        self.ours / self.baseline
    }
}

/// A figure over all rounds. The figures are those of the round with the median ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The goal that it answers, or another short name.
    pub goal: &'static str,
    /// What was measured against what, in words.
    pub name: String,
    /// Ours.
    pub ours: f64,
    /// The baseline's in the same round.
    pub baseline: f64,
    /// Ours by the baseline's: the median of all rounds.
    pub ratio: f64,
    /// The lowest ratio of a round.
    pub ratio_min: f64,
    /// The highest ratio of a round.
    pub ratio_max: f64,
    /// How many rounds there were.
    pub rounds: usize,
    /// The median latency of ours, where latency was measured.
    pub p50_us: Option<f64>,
    /// The 99th percentile of ours, where latency was measured.
    pub p99_us: Option<f64>,
}

impl Measurement {
    /// The figure over these rounds; `None` without any.
    pub(crate) fn of(goal: &'static str, name: String, turns: &[Turn]) -> Option<Self> {
        let mut turns = turns.to_vec();
        turns.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
        let (low, high) = (turns.first()?, turns.last()?);
        let median = &turns[(turns.len() - 1) / 2];
        Some(Self {
            goal,
            name,
            ours: median.ours,
            baseline: median.baseline,
            ratio: median.ratio(),
            ratio_min: low.ratio(),
            ratio_max: high.ratio(),
            rounds: turns.len(),
            p50_us: median.p50_us,
            p99_us: median.p99_us,
        })
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "goal": self.goal,
            "name": self.name,
            "ours": self.ours,
            "baseline": self.baseline,
            "ratio": self.ratio,
            "ratio_min": self.ratio_min,
            "ratio_max": self.ratio_max,
            "rounds": self.rounds,
            "p50_us": self.p50_us,
            "p99_us": self.p99_us,
        })
    }

    fn row(&self) -> Vec<String> {
        let latency = |us: Option<f64>| us.map_or_else(|| "–".into(), |us| format!("{us:.0}"));
        vec![
            self.goal.to_owned(),
            self.name.clone(),
            number(self.ours),
            number(self.baseline),
            format!(
                "{} ({}–{})",
                short(self.ratio),
                short(self.ratio_min),
                short(self.ratio_max)
            ),
            latency(self.p50_us),
            latency(self.p99_us),
            Goal::find(self.goal).map_or_else(|| "–".into(), |goal| goal.verdict(self.ratio)),
        ]
    }
}

/// What must be known about the machine to read the figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// How many threads run at once.
    pub cores: usize,
    /// The median of a 4 KiB write with its `fdatasync`, in microseconds.
    pub fdatasync_p50_us: f64,
    /// Bytes on disk per record, where the store can tell.
    pub bytes_per_record: Option<f64>,
}

impl Machine {
    pub(crate) fn line(&self) -> String {
        let Self {
            cores,
            fdatasync_p50_us,
            bytes_per_record,
        } = self;
        let bytes = bytes_per_record.map_or_else(String::new, |bytes| {
            format!(", {bytes:.0} bytes per record")
        });
        format!("{cores} cores, fdatasync of 4 KiB {fdatasync_p50_us:.0} µs{bytes}")
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "cores": self.cores,
            "fdatasync_p50_us": self.fdatasync_p50_us,
            "bytes_per_record": self.bytes_per_record,
        })
    }
}

/// The memory of the gateway around its load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GatewayMemory {
    /// Before the first request.
    pub before: Memory,
    /// After the last.
    pub after: Memory,
}

impl GatewayMemory {
    fn line(self) -> String {
        let (before, after) = (self.before.resident_mib(), self.after.resident_mib());
        let peak = self.after.peak_mib();
        format!(
            "\nmemory of the gateway: {before:.0} MiB before, {after:.0} after, {peak:.0} at most"
        )
    }

    fn json(self) -> Value {
        json!({
            "resident_kib_before": self.before.resident_kib,
            "resident_kib_after": self.after.resident_kib,
            "peak_kib": self.after.peak_kib,
        })
    }
}

/// What a run found.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The machine.
    pub machine: Machine,
    /// How many callers there were at once.
    pub callers: usize,
    /// How long each turn lasted, in seconds.
    pub seconds: f64,
    /// The figures.
    pub results: Vec<Measurement>,
    /// The memory of the gateway, where there was one.
    pub gateway_memory: Option<GatewayMemory>,
}

impl Report {
    /// The figures as a table for a terminal, machine facts below.
    pub fn table(&self) -> String {
        let table = table_of(&self.results);
        let (callers, seconds, machine) = (self.callers, self.seconds, self.machine.line());
        format!(
            "{table}\n{callers} callers, {seconds} s per turn; {machine}{}",
            self.gateway_memory
                .map_or_else(String::new, GatewayMemory::line)
        )
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        json!({
            "results": self.results.iter().map(Measurement::json).collect::<Vec<_>>(),
            "callers": self.callers,
            "seconds": self.seconds,
            "machine": self.machine.json(),
            "gateway_memory": self.gateway_memory.map(GatewayMemory::json),
        })
    }
}

/// A row for each figure.
pub(crate) fn table_of(results: &[Measurement]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header([
        "goal",
        "what",
        "ours",
        "baseline",
        "ratio (range)",
        "p50 µs",
        "p99 µs",
        "verdict",
    ]);
    table.add_rows(results.iter().map(Measurement::row));
    table
}

fn number(value: f64) -> String {
    format!("{value:.0}")
}

/// A ratio with as many digits as matter.
fn short(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 10.0 => format!("{ratio:.2}"),
        ratio => format!("{ratio:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_round_speaks_for_all() {
        let turns = [(1.0, 4.0), (3.0, 4.0), (2.0, 4.0)].map(|(ours, baseline)| Turn {
            ours,
            baseline,
            p50_us: None,
            p99_us: Some(ours),
        });
        let found = Measurement::of("G1", "pairs".into(), &turns).unwrap();
        assert_eq!((found.ours, found.baseline, found.ratio), (2.0, 4.0, 0.5));
        assert_eq!((found.ratio_min, found.ratio_max), (0.25, 0.75));
        assert_eq!((found.rounds, found.p99_us), (3, Some(2.0)));
        assert_eq!(Measurement::of("G1", String::new(), &[]), None);
    }
}
