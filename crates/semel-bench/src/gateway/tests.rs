//! The load over real sockets, bounded by answers; its figures mean nothing.

use std::time::Duration;

use tokio::net::TcpListener;

use super::child::{Child, Ending, free_addresses};
use super::connection::Target;
use super::field::Field;
use super::load::{Keys, Load, Until, Work};
use super::memory::Memory;
use super::rounds::{Rounds, Side};
use super::{stub, upstream};
use crate::progress::Silent;

const NAME: &str = "the one under test";

async fn upstream() -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(upstream::accept(listener));
    Target {
        name: NAME,
        address,
    }
}

async fn gateway() -> Target {
    Target {
        name: NAME,
        address: stub::start().await,
    }
}

fn load(target: Target, work: Work) -> Load {
    Load {
        target,
        work,
        connections: 8,
        until: Until::Answers(25),
    }
}

#[tokio::test]
async fn the_upstream_answers_every_request_of_every_connection() {
    let measured = load(upstream().await, Work::Unguarded)
        .drive()
        .await
        .unwrap();
    assert!(measured.per_second > 0.0);
    assert!(measured.p50_us <= measured.p99_us);
}

#[tokio::test]
async fn first_requests_leave_keys_that_can_be_replayed() {
    let (target, keys) = (gateway().await, Keys::new(1));
    for work in [Work::First(keys.clone()), Work::Replay(keys)] {
        load(target, work).drive().await.unwrap();
    }
}

#[tokio::test]
async fn a_wrong_answer_fails_the_turn_and_says_what_was_expected() {
    let keys = || Keys::new(1);
    let failed = |target, work| async move {
        let error = load(target, work).drive().await.unwrap_err();
        error.to_string()
    };
    let no_replay = failed(upstream().await, Work::Replay(keys())).await;
    let expected = "the one under test must answer with 201 as a replay, found 201";
    assert_eq!(no_replay, expected);

    let target = gateway().await;
    load(target, Work::First(keys())).drive().await.unwrap();
    let replay = failed(target, Work::First(keys())).await;
    assert!(replay.ends_with("found 201 as a replay"), "{replay}");
}

#[tokio::test]
async fn nobody_at_the_address_is_an_error() {
    let [address] = free_addresses().unwrap();
    let target = Target {
        name: NAME,
        address,
    };
    let error = load(target, Work::Unguarded).drive().await.unwrap_err();
    assert!(error.to_string().contains("must accept a connection"));
}

#[tokio::test]
async fn a_round_has_a_turn_of_every_side_in_either_order() {
    let plain = upstream().await;
    let rounds = Rounds {
        field: Field {
            upstream: plain,
            nginx: plain,
            hyper_proxy: plain,
            gateway: gateway().await,
        },
        keys: Keys::new(1),
        connections: 4,
        breath: Duration::ZERO,
        progress: &Silent,
    };
    let taken = rounds.take(2, Until::Answers(5)).await.unwrap();
    assert_eq!(taken.len(), 2);
    for round in taken {
        for side in [Side::Direct, Side::Nginx, Side::First, Side::Replay] {
            assert!(round.of(side).per_second > 0.0, "{side:?}");
        }
    }
}

#[tokio::test]
async fn a_child_ends_with_its_guard() {
    let dir = tempfile::tempdir().unwrap();
    // The child need not listen: whether it is there is what counts.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listens = listener.local_addr().unwrap();
    for ending in [Ending::Kill, Ending::Terminate] {
        let command = ["sleep".into(), "1000".into()].into();
        let child = Child::start("sleep", &command, ending, listens, dir.path());
        let child = child.await.unwrap();
        let id = child.id();
        assert!(Memory::of(id).is_ok());
        drop(child);
        assert!(Memory::of(id).is_err(), "{ending:?}");
    }
}

#[tokio::test]
async fn a_child_that_fails_is_heard() {
    let dir = tempfile::tempdir().unwrap();
    let [nobody] = free_addresses().unwrap();
    let command = ["sh", "-c", "echo the reason >&2; exit 3"];
    let command = command.map(Into::into).into();
    let started = Child::start("failing", &command, Ending::Kill, nobody, dir.path());
    let error = started.await.unwrap_err().to_string();
    assert!(error.contains("failing ended with"), "{error}");
    assert!(error.contains("the reason"), "{error}");
}
