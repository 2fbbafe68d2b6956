//! Tenants that bring more than their limits allow, over sockets. The rates refill once an hour, so that no clock matters.

use std::time::Duration;

use semel_core::Budget;
use semel_http::quota::{Quota, Rate};
use semel_http::{Budgets, tenant};

use crate::support::{Answer, Asked, Service};

const HOUR: Duration = Duration::from_secs(3_600);

async fn limited(quota: Quota) -> Service {
    let by_header = |rules: &mut semel_http::Rules| {
        rules.tenant = tenant::Source::Header("x-tenant".parse().unwrap());
        rules.quota = quota;
    };
    Service::start(by_header).await
}

fn by<'a>(tenant: &'a str, key: &'a str) -> Asked<'a> {
    Asked::pay(key, "1").with("X-Tenant", tenant)
}

/// A service that takes three new keys, and lets duplicates wait in this budget.
async fn with_three_keys() -> (Service, Budget) {
    let budgets = Budgets::default();
    let waiting = budgets.places.waiting().clone();
    let change = |rules: &mut semel_http::Rules| {
        rules.in_progress.wait = Duration::from_secs(60);
        rules.quota.new_keys = Some(Rate::new(3, HOUR));
    };
    (Service::within(change, budgets).await, waiting)
}

async fn until_waiting(waiting: &Budget, callers: usize) {
    while waiting.used() < callers {
        tokio::task::yield_now().await;
    }
}

async fn records(service: &Service) -> u64 {
    let stats = service.once.store().stats().await.unwrap();
    stats.settled + stats.running + stats.unknown
}

#[tokio::test]
async fn one_tenants_storm_is_refused_and_leaves_another_alone() {
    let quota = Quota {
        requests: Some(Rate::new(3, HOUR)),
        ..Quota::NONE
    };
    let service = limited(quota).await;
    for key in ["a", "b", "a"] {
        assert_eq!(service.send(&by("ann", key)).await.status, 201);
    }
    let before = records(&service).await;
    for key in ["a", "c", "d"] {
        let refused = service.send(&by("ann", key)).await;
        assert_eq!(
            (refused.status, refused.problem().as_str()),
            (429, "rate-limited")
        );
        assert_eq!(refused.all("ratelimit-policy"), ["\"requests\";q=3;w=3600"]);
        let wait: u64 = refused.all("retry-after")[0].parse().unwrap();
        assert!((1..=1_200).contains(&wait), "{wait}");
        assert!(refused.body.contains("\"ran\":\"no\""), "{}", refused.body);
    }
    assert_eq!(records(&service).await, before);
    assert_eq!(service.send(&by("bob", "a")).await.status, 201);
    assert_eq!(service.effects(), 3);
}

#[tokio::test]
async fn a_storm_of_new_keys_is_refused_while_replays_go_on() {
    let quota = Quota {
        new_keys: Some(Rate::new(2, HOUR)),
        ..Quota::NONE
    };
    let service = limited(quota).await;
    for key in ["a", "a", "a", "b", "b"] {
        assert_eq!(service.send(&by("ann", key)).await.status, 201);
    }
    let refused = service.send(&by("ann", "c")).await;
    assert_eq!(
        (refused.status, refused.problem().as_str()),
        (429, "rate-limited")
    );
    assert!(refused.body.contains("new_keys"), "{}", refused.body);
    assert!(service.send(&by("ann", "b")).await.is_replay());
    assert_eq!(records(&service).await, 2);
    assert_eq!(service.send(&by("bob", "c")).await.status, 201);
    assert_eq!(service.effects(), 3);
}

#[tokio::test]
async fn duplicates_that_wait_leave_the_new_keys_to_others() {
    let (service, waiting) = with_three_keys().await;
    let slow = Asked::pay("slow", "").at("/slow");
    let duplicates = async {
        service.shop.began.acquire().await.unwrap().forget();
        let all = (0..9).map(|_| service.send(&slow));
        futures_util::future::join_all(all).await
    };
    let meanwhile = async {
        until_waiting(&waiting, 9).await;
        // One key is used; the two that are left are not held by those who wait.
        assert_eq!(service.pay("a", "1").await.status, 201);
        assert_eq!(service.pay("b", "1").await.status, 201);
        assert_eq!(service.pay("c", "1").await.status, 429);
        service.shop.permits.add_permits(1);
    };
    let (first, all, ()) = tokio::join!(service.send(&slow), duplicates, meanwhile);
    assert_eq!((first.status, first.is_replay()), (200, false));
    assert!(all.iter().all(Answer::is_replay));
    assert_eq!(service.effects(), 3);
}

#[tokio::test]
async fn a_duplicate_that_runs_after_all_is_charged_its_key() {
    let (service, waiting) = with_three_keys().await;
    let slow = Asked::pay("slow", "").at("/slow");
    let nothing = slow.with("X-Outcome", "retryable");
    let duplicate = async {
        service.shop.began.acquire().await.unwrap().forget();
        service.send(&nothing).await
    };
    let meanwhile = async {
        until_waiting(&waiting, 1).await;
        service.shop.permits.add_permits(2);
    };
    let (one, other, ()) = tokio::join!(service.send(&nothing), duplicate, meanwhile);
    assert!(!one.is_replay() && !other.is_replay());
    assert_eq!(service.effects(), 2);
    // Each of the two was granted the key anew.
    assert_eq!(service.pay("a", "1").await.status, 201);
    assert_eq!(service.pay("b", "1").await.status, 429);
}

#[tokio::test]
async fn a_tenant_that_has_stored_too_much_stores_no_more() {
    let quota = Quota {
        stored_bytes: Some(Rate::new(1_000, HOUR)),
        ..Quota::NONE
    };
    let service = limited(quota).await;
    let large = by("ann", "a").with("X-Bytes", "2000");
    assert_eq!(service.send(&large).await.status, 201);
    let refused = service.send(&by("ann", "b")).await;
    assert_eq!(
        (refused.status, refused.problem().as_str()),
        (429, "quota-exceeded")
    );
    assert!(service.send(&large).await.is_replay());
    assert_eq!(service.effects(), 1);
}
