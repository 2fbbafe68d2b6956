//! Where traces go, and which there are.

use crate::file::{Callers, Messages, Tracing};

/// One line, or several if something is unlike the defaults; nothing without a collector.
pub(super) fn describe(tracing: &Tracing) -> Vec<String> {
    let Some(endpoint) = &tracing.endpoint else {
        return Vec::new();
    };
    let share = tracing.sample.map_or(1.0, |sample| sample.0.get());
    let which = match share {
        1.0 => "all that begin here".to_owned(),
        0.0 => "none that begins here".to_owned(),
        share => format!("{} % of those that begin here", share * 100.0),
    };
    let mut said = vec![format!(
        "traces are sent to {}: {which}, and those that callers and producers record",
        endpoint.as_str()
    )];
    if tracing.callers == Callers::Link {
        said.push("  callers' traces are linked and not continued".to_owned());
    }
    if tracing.messages == Messages::Join {
        said.push("  handling a message is a part of its producer's trace".to_owned());
    }
    said
}
