//! Without a reconciler an unknown outcome waits for a person.

use serde_json::Value;

use crate::client::Client;
use crate::gateway::Unknown;
use crate::upstream::Point::After;
use crate::world::World;

#[test]
fn an_unknown_outcome_is_not_charged_again_until_a_person_decides() {
    let mut world = World::new(Unknown::Hold);
    let operations = ["order-1".to_owned()];
    let mut client = Client::with_retries(&world.gateway.url(), 1, 3);
    let since = world.upstream.hold(&[After]);
    client.charge(&operations);
    world.upstream.wait_for_held(since, 1, 0);
    world.gateway.kill();
    world.gateway.restart();
    let told = client.calls().remove(0).returned;
    assert_eq!(told, Err("APIError 409".to_owned()));

    let charges = world.charges();
    assert_eq!(charges.len(), 1, "{charges:?}");
    resolve(&world, &charges[0].1);
    world.assert_once(&operations, &[]);
}

/// Does what a person does who has looked at Stripe's dashboard and found the charge.
fn resolve(world: &World, charge: &str) {
    let listed = world
        .gateway
        .semel(&["keys", "list", "--state", "unknown", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let records = listed["records"].as_array().unwrap();
    assert_eq!(records.len(), 1, "{listed}");
    let part = |name: &str| records[0][name].as_str().unwrap();
    let body = format!(r#"{{"id":"{charge}","object":"charge"}}"#);
    world.gateway.semel(&[
        "keys",
        "resolve",
        part("key"),
        "--scope",
        part("scope"),
        "--tenant",
        part("tenant"),
        "--succeeded",
        "--status",
        "200",
        "--header",
        "content-type:application/json",
        "--body",
        &body,
    ]);
}
