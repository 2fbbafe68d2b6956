//! The upstream: what it is told and what it tells. `upstream.py` is the process.

use std::path::Path;
use std::thread;

use crate::process::{Process, free_port};

/// One forwarding of an operation to the upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) key: String,
    pub(crate) fence: u64,
}

/// Where a request for a charge can be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// The whole request has arrived, nothing was done.
    Before,
    /// The charge is on disk, nothing was answered.
    After,
}

/// Something that the upstream did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// It has been told to stop a request.
    WillHold,
    /// A request stopped.
    Held(Point, Run),
    /// A charge was made.
    Charged(Run),
    /// A request came after the reconciler had said that it never would.
    Refused(Run),
    /// The reconciler was asked, and said whether the charge exists.
    Asked(Run, bool),
}

/// The requests that are stopped.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Nothing was done.
    pub(crate) before: Vec<Run>,
    /// The charge was made.
    pub(crate) after: Vec<Run>,
}

/// The upstream's process, which can be killed and started again on the same state.
pub(crate) struct Upstream {
    args: [String; 3],
    process: Process,
    /// All that happened, in order, over all restarts.
    events: Vec<Event>,
}

impl Upstream {
    /// Starts with no charges.
    pub(crate) fn start(dir: &Path) -> Self {
        let state = dir.join("localstripe.pickle");
        let args = [
            free_port().to_string(),
            free_port().to_string(),
            state.to_str().unwrap().to_owned(),
        ];
        Self {
            process: start(&args),
            args,
            events: Vec::new(),
        }
    }

    /// The address of Stripe's interface.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.args[0])
    }

    /// The question whether an operation happened.
    pub(crate) fn reconciler_url(&self) -> String {
        let port = &self.args[1];
        format!("http://127.0.0.1:{port}/charges?key={{key}}&fence={{fence}}")
    }

    /// Stops the next requests for a charge, one at each of these points. Returns how much had
    /// happened until then, for waiting for what happens from now on.
    pub(crate) fn hold(&mut self, points: &[Point]) -> usize {
        for point in points {
            self.process.tell(match point {
                Point::Before => "hold before",
                Point::After => "hold after",
            });
            let since = self.events.len();
            self.wait_for(since, &Event::WillHold);
        }
        self.events.len()
    }

    /// Lets a request that was not charged yet go on, and says what became of it.
    pub(crate) fn go(&mut self, run: &Run) -> Event {
        self.process.tell(&format!("go {} {}", run.key, run.fence));
        let possible = [Event::Charged(run.clone()), Event::Refused(run.clone())];
        self.wait_until(0, |events| {
            events
                .iter()
                .find(|event| possible.contains(event))
                .cloned()
        })
    }

    /// Ends the process with SIGKILL; what it said before still counts.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
        while let Some(line) = self.process.line() {
            self.events.push(event(&line));
        }
    }

    /// Starts again on the same ports and the same state.
    pub(crate) fn restart(&mut self) {
        self.process = start(&self.args);
    }

    /// Waits until this has happened.
    pub(crate) fn wait_for(&mut self, since: usize, expected: &Event) {
        self.wait_until(since, |events| events.contains(expected).then_some(()));
    }

    /// Waits until `count` requests are stopped and as many `others` are charged, so that no
    /// request is on its way any more.
    pub(crate) fn wait_for_held(&mut self, since: usize, count: usize, others: usize) -> Held {
        self.wait_until(since, |events| {
            let mut held = Held::default();
            let mut charged = 0;
            for event in events {
                match event {
                    Event::Held(Point::Before, run) => held.before.push(run.clone()),
                    Event::Held(Point::After, run) => held.after.push(run.clone()),
                    Event::Charged(_) => charged += 1,
                    Event::Refused(_) | Event::Asked(..) | Event::WillHold => {}
                }
            }
            let all = held.before.len() + held.after.len();
            (all == count && charged == held.after.len() + others).then_some(held)
        })
    }

    fn wait_until<T>(&mut self, since: usize, enough: impl Fn(&[Event]) -> Option<T>) -> T {
        loop {
            if let Some(found) = enough(&self.events[since..]) {
                return found;
            }
            let line = self.process.line();
            let line = line.expect("the upstream is running");
            self.events.push(event(&line));
        }
    }
}

impl Drop for Upstream {
    #[expect(clippy::print_stderr, reason = "whoever reads the failure needs it")]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("what the upstream did: {:#?}", self.events);
        }
    }
}

fn start(args: &[String; 3]) -> Process {
    let process = Process::script("upstream.py", &args.each_ref().map(String::as_str));
    assert_eq!(process.line().as_deref(), Some("listening"));
    process
}

fn event(line: &str) -> Event {
    let run = |key: &str, fence: &str| Run {
        key: key.to_owned(),
        fence: fence.parse().unwrap(),
    };
    match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["will-hold"] => Event::WillHold,
        ["held", "before", key, fence] => Event::Held(Point::Before, run(key, fence)),
        ["held", "after", key, fence] => Event::Held(Point::After, run(key, fence)),
        ["charged", key, fence] => Event::Charged(run(key, fence)),
        ["refused", key, fence] => Event::Refused(run(key, fence)),
        ["asked", key, fence, answer] => Event::Asked(run(key, fence), answer == "yes"),
        _ => panic!("the upstream said {line:?}"),
    }
}
