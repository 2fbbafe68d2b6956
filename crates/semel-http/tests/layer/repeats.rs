//! What a door reports of duplicates: how late they are by the store's clock, where they come from, and what they saved.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::duplicate::{Duplicate, Origin};
use semel_core::{ManualClock, Retention, Timestamp};
use semel_http::{Event, RequestObserver};

use crate::support::{Asked, Service};

const HOUR: Duration = Duration::from_secs(3_600);

/// Writes down what is reported of duplicates.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Repeated>>>);

#[derive(Debug, Clone, Copy, PartialEq)]
struct Repeated {
    origin: Origin,
    age: Option<Duration>,
    has_run: bool,
    retention: Option<Duration>,
}

impl RequestObserver for Told {
    fn saw(&self, _: &Event<'_>) {}

    fn saw_duplicate(&self, duplicate: &Duplicate<'_>) {
        assert_eq!(duplicate.scope.to_string(), "payments@1");
        self.0.lock().unwrap().push(Repeated {
            origin: duplicate.origin,
            age: duplicate.age,
            has_run: duplicate.took.is_some(),
            retention: duplicate.retention,
        });
    }
}

impl Told {
    fn take(&self) -> Vec<Repeated> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn origins(&self) -> Vec<Origin> {
        self.take().iter().map(|one| one.origin).collect()
    }
}

#[tokio::test]
async fn a_retry_tells_its_age_its_retention_and_the_run_that_it_saved() {
    let (told, dir) = (Told::default(), tempfile::tempdir().unwrap());
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_700_000_000_000)));
    let config = semel_sqlite::Config::new(dir.path().join("clocked.db"));
    let store = config.clock(clock.clone()).open().unwrap();
    let service = Service::on(|_| store, |_| {}, told.clone()).await;
    assert_eq!(service.pay("k", "1").await.status, 201);
    // The first request with its key is no duplicate, and another body under it is a mistake.
    assert_eq!(told.take(), []);
    clock.advance(HOUR);
    assert_eq!(service.pay("k", "2").await.status, 422);
    assert_eq!(told.take(), []);
    assert!(service.pay("k", "1").await.is_replay());
    let told = told.take();
    let [retry] = told[..] else {
        panic!("expected one duplicate, found {told:?}");
    };
    assert_eq!(retry.origin, Origin::ClientRetry);
    assert!(
        retry.age >= Some(HOUR - Duration::from_secs(60)),
        "{retry:?}"
    );
    assert!(retry.age <= Some(HOUR), "{retry:?}");
    assert!(retry.has_run);
    assert_eq!(retry.retention, Some(Retention::default().keep()));
}

#[tokio::test]
async fn a_request_that_is_refused_while_the_first_runs_is_concurrent() {
    let told = Told::default();
    let change = |rules: &mut semel_http::Rules| rules.in_progress.wait = Duration::ZERO;
    let service = Service::watched(change, told.clone()).await;
    let slow = Asked::pay("k", "1").at("/slow");
    let second = async {
        service.shop.began.acquire().await.unwrap().forget();
        let answer = service.send(&slow).await;
        service.shop.permits.add_permits(1);
        answer
    };
    let (first, second) = tokio::join!(service.send(&slow), second);
    assert_eq!((first.status, second.status), (200, 409));
    assert_eq!(told.origins(), [Origin::ConcurrentRetry]);
    assert_eq!(service.effects(), 1);
}

#[tokio::test]
async fn the_same_request_under_a_new_key_has_run_twice_and_is_reported() {
    let told = Told::default();
    let service = Service::watched(|_| {}, told.clone()).await;
    for key in ["k-1", "k-2"] {
        assert_eq!(service.pay(key, "1").await.status, 201);
    }
    assert_eq!(service.effects(), 2);
    assert_eq!(told.origins(), [Origin::NewKey]);
}
