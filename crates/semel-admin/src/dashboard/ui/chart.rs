//! Charts as SVG, drawn on the server: lines over time, with words for those who do not see them.

use std::fmt::Write as _;

use maud::{Markup, html};

/// Points across: samples are thinned out to as many, the highest of each group.
const POINTS_MAX: usize = 180;
/// The drawing's own units.
const WIDTH: f32 = 600.0;
const HEIGHT: f32 = 100.0;

/// One line of a chart.
pub(crate) struct Line<'a> {
    /// What it shows.
    pub(crate) name: &'a str,
    /// The class of its colour: `a`, `b`, `c`.
    pub(crate) class: &'static str,
    /// The values, the oldest first.
    pub(crate) values: Vec<f32>,
}

/// How far a chart goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// How many values the full width has.
    pub(crate) values: usize,
    /// How long ago its left edge is, and its middle.
    pub(crate) begins: &'static str,
    pub(crate) middle: &'static str,
}

/// A chart of lines that end now. What is older than the first value stays empty.
pub(crate) fn chart(id: &str, title: &str, unit: &str, span: Span, lines: &[Line<'_>]) -> Markup {
    let all = lines.iter().flat_map(|line| line.values.iter().copied());
    let highest = round_up(all.fold(0.0, f32::max));
    let said: Vec<_> = lines.iter().map(|line| summary(line, unit)).collect();
    html! {
        figure.chart id=(id) {
            figcaption {
                strong { (title) }
                ul.legend {
                    @for line in lines {
                        li class=(line.class) { (line.name) " " b { (shown(line.values.last().copied().unwrap_or(0.0))) } }
                    }
                }
            }
            div.plot {
                span.top { (shown(highest)) " " (unit) }
                svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label={ (title) ". " (said.join("; ")) } {
                    path.grid d={ "M0 0H" (WIDTH) "M0 50H" (WIDTH) "M0 100H" (WIDTH) } {}
                    @for (at, line) in lines.iter().enumerate() {
                        @let points = points(&line.values, span.values, highest);
                        @if at == 0 { path class={ "area " (line.class) } d=(area(&points)) {} }
                        path class={ "line " (line.class) } d=(path(&points)) {}
                    }
                }
            }
            p.axis { span { (span.begins) " ago" } span { (span.middle) } span { "now" } }
        }
    }
}

fn summary(line: &Line<'_>, unit: &str) -> String {
    let last = line.values.last().copied().unwrap_or(0.0);
    let highest = line.values.iter().copied().fold(0.0, f32::max);
    format!(
        "{}: now {}, highest {} {unit}",
        line.name,
        shown(last),
        shown(highest)
    )
}

/// A number with as many digits as one reads at a glance.
pub(crate) fn shown(value: f32) -> String {
    match value {
        value if value >= 10.0 || value == value.trunc() => format!("{value:.0}"),
        value => format!("{value:.1}"),
    }
}

/// The next of 1, 2, 5, 10, 20, … so that the scale is readable and does not change with every sample.
fn round_up(highest: f32) -> f32 {
    let mut step = 1.0;
    while step < highest {
        let next = [2.0, 5.0, 10.0].map(|times| step * times);
        match next.into_iter().find(|next| *next >= highest) {
            Some(next) => return next,
            None => step *= 10.0,
        }
    }
    step
}

/// Where the values stand; the newest at the right edge.
fn points(values: &[f32], whole: usize, highest: f32) -> Vec<(f32, f32)> {
    let group = whole.div_ceil(POINTS_MAX).max(1);
    let step = WIDTH / (whole.div_ceil(group).max(2) - 1) as f32;
    // Groups are counted from the newest value, so that a new sample does not redraw all others.
    let highest_of = |group: &[f32]| group.iter().copied().fold(0.0, f32::max);
    let groups: Vec<f32> = values.rchunks(group).map(highest_of).collect();
    let at = |(back, value): (usize, f32)| {
        let x = WIDTH - back as f32 * step;
        (x, HEIGHT - value / highest * (HEIGHT - 2.0) - 1.0)
    };
    let mut points: Vec<_> = groups.into_iter().enumerate().map(at).collect();
    points.reverse();
    points
}

fn path(points: &[(f32, f32)]) -> String {
    let mut path = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let letter = if at == 0 { 'M' } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(path, "{letter}{x:.1} {y:.1}");
    }
    path
}

fn area(points: &[(f32, f32)]) -> String {
    match (points.first(), points.last()) {
        (Some((first, _)), Some((last, _))) => {
            format!("{}L{last:.1} {HEIGHT}L{first:.1} {HEIGHT}Z", path(points))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_value_stands_at_the_right_edge_and_the_scale_is_round() {
        for (highest, scale) in [
            (0.0, 1.0),
            (1.0, 1.0),
            (1.1, 2.0),
            (3.0, 5.0),
            (7.0, 10.0),
            (11.0, 20.0),
            (120.0, 200.0),
        ] {
            assert_eq!(round_up(highest), scale, "{highest}");
        }
        let drawn = points(&[0.0, 5.0, 10.0], 5, 10.0);
        assert_eq!(drawn, [(300.0, 99.0), (450.0, 50.0), (600.0, 1.0)]);
        assert_eq!(path(&drawn), "M300.0 99.0L450.0 50.0L600.0 1.0");
        assert_eq!((path(&[]), area(&[])), (String::new(), String::new()));
        let many = vec![1.0; 720];
        assert_eq!(points(&many, 720, 1.0).len(), POINTS_MAX);
    }

    #[test]
    fn a_chart_says_in_words_what_it_draws() {
        let line = Line {
            name: "all",
            class: "a",
            values: vec![3.0, 1.5],
        };
        let span = Span {
            values: 720,
            begins: "1 h",
            middle: "30 min",
        };
        let html = chart("rate", "Requests", "per second", span, &[line]).into_string();
        assert!(
            html.contains("Requests. all: now 1.5, highest 3 per second"),
            "{html}"
        );
        assert!(!html.contains("style="), "{html}");
    }
}
