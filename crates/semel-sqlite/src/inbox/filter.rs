//! Conditions of lists and selections, as SQL over `semel_messages m` and `semel_work w`.

use rusqlite::types::Value;
use semel_core::inbox::{Cause, State};

/// Conditions that must all hold.
#[derive(Debug, Default)]
pub(super) struct Filter {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl Filter {
    /// A condition with one `?` for a value.
    pub(super) fn and(mut self, condition: impl Into<String>, value: impl Into<Value>) -> Self {
        self.conditions.push(condition.into());
        self.values.push(value.into());
        self
    }

    /// The same, if there is a value.
    pub(super) fn and_if<V: Into<Value>>(
        self,
        condition: impl Into<String>,
        value: Option<V>,
    ) -> Self {
        match value {
            Some(value) => self.and(condition, value),
            None => self,
        }
    }

    /// A cause of its work.
    pub(super) fn and_cause(self, cause: Option<Cause>) -> Self {
        self.and_if("w.cause = ?", cause.map(|cause| cause.name().to_owned()))
    }

    /// One of these states; a message without work is completed.
    pub(super) fn and_states(mut self, states: &[State]) -> Self {
        let numbers: Vec<String> = states.iter().map(|s| s.number().to_string()).collect();
        let mut any = match numbers.as_slice() {
            // One state is found in its index in the order of arrival.
            [one] => format!("w.state = {one}"),
            many => format!("w.state IN ({})", many.join(", ")),
        };
        if states.contains(&State::Completed) {
            any = format!("(w.number IS NULL OR {any})");
        } else if states.iter().all(|state| is_still(*state)) {
            // The index of what stands still serves only who asks for it.
            any.push_str(" AND w.due_ms IS NULL");
        }
        self.conditions.push(any);
        self
    }

    /// The conditions as text, and their values.
    pub(super) fn into_parts(self) -> (String, Vec<Value>) {
        match self.conditions.is_empty() {
            true => ("true".to_owned(), self.values),
            false => (self.conditions.join(" AND "), self.values),
        }
    }
}

/// Whether work in this state is never due.
fn is_still(state: State) -> bool {
    matches!(
        state,
        State::FailedTerminal | State::Parked | State::SkippedDuplicate
    )
}

/// Where to look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    /// The tables `m` and `w`, joined.
    pub(super) tables: &'static str,
    /// The consumer, in the table that is looked at first.
    pub(super) consumer: &'static str,
    /// The number, in the table that is looked at first.
    pub(super) number: &'static str,
}

impl Source {
    /// At all messages.
    pub(super) const MESSAGES: Self = Self {
        tables: "semel_messages m LEFT JOIN semel_work w ON w.number = m.number",
        consumer: "m.consumer",
        number: "m.number",
    };

    /// At the work, for what is not completed.
    const WORK: Self = Self {
        tables: "semel_work w CROSS JOIN semel_messages m ON m.number = w.number",
        consumer: "w.consumer",
        number: "w.number",
    };

    /// Where messages in these states are found; in any, if there are none.
    pub(super) fn of(states: &[State]) -> Self {
        match states.is_empty() || states.contains(&State::Completed) {
            true => Self::MESSAGES,
            false => Self::WORK,
        }
    }
}
