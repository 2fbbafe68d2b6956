//! The numbers at the top, and the charts of the last hour.

use std::time::Duration;

use maud::{Markup, html};
use semel_core::Timestamp;
use semel_core::inbox::Counts;

use super::Now;
use crate::dashboard::history::Line;
use crate::dashboard::ui::{self, Tone};
use crate::metrics::flow::{Message, Request};

/// What stands in the place of a number that the store does not say.
const UNKNOWN: &str = "–";

/// One number.
struct Figure {
    name: &'static str,
    value: String,
    /// What to know beside it.
    about: String,
    tone: Tone,
    /// Where to look further.
    link: Option<&'static str>,
}

pub(super) fn numbers(now: &Now<'_>) -> Markup {
    html! {
        dl.figures {
            @for figure in requests(now).into_iter().chain(messages(now)) {
                div class=(figure.tone.class()) {
                    dt {
                        @match figure.link {
                            Some(link) => a href=(link) { (figure.name) },
                            None => (figure.name),
                        }
                    }
                    dd { (figure.value) }
                    dd.hint { (figure.about) }
                }
            }
        }
    }
}

fn requests(now: &Now<'_>) -> Vec<Figure> {
    let all = now.through.requests();
    let rate = now.rate(all.of(Request::All), |before| {
        before.requests().of(Request::All)
    });
    let (total, duplicates) = (all.of(Request::All), all.duplicates());
    let conflicts = all.of(Request::Conflict);
    let stats = now.standing.stats.as_ref();
    let level = |level: Option<u64>| level.map_or_else(|| UNKNOWN.to_owned(), ui::count);
    let oldest = |since| oldest(since, now.at);
    vec![
        Figure {
            name: "Requests",
            value: format!("{}/s", ui::rate(rate)),
            about: format!("{} since the start", ui::count(total)),
            tone: Tone::Plain,
            link: None,
        },
        Figure {
            name: "Duplicates",
            value: ui::percent(duplicates as f64, total as f64),
            about: format!("{} answered without running", ui::count(duplicates)),
            tone: Tone::Plain,
            link: None,
        },
        Figure {
            name: "Conflicts",
            value: ui::count(conflicts),
            about: "a key with another request".to_owned(),
            tone: if conflicts > 0 {
                Tone::Warn
            } else {
                Tone::Plain
            },
            link: None,
        },
        Figure {
            name: "In progress",
            value: level(stats.map(|stats| stats.running)),
            about: oldest(stats.and_then(|stats| stats.oldest_running)),
            tone: Tone::Plain,
            link: None,
        },
        Figure {
            name: "Unknown",
            value: level(stats.map(|stats| stats.unknown)),
            about: oldest(stats.and_then(|stats| stats.oldest_unknown)),
            tone: match stats.is_some_and(|stats| stats.unknown > 0) {
                true => Tone::Bad,
                false => Tone::Plain,
            },
            link: ui::page_at("/unknown"),
        },
    ]
}

/// How long ago the oldest waits, or nothing if none does.
fn oldest(since: Option<Timestamp>, now: Timestamp) -> String {
    since.map_or_else(String::new, |since| {
        format!("oldest {}", ui::duration(now.since(since)))
    })
}

fn messages(now: &Now<'_>) -> Vec<Figure> {
    if now.app.parts.inbox.is_none() {
        return Vec::new();
    }
    let all = now.through.messages();
    let rate = now.rate(all.of(Message::Received), |before| {
        before.messages().of(Message::Received)
    });
    let through = Figure {
        name: "Messages",
        value: format!("{}/s", ui::rate(rate)),
        about: format!(
            "{} duplicates of {}",
            ui::count(all.of(Message::Duplicate)),
            ui::count(all.of(Message::Received))
        ),
        tone: Tone::Plain,
        link: ui::page_at("/inbox"),
    };
    let waiting = waiting(now.standing.counts.as_deref(), now.at);
    [through].into_iter().chain(waiting).collect()
}

