//! What each signal does to a circuit, by its state.

use super::*;

const BUSY: Signal = Signal::Busy(Duration::from_secs(60));

/// A circuit and the time.
struct Bench {
    circuit: Circuit,
    now: Instant,
}

impl Bench {
    fn new(workers: usize) -> Self {
        Self {
            circuit: Circuit::new(workers),
            now: Instant::now(),
        }
    }

    /// One attempt from beginning to end.
    fn attempt(&mut self, signal: Signal) -> CircuitState {
        let pass = self.circuit.begin(self.now).unwrap();
        self.circuit.ended(pass, signal, self.now, 1.0);
        self.circuit.state()
    }

    fn repeat(&mut self, times: usize, signal: Signal) {
        for _ in 0..times {
            self.attempt(signal);
        }
    }

    /// Lets the pause of an open circuit pass; how long it was.
    fn pass_pause(&mut self) -> Duration {
        let until = self.circuit.retry_at().unwrap();
        let pause = until - self.now;
        self.now = until;
        pause
    }
}

#[tokio::test]
async fn a_few_failures_in_a_row_open_it_and_any_answer_between_prevents_that() {
    use CircuitState::{Closed, Open};
    for (signals, expected) in [
        (&[Signal::Away, Signal::Away][..], Closed),
        (&[Signal::Away, Signal::Away, Signal::Away], Open),
        (
            &[Signal::Away, Signal::Away, Signal::Answered, Signal::Away],
            Closed,
        ),
        (
            &[Signal::Away, Signal::Nothing, Signal::Away, Signal::Away],
            Open,
        ),
        (&[BUSY], Open),
        (&[Signal::Denied, Signal::Denied], Closed),
        (&[Signal::Denied, Signal::Denied, Signal::Denied], Open),
        (
            &[
                Signal::Denied,
                Signal::Denied,
                Signal::Success,
                Signal::Denied,
            ],
            Closed,
        ),
        (
            &[
                Signal::Denied,
                Signal::Denied,
                Signal::Answered,
                Signal::Denied,
            ],
            Open,
        ),
    ] {
        let mut bench = Bench::new(4);
        for signal in signals {
            bench.attempt(*signal);
        }
        assert_eq!(bench.circuit.state(), expected, "{signals:?}");
    }
}

#[tokio::test]
async fn an_open_circuit_probes_with_one_attempt_after_pauses_that_grow_to_a_limit() {
    let mut bench = Bench::new(4);
    bench.repeat(3, Signal::Away);
    let mut pauses = Vec::new();
    for _ in 0..8 {
        assert!(bench.circuit.begin(bench.now).is_none());
        pauses.push(bench.pass_pause().as_millis());
        assert_eq!(bench.circuit.allowed(bench.now), Allowed::Some(1));
        let probe = bench.circuit.begin(bench.now).unwrap();
        assert!(bench.circuit.begin(bench.now).is_none(), "one probe only");
        bench.circuit.ended(probe, Signal::Away, bench.now, 1.0);
        assert_eq!(bench.circuit.state(), CircuitState::Open);
    }
    let expected = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
    assert_eq!(pauses, expected);
}

#[tokio::test]
async fn after_a_probe_that_succeeds_attempts_double_instead_of_rushing_in() {
    let mut bench = Bench::new(16);
    bench.repeat(3, Signal::Away);
    bench.pass_pause();
    assert_eq!(bench.attempt(Signal::Success), CircuitState::Closed);
    for expected in [2, 4, 8] {
        assert_eq!(bench.circuit.allowed(bench.now), Allowed::Some(expected));
        let passes: Vec<Pass> = (0..expected)
            .map(|_| bench.circuit.begin(bench.now).unwrap())
            .collect();
        assert!(bench.circuit.begin(bench.now).is_none());
        for pass in passes {
            bench.circuit.ended(pass, Signal::Success, bench.now, 0.0);
        }
    }
    assert_eq!(bench.circuit.allowed(bench.now), Allowed::All);
    // Whole again, it takes a few failures to open it, and the first pause is short.
    assert_eq!(bench.attempt(Signal::Away), CircuitState::Closed);
    bench.repeat(2, Signal::Away);
    assert_eq!(bench.pass_pause(), PAUSE_FIRST);
}

