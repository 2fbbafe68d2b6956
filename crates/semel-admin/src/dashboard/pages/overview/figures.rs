//! The numbers at the top, and the charts of the last hour.

use std::time::Duration;

use maud::{Markup, html};
use semel_core::inbox::Counts;

use super::Now;
use crate::dashboard::history::Line;
use crate::dashboard::ui::{self, Tone};
use crate::metrics::flow::{Message, Request};

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
    let level = |level: Option<u64>| level.map_or_else(|| "–".to_owned(), ui::count);
    let oldest = |since: Option<semel_core::Timestamp>| {
        since.map_or_else(String::new, |since| {
            format!("oldest {}", ui::duration(now.at.since(since)))
        })
    };
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

fn messages(now: &Now<'_>) -> Vec<Figure> {
    let Some(counts) = &now.standing.counts else {
        return Vec::new();
    };
    let all = now.through.messages();
    let rate = now.rate(all.of(Message::Received), |before| {
        before.messages().of(Message::Received)
    });
    let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>();
    let (backlog, parked) = (sum(Counts::pending), sum(|counts| counts.parked));
    let oldest = counts
        .iter()
        .filter_map(|counts| counts.oldest_pending)
        .min();
    let oldest = oldest.map(|since| format!("oldest {}", ui::duration(now.at.since(since))));
    vec![
        Figure {
            name: "Messages",
            value: format!("{}/s", ui::rate(rate)),
            about: format!(
                "{} duplicates of {}",
                ui::count(all.of(Message::Duplicate)),
                ui::count(all.of(Message::Received))
            ),
            tone: Tone::Plain,
            link: ui::page_at("/inbox"),
        },
        Figure {
            name: "Backlog",
            value: ui::count(backlog),
            about: oldest.unwrap_or_default(),
            tone: Tone::Plain,
            link: ui::page_at("/inbox"),
        },
        Figure {
            name: "Parked",
            value: ui::count(parked),
            about: "wait for a person".to_owned(),
            tone: if parked > 0 { Tone::Bad } else { Tone::Plain },
            link: ui::page_at("/dead-letters"),
        },
    ]
}

/// What a chart shows: the shortest of these spans that all samples lie within, so that a process that has just begun shows more than a gap.
const SPANS: [ui::Span; 3] = [
    ui::Span {
        length: Duration::from_secs(180),
        begins: "3 min",
        middle: "90 s",
    },
    ui::Span {
        length: Duration::from_secs(900),
        begins: "15 min",
        middle: "7.5 min",
    },
    ui::Span {
        length: Duration::from_secs(3_600),
        begins: "1 h",
        middle: "30 min",
    },
];

pub(super) fn charts(now: &Now<'_>) -> Markup {
    let line = |name, class, line| ui::Line {
        name,
        class,
        points: now.history.line(line),
    };
    let length = now.history.length();
    let span = SPANS.into_iter().find(|span| span.length >= length);
    let span = span.unwrap_or(SPANS[2]);
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
                    line("failed attempts", "c", Line::Failed),
                ]))
                (chart("chart-backlog", "Waiting messages", "at once", &[
                    line("backlog", "a", Line::Backlog),
                    line("parked", "c", Line::Parked),
                ]))
            }
        }
    }
}
