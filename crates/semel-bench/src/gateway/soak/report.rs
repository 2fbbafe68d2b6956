//! What a soak found, for people and for programs.

use serde_json::{Map, Value, json};

use super::tally::{Act, Tally};
use super::trend::Trend;
use crate::report::{Measurement, table_of};

/// What a soak found.
#[derive(Debug, Clone, PartialEq)]
pub struct SoakReport {
    pub(super) connections: usize,
    pub(super) seconds: f64,
    pub(super) tally: Tally,
    pub(super) trend: Trend,
}

impl SoakReport {
    /// The figures: the memory of the last quarter by that of the first.
    pub fn results(&self) -> Vec<Measurement> {
        self.trend.measurement().into_iter().collect()
    }

    /// The figures as a table for a terminal, below it what was done and how memory went.
    pub fn table(&self) -> String {
        let table = table_of(&self.results());
        let (connections, seconds) = (self.connections, self.seconds);
        let done = Act::ALL.map(|act| format!("{} {}", self.tally.get(act), act.name()));
        let samples = self.trend.shown_mib();
        let samples: Vec<_> = samples.iter().map(|mib| format!("{mib:.1}")).collect();
        let (done, samples) = (done.join(", "), samples.join(" "));
        format!("{table}\n{connections} connections, {seconds} s; {done}\nMiB over time: {samples}")
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let done = Act::ALL.map(|act| (act.name().to_owned(), json!(self.tally.get(act))));
        json!({
            "results": self.results().iter().map(Measurement::json).collect::<Vec<_>>(),
            "connections": self.connections,
            "seconds": self.seconds,
            "done": Value::Object(Map::from_iter(done)),
            "resident_mib": self.trend.shown_mib(),
            "peak_kib": self.trend.peak().map(|memory| memory.peak_kib),
        })
    }
}
