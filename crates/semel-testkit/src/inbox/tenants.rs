//! Lanes belong to a tenant: what one does never moves, hides or stops what is another's.

use semel_core::inbox::order::GapThen;
use semel_core::inbox::{Baseline, OnGap, OnTerminal, Order, State};

use super::seen::stored;
use super::subject::Subject;
use super::values::{LONG, terminal};

fn both(s: &Subject, order: Order) -> (Subject, Subject) {
    let one = s.clone().ordered(order);
    (one.clone(), one.of_tenant("another"))
}

const BY_ARRIVAL: Order = Order::Arrival {
    on_terminal: OnTerminal::Park,
};

const BY_SEQUENCE: Order = Order::Sequence {
    baseline: Baseline::After(0),
    on_gap: OnGap {
        deadline: LONG,
        then: GapThen::Hold,
    },
    on_terminal: OnTerminal::Park,
};

/// Two tenants may use one lane's name; both keep their own order, and neither waits for the other.
pub async fn a_lane_keeps_its_order_for_each_tenant(s: Subject) {
    let (one, two) = both(&s, BY_ARRIVAL);
    for tenant in [&one, &two] {
        let lane = ["1", "2"].map(|id| tenant.in_lane("lane", id));
        tenant.stored(lane.to_vec()).await;
    }
    let heads = one.claim().await;
    assert_eq!(heads.len(), 2, "both heads are due at once");
    for job in &heads {
        one.complete(job).await;
    }
    assert_eq!(one.process_all().await, ["2", "2"]);
}

/// One tenant's versions are no history of another's.
pub async fn versions_of_one_tenant_hide_none_of_another(s: Subject) {
    let (one, two) = both(&s, BY_SEQUENCE);
    one.stored((1..=5).map(|n| one.version("order-1", n)).collect())
        .await;
    assert_eq!(one.process_all().await.len(), 5);
    let first = two.receive_one(two.version("order-1", 1)).await;
    assert_eq!(first, stored(State::Received));
    assert_eq!(two.process_all().await, ["order-1-1"]);
    let missing = two.receive_one(two.version("order-1", 3)).await;
    assert_eq!(missing, stored(State::Parked));
    let gap = super::values::only(two.gaps().await);
    assert_eq!(gap.tenant.as_str(), "another");
    assert_eq!(gap.missing, [(2, 2)]);
}

/// One tenant's failure parks its own messages.
pub async fn a_stuck_head_of_one_tenant_parks_none_of_another(s: Subject) {
    for (suffix, order) in [("-arrival", BY_ARRIVAL), ("-sequence", BY_SEQUENCE)] {
        let (one, two) = both(&s.beside(suffix, 1), order);
        one.stored((1..=2).map(|n| one.version("order-1", n)).collect())
            .await;
        let head = one.claim_one().await;
        one.finish(&head, terminal()).await;
        one.is("order-1-2", State::Parked).await;
        for version in 1..=2 {
            let received = two.receive_one(two.version("order-1", version)).await;
            assert_eq!(received, stored(State::Received), "{suffix} {version}");
        }
        assert_eq!(two.process_all().await, ["order-1-1", "order-1-2"]);
        one.is("order-1-2", State::Parked).await;
    }
}
