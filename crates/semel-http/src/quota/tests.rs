use std::sync::LazyLock;

use super::*;

fn tenant(name: &str) -> Tenant {
    Tenant::new(name).unwrap()
}

fn terms(each: Quota) -> Terms {
    Terms {
        each,
        ..Terms::default()
    }
}

fn per_second(amount: u64) -> Option<Rate> {
    Some(Rate::new(amount, Duration::from_secs(1)))
}

fn scope(name: &str) -> Scope {
    name.parse().unwrap()
}

static PAY: LazyLock<Scope> = LazyLock::new(|| scope("pay@1"));

fn at() -> Place<'static> {
    Place::plain(&PAY)
}

#[tokio::test(start_paused = true)]
async fn one_tenants_storm_leaves_another_alone_and_ends_with_time() {
    let quotas = Quotas::default();
    quotas.set(terms(Quota {
        requests: per_second(2),
        ..Quota::NONE
    }));
    let (ann, bob) = (tenant("ann"), tenant("bob"));
    let taken = (0..10).filter(|_| quotas.request(at(), &ann).is_ok());
    assert_eq!(taken.count(), 2);
    assert!(quotas.request(at(), &bob).is_ok());
    tokio::time::advance(Duration::from_millis(500)).await;
    assert!(quotas.request(at(), &ann).is_ok());
    assert!(quotas.request(at(), &ann).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_not_new_is_given_back() {
    let quotas = Quotas::default();
    quotas.set(terms(Quota {
        new_keys: per_second(1),
        ..Quota::NONE
    }));
    let ann = tenant("ann");
    for _ in 0..5 {
        drop(quotas.new_key(at(), &ann).unwrap());
    }
    quotas.new_key(at(), &ann).unwrap().used();
    let exceeded = quotas.new_key(at(), &ann).unwrap_err();
    assert_eq!(exceeded.limit, Limit::NewKeys);
    assert_eq!(exceeded.wait, Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_place_has_limits_of_its_own_besides_the_tenants() {
    let quotas = Quotas::default();
    quotas.set(terms(Quota {
        requests: per_second(3),
        ..Quota::NONE
    }));
    let own = Quota {
        requests: per_second(1),
        ..Quota::NONE
    };
    let transfer = scope("transfer@1");
    let dear = Place {
        scope: &transfer,
        quota: &own,
    };
    let ann = tenant("ann");
    assert!(quotas.request(dear, &ann).is_ok());
    assert!(quotas.request(dear, &ann).is_err());
    // What the place refused was given back to the tenant.
    assert!(quotas.request(at(), &ann).is_ok());
    assert!(quotas.request(at(), &ann).is_ok());
    assert!(quotas.request(at(), &ann).is_err());
}

#[tokio::test(start_paused = true)]
async fn stored_bytes_may_be_overdrawn_once_and_then_wait() {
    let quotas = Quotas::default();
    quotas.set(terms(Quota {
        stored_bytes: per_second(100),
        ..Quota::NONE
    }));
    let ann = tenant("ann");
    let mut ticket = quotas.new_key(at(), &ann).unwrap();
    ticket.used();
    ticket.stored(150);
    let exceeded = quotas.new_key(at(), &ann).unwrap_err();
    assert_eq!(exceeded.limit, Limit::StoredBytes);
    tokio::time::advance(exceeded.wait).await;
    assert!(quotas.new_key(at(), &ann).is_ok());
}

#[tokio::test(start_paused = true)]
async fn answers_larger_than_the_bucket_do_not_store_more_than_the_limit_for_long() {
    let quotas = Quotas::default();
    let hour = Duration::from_secs(3_600);
    quotas.set(terms(Quota {
        stored_bytes: Some(Rate::new(1, hour)),
        ..Quota::NONE
    }));
    let (ann, mut stored) = (tenant("ann"), 0);
    for _ in 0..20 * 24 {
        if let Ok(ticket) = quotas.new_key(at(), &ann) {
            ticket.stored(16);
            stored += 16;
        }
        tokio::time::advance(hour).await;
    }
    let (refilled, full, under_way) = (20 * 24, 1, 16);
    assert!(stored <= refilled + full + under_way, "{stored}");
}

#[tokio::test(start_paused = true)]
async fn a_ticket_that_was_given_back_is_charged_when_it_is_used_after_all() {
    let quotas = Quotas::default();
    quotas.set(terms(Quota {
        new_keys: per_second(1),
        ..Quota::NONE
    }));
    let ann = tenant("ann");
    let mut waits = quotas.new_key(at(), &ann).unwrap();
    let give_back = waits.giver_back().unwrap();
    give_back();
    quotas.new_key(at(), &ann).unwrap().used();
    waits.used();
    // The second key was owed.
    let exceeded = quotas.new_key(at(), &ann).unwrap_err();
    assert_eq!(exceeded.wait, Duration::from_secs(2));
    drop(waits);
    give_back();
    assert_eq!(quotas.new_key(at(), &ann).unwrap_err(), exceeded);
}

#[tokio::test(start_paused = true)]
async fn a_named_tenant_has_its_own_terms_and_other_terms_keep_what_was_used() {
    let quotas = Quotas::default();
    let big = tenant("big");
    let mut all = terms(Quota {
        requests: per_second(1),
        ..Quota::NONE
    });
    all.named.insert(
        big.clone(),
        Quota {
            requests: per_second(100),
            ..Quota::NONE
        },
    );
    quotas.set(all.clone());
    assert!((0..100).all(|_| quotas.request(at(), &big).is_ok()));
    assert!(quotas.request(at(), &big).is_err());
    quotas.set(all);
    assert!(quotas.request(at(), &big).is_err());
    quotas.set(Terms::default());
    assert!(quotas.request(at(), &big).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_million_tenants_take_bounded_memory_and_stay_limited() {
    let quotas = Quotas::default();
    quotas.set(terms(Quota {
        requests: Some(Rate::new(1, Duration::from_secs(60))),
        ..Quota::NONE
    }));
    let all = (0..1_000_000).map(|number| tenant(&format!("t{number}")));
    let taken = all.filter(|one| quotas.request(at(), one).is_ok()).count();
    assert!(quotas.held() <= TENANTS_MAX);
    // Those without room share a bucket per shard.
    assert!(taken <= TENANTS_MAX + 64, "{taken}");
    // Buckets that are full again make room.
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(quotas.request(at(), &tenant("new")).is_ok());
    assert!(quotas.held() < TENANTS_MAX);
}

#[tokio::test(start_paused = true)]
async fn what_comes_as_one_is_counted_whole_or_not_at_all() {
    let quotas = Quotas::default();
    quotas.set(terms(Quota {
        requests: per_second(3),
        new_keys: per_second(2),
        ..Quota::NONE
    }));
    let ann = tenant("ann");
    quotas.requests(at(), &ann, 2).unwrap();
    assert!(quotas.requests(at(), &ann, 2).is_err());
    quotas.request(at(), &ann).unwrap();
    quotas.uncount(at(), &ann, 1);
    quotas.request(at(), &ann).unwrap();
    let mut ticket = quotas.new_keys(at(), &ann, 2).unwrap();
    assert!(quotas.new_key(at(), &ann).is_err());
    ticket.used();
    drop(ticket);
    quotas.would_allow(at(), &ann, 1).unwrap();
    assert!(quotas.would_allow(at(), &ann, 2).is_err());
    // A batch that is larger than the bucket is let in by a full one, and then owed.
    tokio::time::advance(Duration::from_secs(1)).await;
    quotas.requests(at(), &ann, 30).unwrap();
    tokio::time::advance(Duration::from_secs(9)).await;
    assert!(quotas.request(at(), &ann).is_err());
    tokio::time::advance(Duration::from_secs(1)).await;
    quotas.requests(at(), &ann, 30).unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_on_record_needs_no_key_and_is_charged() {
    let quotas = Quotas::default();
    quotas.set(terms(Quota {
        new_keys: per_second(1),
        stored_bytes: per_second(10),
        ..Quota::NONE
    }));
    let ann = tenant("ann");
    let mut ticket = quotas.on_record(at(), &ann);
    ticket.used();
    ticket.stored(20);
    drop(ticket);
    let exceeded = quotas.new_key(at(), &ann).unwrap_err();
    assert_eq!(exceeded.limit, Limit::StoredBytes);
}

/// So many that no shard has room, each with a bucket that is not full for an hour.
fn crowd(quotas: &Quotas, at: Place<'_>) {
    for number in 0..2 * TENANTS_MAX {
        let _ = quotas.request(at, &tenant(&format!("t{number}")));
    }
    assert!(quotas.held() >= TENANTS_MAX);
}

fn per_hour() -> Quota {
    Quota {
        requests: Some(Rate::new(1, Duration::from_secs(3_600))),
        ..Quota::NONE
    }
}

#[tokio::test(start_paused = true)]
async fn a_crowd_takes_nothing_from_a_tenant_that_has_limits_by_name() {
    let quotas = Quotas::default();
    let big = tenant("big");
    let mut all = terms(per_hour());
    let own = Quota {
        requests: per_second(100),
        ..Quota::NONE
    };
    all.named.insert(big.clone(), own);
    quotas.set(all);
    crowd(&quotas, at());
    assert!((0..100).all(|_| quotas.request(at(), &big).is_ok()));
    assert!(quotas.request(at(), &big).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_crowd_at_a_slow_place_takes_nothing_from_other_rates() {
    let quotas = Quotas::default();
    let slow = per_hour();
    let quota = &slow;
    crowd(&quotas, Place { scope: &PAY, quota });
    quotas.set(terms(Quota {
        requests: per_second(100),
        ..Quota::NONE
    }));
    let new = tenant("new");
    assert!((0..100).all(|_| quotas.request(at(), &new).is_ok()));
    assert!(quotas.request(at(), &new).is_err());
}
