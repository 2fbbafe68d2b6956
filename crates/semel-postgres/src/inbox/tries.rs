//! A call of the inbox, tried until it is answered or nothing more can be done about it.
//!
//! All calls may be made again when an answer was lost: what arrived is known by its id, and what was finished by its fence.

use std::time::Duration;

use semel_core::store::remote::Remedy;
use semel_core::{Kind, Result};
use tokio::time::{Instant, sleep};
use tokio_postgres::error::SqlState;

use crate::connection::{Failure, Link};
use crate::engine::{Engine, PAUSE, remedy};

/// The first pause before a call that met another transaction is made again; it doubles up to the usual one.
const PAUSE_FIRST: Duration = Duration::from_millis(1);

/// A call that may be made again.
pub(crate) trait Call: Sync {
    /// What it is answered.
    type Answer: Send;

    /// What it does, for errors.
    const DOING: &'static str;

    /// Makes it once.
    fn make(
        &self,
        engine: &Engine,
        link: &mut Link,
    ) -> impl Future<Output = Result<Self::Answer, Failure>> + Send;
}

/// A call in a transaction of its own.
struct Whole<'a, C>(&'a C);

impl<C: Call> Call for Whole<'_, C> {
    type Answer = C::Answer;

    const DOING: &'static str = C::DOING;

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<C::Answer, Failure> {
        link.begin_patiently().await?;
        let done = self.0.make(engine, link).await;
        link.end(done).await
    }
}

impl Engine {
    /// Has a call answered.
    pub(crate) async fn call<C: Call>(&self, call: &C) -> Result<C::Answer> {
        let (began, mut pause, mut doubtful) = (Instant::now(), PAUSE_FIRST, false);
        loop {
            let answer = match self.links.get().await {
                Ok(mut link) => call.make(self, &mut link).await,
                Err(error) => Err(error.into()),
            };
            let failure = match answer {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let remedy = match remedy(&failure) {
                Remedy::LaterIfLost if !doubtful => Remedy::Nothing,
                remedy => remedy,
            };
            doubtful |= matches!(failure, Failure::Lost(_));
            let patient = began.elapsed() < self.patience;
            match remedy {
                Remedy::Later | Remedy::LaterIfLost | Remedy::Elsewhere if patient => {
                    self.links.forget_idle();
                    sleep(PAUSE).await;
                }
                Remedy::Again if patient => {
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSE);
                }
                Remedy::Apart if patient && is_locked(&failure) => {}
                _ => return Err(failure.into_error(C::DOING)),
            }
        }
    }

    /// Has a call answered in a transaction of its own.
    pub(crate) async fn call_whole<C: Call>(&self, call: &C) -> Result<C::Answer> {
        self.call(&Whole(call)).await
    }
}

/// Whether somebody's transaction was in the way for longer than one waits at a time.
fn is_locked(failure: &Failure) -> bool {
    match failure {
        Failure::Refused(error) => error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE),
        Failure::Lost(error) | Failure::Failed(error) => error.kind() == Kind::Locked,
    }
}
