//! Nothing is killed: duplicates get the first one's charge, and mistakes are told as Stripe tells them.

use crate::ledger;
use crate::world::World;

#[test]
fn an_operation_that_is_sent_many_times_is_charged_once() {
    let world = World::without_file();
    let operations = ledger::operations("plain", 20);
    let mut client = world.client(5);
    client.charge(&operations);
    let calls = client.calls();
    assert_eq!(calls.len(), 100);
    let firsts = ledger::first_answers(&calls);
    assert!(firsts.values().all(|count| *count == 1), "{firsts:?}");
    world.assert_once(&operations, &calls);
}

#[test]
fn a_key_that_is_reused_for_another_amount_is_an_idempotency_error() {
    let world = World::without_file();
    let mut client = world.client(1);
    client.charge(&["order-1 1999".to_owned()]);
    let first = client.calls();
    client.charge(&["order-1 2999".to_owned()]);
    let error = client.calls().remove(0).returned;
    assert_eq!(error, Err("IdempotencyError 400".to_owned()));
    world.assert_once(&["order-1".to_owned()], &first);
}