/// What waits in the inbox, by itself and for a person; dashes as long as the store does not say.
fn waiting(counts: Option<&[Counts]>, now: Timestamp) -> [Figure; 2] {
    let sum = |of: fn(&Counts) -> u64| {
        let counts = counts?;
        let at_least = counts.iter().any(|counts| counts.at_least);
        Some((counts.iter().map(of).sum::<u64>(), at_least))
    };
    let shown = |sum: Option<(u64, bool)>| {
        sum.map_or_else(
            || UNKNOWN.to_owned(),
            |(sum, at_least)| ui::at_least(sum, at_least),
        )
    };
    let pending = counts.into_iter().flatten();
    let pending = pending.filter_map(|counts| counts.oldest_pending).min();
    let dead = sum(Counts::dead);
    [
        Figure {
            name: "Backlog",
            value: shown(sum(Counts::pending)),
            about: oldest(pending, now),
            tone: Tone::Plain,
            link: ui::page_at("/inbox"),
        },
        Figure {
            name: "Dead letters",
            value: shown(dead),
            about: "wait for a person".to_owned(),
            tone: match dead {
                Some((dead, _)) if dead > 0 => Tone::Bad,
                _ => Tone::Plain,
            },
            link: ui::page_at("/dead-letters"),
        },
    ]
}

/// What a chart shows, in minutes: the least of these that all samples lie within, so that a process that has just begun shows more than a gap.
const MINUTES: [u64; 9] = [1, 2, 3, 5, 10, 20, 30, 45, 60];

/// How far back charts go whose samples go back so far.
fn span(samples: Duration) -> Duration {
    let all = MINUTES.map(|minutes| Duration::from_secs(minutes * 60));
    let longest = all[all.len() - 1];
    all.into_iter()
        .find(|span| *span >= samples)
        .unwrap_or(longest)
}

pub(super) fn charts(now: &Now<'_>) -> Markup {
    let line = |name, class, line| ui::Line {
        name,
        class,
        points: now.history.line(line),
    };
    let span = span(now.history.length());
    let chart = |id, title, unit, lines: &[ui::Line<'_>]| ui::chart(id, title, unit, span, lines);
    html! {
        div.charts {
            (chart("chart-requests", "Requests", "per second", &[
                line("all", "a", Line::Requests),
                line("duplicates", "b", Line::Duplicates),
                line("conflicts", "c", Line::Conflicts),
            ]))
            (chart("chart-records", "Records", "at once", &[
                line("in progress", "a", Line::Running),
                line("unknown", "c", Line::Unknown),
            ]))
            @if now.app.parts.inbox.is_some() {
                (chart("chart-messages", "Messages", "per second", &[
                    line("received", "a", Line::Received),
                    line("duplicates", "b", Line::Repeated),
                    line("completed", "d", Line::Completed),
                    line("failures", "c", Line::Failed),
                ]))
                (chart("chart-backlog", "Waiting messages", "at once", &[
                    line("backlog", "a", Line::Backlog),
                    line("dead letters", "c", Line::Dead),
                ]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_for_good_waits_for_a_person_as_what_is_parked_does() {
        let mut counts = Counts::none("mailer@1".parse().unwrap());
        (counts.parked, counts.failed_terminal) = (1, 2);
        (counts.received, counts.failed_retryable) = (4, 1);
        let now = Timestamp::from_millis(0);
        let shown = |counts: Option<&[Counts]>| {
            let figures = waiting(counts, now).into_iter();
            figures
                .map(|figure| (figure.name, figure.value, figure.tone))
                .collect::<Vec<_>>()
        };
        let figure = |name, value: &str, tone| (name, value.to_owned(), tone);
        assert_eq!(
            shown(Some(&[counts.clone()])),
            [
                figure("Backlog", "5", Tone::Plain),
                figure("Dead letters", "3", Tone::Bad)
            ]
        );
        counts.at_least = true;
        assert_eq!(shown(Some(&[counts]))[1].1, "≥ 3");
        // The store does not answer.
        assert_eq!(
            shown(None),
            [
                figure("Backlog", "–", Tone::Plain),
                figure("Dead letters", "–", Tone::Plain)
            ]
        );
    }

    #[test]
    fn a_chart_begins_soon_before_its_first_sample() {
        for (samples, minutes) in [(0, 1), (60, 1), (61, 2), (240, 5), (3_600, 60), (3_605, 60)] {
            let found = span(Duration::from_secs(samples));
            assert_eq!(found, Duration::from_secs(minutes * 60), "{samples}");
        }
    }
}
