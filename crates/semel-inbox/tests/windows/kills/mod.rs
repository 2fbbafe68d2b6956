//! Deaths at every window: what the dead leave, what the living make of it, and how often it took effect.

mod death;
mod plots;

pub(crate) use plots::{own_transaction, plots};

use semel_core::inbox::{Action, State};

use crate::outside::{CALLS, INTENTS, Outside};
use crate::process::{Doing, Job, Life, Window};
use crate::stage::Stage;
use crate::workshop::{ID, charge, order, payload, policy};

/// One death.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plot {
    /// The window's name and what is done, in words.
    pub(crate) name: &'static str,
    pub(crate) variant: &'static str,
    pub(crate) window: Window,
    pub(crate) doing: Doing,
    pub(crate) after_effect: bool,
    pub(crate) webhook: bool,
}

/// How often each kind of effect happened.
#[derive(Debug, PartialEq, Eq)]
struct Effects {
    rows: usize,
    calls: usize,
    intents: usize,
    reserved: usize,
    shipped: usize,
}

impl Effects {
    async fn count(stage: &Stage, outside: &Outside) -> Self {
        Self {
            rows: stage.place.rows().await.len(),
            calls: outside.effects(CALLS),
            intents: outside.effects(INTENTS),
            reserved: outside.effects("reserve"),
            shipped: outside.effects("ship"),
        }
    }

    /// Exactly one of each that is wanted.
    fn once(doing: Doing) -> Self {
        Self {
            rows: usize::from(doing.row),
            calls: usize::from(doing.call),
            intents: usize::from(doing.intent),
            reserved: usize::from(doing.steps),
            shipped: usize::from(doing.steps),
        }
    }

    const fn total(&self) -> usize {
        self.rows + self.calls + self.intents + self.reserved + self.shipped
    }
}

/// A worker dies at its window, another one takes over, and everything took effect once.
pub(crate) async fn killed(stage: &Stage, plot: Plot) {
    let outside = Outside::start().await;
    let dying = Job {
        place: stage.place.clone(),
        outside: outside.url(),
        window: Some(plot.window),
        doing: plot.doing,
        after_effect: plot.after_effect,
        webhook: plot.webhook,
    };
    let was_told = die(stage, &outside, plot, Life::begin(&dying)).await;
    death::check(stage, &outside, plot).await;

    let living = Job {
        window: None,
        ..dying
    };
    let mut life = Life::begin(&living);
    let webhook = match plot.webhook {
        true => Some(life.webhook().await),
        false => None,
    };
    if let Some(url) = webhook.as_ref().filter(|_| !was_told) {
        assert!(send(url).await.is_some(), "a webhook that lives answers");
    }
    settled(stage, &outside, plot.doing).await;
    assert_eq!(
        Effects::count(stage, &outside).await,
        Effects::once(plot.doing)
    );

    // Once more, long after it was done.
    match webhook {
        Some(url) => assert_eq!(send(&url).await, Some(200), "it is known"),
        None => outside.deliver(ID),
    }
    settled(stage, &outside, plot.doing).await;
    assert_eq!(
        Effects::count(stage, &outside).await,
        Effects::once(plot.doing)
    );
    if plot.window == Window::AfterCall {
        let requests = outside.requests(CALLS);
        assert!(requests >= 2, "the provider was asked {requests} times");
    }
}

/// Delivers the message and kills the worker at its window; whether the sender was told that it was taken.
async fn die(stage: &Stage, outside: &Outside, plot: Plot, mut life: Life) -> bool {
    if !plot.webhook {
        outside.deliver(ID);
        if plot.window == Window::DuringReplay {
            settled(stage, outside, plot.doing).await;
            let action = Action::Replay { rebuild: false };
            stage.operate(&policy().plan, ID, action).await;
        }
        life.killed_at_its_window().await;
        return false;
    }
    let url = life.webhook().await;
    if plot.window == Window::AfterAck {
        assert_eq!(send(&url).await, Some(202), "it is taken");
        life.killed();
        return true;
    }
    let ((), answer) = tokio::join!(life.killed_at_its_window(), send(&url));
    assert_eq!(answer, None, "nobody answers");
    false
}

/// Sends the message to a webhook: the status, unless the answer never came.
async fn send(url: &str) -> Option<u16> {
    let client = semel_inbox::client_builder().build().unwrap();
    let request = client.post(url).header("message-id", ID).body(payload(ID));
    let response = request.send().await.ok()?;
    Some(response.status().as_u16())
}

/// Waits until message and intent are completed, the source was told, and nothing is left to do.
async fn settled(stage: &Stage, outside: &Outside, doing: Doing) {
    stage.until(&order(ID), State::Completed).await;
    if doing.intent {
        stage.until(&charge(ID), State::Completed).await;
    }
    outside.until_acked().await;
    stage.rest().await;
}
