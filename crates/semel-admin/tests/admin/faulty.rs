//! A store that can be taken away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use semel_core::store::{Answer, Answers, Layer, Verb, each_fails};
use semel_core::{Error, Kind, Result, Store};
use tokio::sync::Semaphore;

/// How the store behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// Every call fails.
    Away,
    /// No call is answered.
    Hanging,
    /// Calls are answered one by one, as [`Faulty::let_pass`] says.
    Held,
}

#[derive(Debug)]
pub(crate) struct Faulty {
    inner: Arc<dyn Store>,
    mood: AtomicU8,
    passes: Semaphore,
    /// A signal for each call that has come.
    pub(crate) arrived: Semaphore,
}

impl Faulty {
    pub(crate) fn around(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            mood: AtomicU8::new(Mood::Well as u8),
            passes: Semaphore::new(0),
            arrived: Semaphore::new(0),
        })
    }

    pub(crate) fn set(&self, mood: Mood) {
        self.mood.store(mood as u8, Ordering::SeqCst);
    }

    /// Lets held calls pass.
    pub(crate) fn let_pass(&self, calls: usize) {
        self.passes.add_permits(calls);
    }

    /// What the mood does to a call before it reaches the store.
    async fn suffer(&self) -> Result<()> {
        self.arrived.add_permits(1);
        let mood = self.mood.load(Ordering::SeqCst);
        if mood == Mood::Away as u8 {
            return Err(Error::new(Kind::Unavailable, "gone to lunch"));
        }
        if mood == Mood::Hanging as u8 {
            std::future::pending::<()>().await;
        }
        if mood == Mood::Held as u8 {
            self.passes.acquire().await.unwrap().forget();
        }
        Ok(())
    }
}

impl Layer for Faulty {
    fn beneath(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn around<'a, A: Send + 'a>(
        &'a self,
        _verb: Verb,
        items: usize,
        call: impl FnOnce() -> Answers<'a, A> + Send + 'a,
    ) -> Answers<'a, A> {
        Box::pin(async move {
            match self.suffer().await {
                Ok(()) => call().await,
                Err(away) => each_fails(items, &away),
            }
        })
    }

    fn around_question<'a, A: Send + 'a>(
        &'a self,
        _verb: Verb,
        call: impl FnOnce() -> Answer<'a, A> + Send + 'a,
    ) -> Answer<'a, A> {
        Box::pin(async move {
            self.suffer().await?;
            call().await
        })
    }
}