#[tokio::test]
async fn a_circuit_that_has_just_closed_opens_at_the_first_failure() {
    let mut bench = Bench::new(16);
    bench.repeat(3, Signal::Away);
    bench.pass_pause();
    bench.attempt(Signal::Success);
    assert_eq!(bench.attempt(Signal::Away), CircuitState::Open);
    assert_eq!(bench.pass_pause(), PAUSE_FIRST * 2);
}

#[tokio::test]
async fn a_wish_to_be_left_alone_is_kept_and_bounded() {
    let mut bench = Bench::new(4);
    let other = bench.circuit.begin(bench.now).unwrap();
    bench.attempt(BUSY);
    let longer = Signal::Busy(Duration::from_secs(90));
    bench.circuit.ended(other, longer, bench.now, 1.0);
    assert_eq!(bench.pass_pause(), Duration::from_secs(90));
    bench.attempt(Signal::Busy(Duration::MAX));
    assert_eq!(bench.pass_pause(), DELAY_MAX);
}

#[tokio::test]
async fn what_began_before_a_change_neither_closes_nor_opens_it() {
    let mut bench = Bench::new(16);
    let old: Vec<Pass> = (0..4)
        .map(|_| bench.circuit.begin(bench.now).unwrap())
        .collect();
    bench.repeat(3, Signal::Away);
    bench.circuit.ended(old[0], Signal::Success, bench.now, 0.0);
    assert_eq!(bench.circuit.state(), CircuitState::Open);
    bench.pass_pause();
    let probe = bench.circuit.begin(bench.now).unwrap();
    bench.circuit.ended(old[1], Signal::Away, bench.now, 0.0);
    assert_eq!(bench.circuit.state(), CircuitState::HalfOpen);
    bench.circuit.ended(probe, Signal::Success, bench.now, 0.0);
    bench.circuit.ended(old[2], Signal::Away, bench.now, 0.0);
    assert_eq!(bench.circuit.state(), CircuitState::Closed);
}

#[tokio::test]
async fn credentials_that_are_refused_keep_it_open_until_something_succeeds() {
    let mut bench = Bench::new(4);
    bench.repeat(2, Signal::Denied);
    assert!(!bench.circuit.forgives_denials());
    bench.attempt(Signal::Denied);
    assert!(bench.circuit.forgives_denials());
    bench.pass_pause();
    assert_eq!(bench.attempt(Signal::Answered), CircuitState::Open);
    bench.pass_pause();
    assert_eq!(bench.attempt(Signal::Denied), CircuitState::Open);
    bench.pass_pause();
    assert_eq!(bench.attempt(Signal::Success), CircuitState::Closed);
    assert!(!bench.circuit.forgives_denials());
}

#[tokio::test]
async fn a_probe_that_was_not_made_leaves_room_for_another() {
    let mut bench = Bench::new(1);
    bench.repeat(3, Signal::Away);
    bench.pass_pause();
    let probe = bench.circuit.begin(bench.now).unwrap();
    bench.circuit.unused(probe);
    assert_eq!(bench.attempt(Signal::Success), CircuitState::Closed);
    assert_eq!(bench.circuit.allowed(bench.now), Allowed::All);
}

#[tokio::test]
async fn one_refusal_after_an_outage_is_about_its_message_and_fails_for_good() {
    let mut bench = Bench::new(8);
    bench.repeat(3, Signal::Away);
    bench.pass_pause();
    // The probe is refused: the other side is there.
    assert_eq!(bench.attempt(Signal::Denied), CircuitState::Closed);
    assert!(!bench.circuit.forgives_denials());
    assert_eq!(bench.attempt(Signal::Success), CircuitState::Closed);
    assert_eq!(bench.attempt(Signal::Denied), CircuitState::Closed);
    assert!(!bench.circuit.forgives_denials());
    // Refused for everything, the circuit opens and the rest is tried again.
    bench.repeat(2, Signal::Denied);
    assert_eq!(bench.circuit.state(), CircuitState::Open);
    assert!(bench.circuit.forgives_denials());
}
