//! What a run over brokers found.

use serde_json::{Value, json};

use crate::report::{Machine, Measurement, table_of};

/// What a run over brokers found.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceReport {
    /// The machine.
    pub machine: Machine,
    /// How many messages a turn has; Kafka has five times as many, SQS a tenth.
    pub messages: usize,
    /// The figures.
    pub results: Vec<Measurement>,
}

impl SourceReport {
    /// The figures as a table for a terminal, machine facts below.
    pub fn table(&self) -> String {
        let (table, messages) = (table_of(&self.results), self.messages);
        let machine = self.machine.line();
        format!(
            "{table}\n{messages} messages per turn, five times as many for Kafka, a tenth for SQS; {machine}"
        )
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        json!({
            "results": self.results.iter().map(Measurement::json).collect::<Vec<_>>(),
            "messages": self.messages,
            "machine": self.machine.json(),
        })
    }
}
