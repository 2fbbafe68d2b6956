//! Opens what was claimed, job by job. A claim is durable by now, so that what cannot run here is given back or parked, and never just an error.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{Cause, Claimed, Disposition, Finish, Job, Plan, Step};
use semel_core::{Error, Kind, Result};
use tokio::time::sleep;

use crate::cipher::Purpose;
use crate::contents::{Closed, Opened, has_sealed, open_bytes, open_message};
use crate::found::Found;
use crate::inbox::SealedInbox;
use crate::keyring::{Opener, distinct};

/// When a message is tried again whose key this process does not have. Another one may have it, or get it.
const LATER: Duration = Duration::from_secs(10);
/// How often what does not run is offered back to a store that does not take it.
const OFFERS_MAX: usize = 3;
const OFFER_EVERY: Duration = Duration::from_millis(100);

const FORGOTTEN: &str = "the contents are sealed, and the tenant's data key was destroyed";
const DAMAGED: &str = "the contents are sealed, and do not open with their own key";

impl SealedInbox {
    /// What was claimed and can run. What was erased or is damaged is parked, where people see it; a message whose key is missing here waits without
    /// an attempt.
    pub(crate) async fn opened(&self, plan: Plan, claimed: Claimed) -> Result<Claimed> {
        let all = distinct(claimed.jobs.iter().map(|job| job.claim.identity.tenant()));
        let may = self.keys.ready(&all).await;
        let sealed = claimed.jobs.iter().filter(|job| has_sealed(job));
        let sealed = distinct(sealed.map(|job| job.claim.identity.tenant()));
        let mut opener = self.keys.opener(&sealed).await;
        let (mut jobs, mut ends, mut missing) = (Vec::new(), Vec::new(), None);
        for job in &claimed.jobs {
            // What cannot be sealed when it has run must not run.
            let opened = match may.of(job.claim.identity.tenant()) {
                Ok(()) => open(&mut opener, job).await,
                Err(error) if error.kind() == Kind::Damaged => Ok(Err(Closed::Damaged)),
                Err(error) => Err(error),
            };
            match opened {
                Ok(Ok(job)) => jobs.push(job),
                Ok(Err(Closed::Forgotten)) => ends.push(end(job, park(FORGOTTEN))),
                Ok(Err(Closed::Damaged)) => ends.push(end(job, park(DAMAGED))),
                Ok(Err(Closed::Locked(kek))) => {
                    let error = crate::found::locked(&kek);
                    ends.push(end(job, later(&error)));
                    missing = Some(error);
                }
                Err(error) => {
                    ends.push(end(job, later(&error)));
                    missing = Some(error);
                }
            }
        }
        self.give_back(&plan, ends).await;
        match missing {
            // So that it is in the log of the process that claims, and it does not claim on at once.
            Some(error) if jobs.is_empty() && claimed.settled.is_empty() => Err(error),
            _ => Ok(Claimed { jobs, ..claimed }),
        }
    }

    /// Those that the store does not take come back when their leases end. An error here would leave those behind that can run.
    async fn give_back(&self, plan: &Plan, ends: Vec<Finish>) {
        for _ in 0..OFFERS_MAX {
            if ends.is_empty() || self.inbox.finish(plan.clone(), ends.clone()).await.is_ok() {
                return;
            }
            sleep(OFFER_EVERY).await;
        }
    }
}

async fn open(opener: &mut Opener, job: &Job) -> Result<Opened<Job>> {
    match has_sealed(job) {
        true => {
            let tenant = job.claim.identity.tenant();
            opener.open(tenant, |found| open_job(found, job)).await
        }
        false => Ok(Ok(job.clone())),
    }
}

fn open_job(found: &Found, job: &Job) -> Opened<Job> {
    let message = open_message(found, &job.message)?;
    let step = |step: &Step| {
        let result = open_bytes(found, Purpose::Step, &job.claim.identity, &step.result)?;
        let name = step.name.clone();
        Ok(Step { name, result })
    };
    Ok(Job {
        message: Arc::new(message),
        steps: job.steps.iter().map(step).collect::<Opened<_>>()?,
        ..job.clone()
    })
}

fn end(job: &Job, disposition: Disposition) -> Finish {
    Finish {
        claim: job.claim.clone(),
        took: Duration::ZERO,
        disposition,
    }
}

fn park(why: &str) -> Disposition {
    Disposition::Park {
        cause: Cause::Unreadable,
        error: ErrorText::new(why),
    }
}

/// Nothing has run, and no attempt is used up.
fn later(error: &Error) -> Disposition {
    Disposition::NotReached {
        after: LATER,
        error: ErrorText::new(error),
    }
}
