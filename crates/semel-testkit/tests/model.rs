//! Prints.
use semel_core::OnUnknown;
use semel_testkit::model::{Bounds, Config, Provider, Bug, check, shortest};

#[test]
fn try_it() {
    for (workers, ticks_max, claims_max, crashes_max) in [(3,2,3,1),(3,3,3,1),(3,4,3,0)] {
    for (policy, provider) in [
        (OnUnknown::Reconcile, Provider::Closing),
    ] {
        let t = std::time::Instant::now();
        let mut config = Config::new(policy, provider);
        config.workers = workers;
        config.bounds = Bounds { ticks_max, claims_max, crashes_max };
        let c = check(&config);
        eprintln!("{workers} {ticks_max} {claims_max} {crashes_max} {policy:?} {provider:?} {c:?} {:?}", t.elapsed());
    }}
}
#[test]
fn bugs() {
    for bug in [Bug::SettleWithoutFence, Bug::TakeoverOfLiveLease, Bug::ReleaseWithoutFence, Bug::FenceResetByRelease, Bug::RenewOfLostLease, Bug::ResolveWithoutFence] {
    for (policy, provider) in [
        (OnUnknown::Hold, Provider::Plain),
        (OnUnknown::Rerun, Provider::Plain),
        (OnUnknown::Rerun, Provider::Keyed),
        (OnUnknown::Reconcile, Provider::Closing),
    ] {
        let mut config = Config::new(policy, provider).with_bug(bug);
        config.bounds.ticks_max = 4;
        let c = check(&config);
        eprintln!("{bug:?} {policy:?} {provider:?} {} {}", c.states, c.unique);
        for v in c.violations { let s = shortest(&config, Box::leak(v.clone().into_boxed_str())).map_or(0, |s|s.len()); eprintln!("    {v}: {s}"); }
    }}
}
