//! The counting notices: here there are more charges than operations.

use crate::client::{self, Client};
use crate::gateway::Unknown;
use crate::upstream::{Point, Upstream};
use crate::world::World;

#[test]
fn without_the_gateway_every_call_with_the_same_key_is_a_charge() {
    let dir = tempfile::tempdir().unwrap();
    let upstream = Upstream::start(dir.path());
    let mut client = Client::start(&upstream.url(), 2);
    client.charge(&["order-1".to_owned()]);
    let calls = client.calls();
    assert!(calls.iter().all(|call| call.returned.is_ok()), "{calls:?}");
    let charges = client::list(&upstream.url());
    assert_eq!(charges.len(), 2, "{charges:?}");
    assert_ne!(charges[0].1, charges[1].1);
}

#[test]
fn charges_outlive_the_upstream() {
    let dir = tempfile::tempdir().unwrap();
    let mut upstream = Upstream::start(dir.path());
    let mut client = Client::start(&upstream.url(), 1);
    client.charge(&["order-1".to_owned(), "order-2".to_owned()]);
    client.calls();
    let before = client::list(&upstream.url());
    upstream.kill();
    upstream.restart();
    assert_eq!(before.len(), 2);
    assert_eq!(client::list(&upstream.url()), before);
}

/// Localstripe's charges are not idempotent, so this policy does not fit it.
#[test]
fn with_the_policy_rerun_a_killed_gateway_charges_twice() {
    let mut world = World::new(Unknown::Rerun);
    let mut client = world.client(1);
    let since = world.upstream.hold(&[Point::After]);
    client.charge(&["order-1".to_owned()]);
    world.upstream.wait_for_held(since, 1, 0);
    world.gateway.kill();
    world.gateway.restart();
    let calls = client.calls();
    assert!(calls[0].returned.is_ok(), "{calls:?}");
    assert_eq!(world.charges().len(), 2);
}
