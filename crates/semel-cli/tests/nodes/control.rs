//! The counting notices: a service that repeats what it is told, behind gateways that rerun.

use crate::findings::Findings;
use crate::fleet::{Fleet, Unknown};
use crate::storm;
use crate::test_store::TestStore;
use crate::upstream::{Care, Upstream};

/// By far more than it takes: a kill seldom finds a gateway that has nothing to do.
const KILLS_MAX: usize = 30;

#[test]
fn a_policy_that_does_not_fit_the_service_is_found_out() {
    let place = TestStore::at("sqlite:semel.db");
    let upstream = Upstream::start(Care::None);
    let mut fleet = Fleet::start(&place, &upstream, Unknown::Rerun);
    let doubled = || {
        upstream
            .ledger()
            .counts()
            .unwrap()
            .into_values()
            .any(|n| n > 1)
    };
    let storm = storm::rage(&mut fleet, |kills, _| kills < KILLS_MAX && !doubled());
    assert!(
        !Findings::of(&storm, &fleet).doubled.is_empty(),
        "{storm:#?}"
    );
}
