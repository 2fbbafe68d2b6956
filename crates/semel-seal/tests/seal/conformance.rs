//! The suites of stores and inboxes hold behind the seal. Each handle has a key ring of its own, as processes have.

use std::sync::Arc;

use semel_core::{ManualClock, MemoryStore, Timestamp};
use semel_hybrid::Hybrid;
use semel_seal::{Keyring, Sealed, SealedInbox};
use semel_sqlite::Config;
use semel_testkit::conformance::{Ability, Handle};
use semel_testkit::{conformance, inbox};

use crate::support::{keks, keyring, sealed};

fn config() -> (Config, Arc<ManualClock>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let config = Config::new(dir.path().join("semel.db")).clock(clock.clone());
    (config.sweep_every(None), clock, dir)
}

async fn fresh() -> conformance::Subject {
    let (config, clock, dir) = config();
    let open = move || {
        let store = Arc::new(config.clone().open().unwrap());
        std::future::ready(Handle::of(sealed(&store, &["a"])))
    };
    let subject = conformance::Subject::opened(open).await.moved_by(clock);
    subject
        .declining(&[Ability::Outcomes, Ability::Stalls])
        .keeping(dir)
}

mod records {
    use super::fresh;

    // Not the suite of erasing: it compares lengths and digests of what was erased, and those that stay are of the sealed text.
    semel_testkit::conformance_of_records!("SQLite, sealed", fresh().await);
    semel_testkit::conformance_with_clock!("SQLite, sealed", fresh().await);
    semel_testkit::conformance_of_sharing!("SQLite, sealed", fresh().await);
    semel_testkit::conformance_of_durability!("SQLite, sealed", fresh().await);
}

/// Claims in one store and outcomes in another; the keys are in both, as everything is.
mod hybrid {
    use super::*;

    fn fresh() -> conformance::Subject {
        let (config, clock, dir) = config();
        let durable = Arc::new(config.open().unwrap());
        let fast = Arc::new(MemoryStore::with_clock(clock.clone()));
        let store = Arc::new(Hybrid::new(fast, durable));
        let ring = Keyring::new(store.clone(), keks(&["a"])).unwrap();
        let subject = conformance::Subject::on_clock(Arc::new(Sealed::new(store, ring)), clock);
        let declined = [Ability::Outcomes, Ability::Reopening, Ability::Stalls];
        subject.declining(&declined).keeping(dir)
    }

    semel_testkit::conformance_of_records!("hybrid of memory and SQLite, sealed", fresh());
    semel_testkit::conformance_with_clock!("hybrid of memory and SQLite, sealed", fresh());
}

mod messages {
    use super::*;

    fn on_clock() -> inbox::Subject {
        let (config, clock, dir) = config();
        let store = Arc::new(config.open().unwrap());
        let messages = SealedInbox::new(store.clone(), keyring(&store, &["a"]));
        let records = sealed(&store, &["a"]);
        inbox::Subject::on_clock(Arc::new(messages), Arc::new(records), clock).keeping(dir)
    }

    semel_testkit::inbox_conformance!("SQLite, sealed", on_clock());
    semel_testkit::inbox_conformance_with_clock!("SQLite, sealed", on_clock());
}
