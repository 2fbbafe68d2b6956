//! The shop that charges: Stripe's own client in a process. `client.py` is the process.

use serde_json::Value;

use crate::process::Process;

/// Enough for a request to outlast several kills: the client waits 0.5 to 5 seconds in between.
const RETRIES: usize = 20;
/// More than there are calls at any time, so that none waits for another.
const THREADS: usize = 32;

/// What one call of the client came to.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) operation: String,
    /// The charge that it returned, or the error that it raised.
    pub(crate) returned: Result<Charge, String>,
}

/// A charge as the client saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Charge {
    pub(crate) id: String,
    pub(crate) replayed: bool,
}

/// The client's process.
pub(crate) struct Client {
    process: Process,
    calls_each: usize,
    pending: usize,
}

impl Client {
    /// A client that calls for every operation this many times.
    pub(crate) fn start(url: &str, calls_each: usize) -> Self {
        Self::with_retries(url, calls_each, RETRIES)
    }

    /// A client that loses patience after this many retries.
    pub(crate) fn with_retries(url: &str, calls_each: usize, retries: usize) -> Self {
        let numbers = [retries, calls_each, THREADS].map(|number| number.to_string());
        let [retries, calls, threads] = numbers.each_ref().map(String::as_str);
        let args = ["charge", url, retries, calls, threads];
        Self {
            process: Process::script("client.py", &args),
            calls_each,
            pending: 0,
        }
    }

    /// Begins to charge for these operations.
    pub(crate) fn charge(&mut self, operations: &[String]) {
        for operation in operations {
            self.process.tell(operation);
        }
        self.pending += operations.len() * self.calls_each;
    }

    /// Waits until every call that was begun has come to an end.
    pub(crate) fn calls(&mut self) -> Vec<Call> {
        let pending = std::mem::take(&mut self.pending);
        let lines = (0..pending).map(|_| self.process.line().expect("an answer to every call"));
        lines.map(|line| call(&line)).collect()
    }
}

/// Every charge that there is at this address, as operation and id.
pub(crate) fn list(url: &str) -> Vec<(String, String)> {
    let mut process = Process::script("client.py", &["list", url]);
    process.end_of_input();
    let lines = std::iter::from_fn(|| process.line());
    lines
        .map(|line| {
            let fields: Value = serde_json::from_str(&line).unwrap();
            (text(&fields["operation"]), text(&fields["charge"]))
        })
        .collect()
}

fn call(line: &str) -> Call {
    let fields: Value = serde_json::from_str(line).unwrap();
    let returned = match &fields["charge"] {
        Value::Null => Err(format!("{} {}", text(&fields["error"]), fields["status"])),
        id => Ok(Charge {
            id: text(id),
            replayed: fields["replayed"].as_bool().unwrap(),
        }),
    };
    Call {
        operation: text(&fields["operation"]),
        returned,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
