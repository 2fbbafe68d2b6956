//! Judges alerts every few seconds, and says what has changed: in the log, in the metrics, and to the webhook.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::judge::{Change, Judge};
use super::{Board, Rule, webhook};
use crate::admin::Parts;
use crate::log;

/// How old counts of the store and the inbox may be. Counting is work for them, so it is not done each time.
const ASK_EVERY: Duration = Duration::from_secs(15);

/// Judges for as long as the process serves.
pub(crate) async fn run(parts: Parts) -> Infallible {
    let board = parts.alerts.clone();
    let (notices, delivery) = webhook::new(parts.store.metrics().clone(), board.clone());
    tokio::select! {
        never = judge_all(&parts, &board, &notices) => never,
        never = delivery.run() => never,
    }
}

async fn judge_all(parts: &Parts, board: &Board, notices: &webhook::Notices) -> Infallible {
    let metrics = parts.store.metrics();
    let mut judge = Judge::new(metrics.readings(), Instant::now());
    loop {
        let every = board.settings().every;
        let least = ASK_EVERY.min(every.saturating_mul(3));
        let (store, clock) = (parts.store.inner(), &parts.clock);
        metrics.stats(store, clock, least).await;
        if let Some(part) = &parts.inbox {
            metrics.inbox_counts(part, clock, least).await;
        }
        let (settings, at) = (board.settings(), parts.clock.now());
        metrics.switch_alerts_off(settings.off().collect());
        let changes = judge.judge(metrics.readings(), &settings, (Instant::now(), at));
        board.judged(judge.active(), at);
        for change in changes {
            say(parts, &change);
            if settings.webhook.is_some() {
                notices.push(&change, &settings.instance);
            }
        }
        tokio::select! {
            () = sleep(every) => {}
            () = board.woken() => {}
        }
    }
}

/// In the log and in the metrics. What an engine judges, it has said already.
fn say(parts: &Parts, change: &Change) {
    let alert = &change.alert;
    let Some(rule) = Rule::named(alert.rule).filter(|rule| !rule.is_of_policies()) else {
        return;
    };
    let (metrics, subject) = (parts.store.metrics(), alert.subject.as_ref());
    match alert.firing {
        true => metrics.show_alert(alert.rule, subject, true),
        // What an alert was about may be gone for good; as a whole it is shown as quiet.
        false if subject.is_some() => metrics.hide_alert(alert.rule, subject),
        false => metrics.show_alert(alert.rule, subject, false),
    }
    log::alert(rule, change);
}
