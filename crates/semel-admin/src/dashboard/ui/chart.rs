//! Charts as SVG, drawn on the server: lines over time, with words for those who do not see them.

use std::fmt::Write as _;
use std::time::Duration;

use maud::{Markup, html};

use super::duration;

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
    pub(crate) points: Vec<Point>,
}

/// A value of a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// How long before the right edge.
    pub(crate) ago: Duration,
    /// `None` where there was nothing to measure: the line has a gap.
    pub(crate) value: Option<f32>,
}

impl Line<'_> {
    fn last(&self) -> Option<f32> {
        self.points.last()?.value
    }

    fn highest(&self) -> f32 {
        highest(&self.points).unwrap_or(0.0)
    }
}

/// The highest of some points; `None` if none of them has a value.
fn highest(points: &[Point]) -> Option<f32> {
    points
        .iter()
        .filter_map(|point| point.value)
        .reduce(f32::max)
}

/// A chart of lines that end now, so long in all. What is older than the first value stays empty.
pub(crate) fn chart(
    id: &str,
    title: &str,
    unit: &str,
    length: Duration,
    lines: &[Line<'_>],
) -> Markup {
    let highest = round_up(lines.iter().map(Line::highest).fold(0.0, f32::max));
    let said: Vec<_> = lines.iter().map(|line| summary(line, unit)).collect();
    html! {
        figure.chart id=(id) {
            figcaption {
                strong { (title) }
                ul.legend {
                    @for line in lines {
                        li class=(line.class) { (line.name) " " b { (line.last().map_or_else(|| "–".to_owned(), shown)) } }
                    }
                }
            }
            div.plot {
                span.top { (shown(highest)) " " (unit) }
                svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label={ (title) ". " (said.join("; ")) } {
                    path.grid d={ "M0 0H" (WIDTH) "M0 50H" (WIDTH) "M0 100H" (WIDTH) } {}
                    @for (at, line) in lines.iter().enumerate() {
                        @let pieces = pieces(&line.points, length, highest);
                        @if at == 0 { path class={ "area " (line.class) } d=(drawn(&pieces, area)) {} }
                        path class={ "line " (line.class) } d=(drawn(&pieces, path)) {}
                    }
                }
            }
            p.axis { span { (duration(length)) " ago" } span { (duration(length / 2)) } span { "now" } }
        }
    }
}

fn summary(line: &Line<'_>, unit: &str) -> String {
    let now = line.last().map_or_else(|| "not known".to_owned(), shown);
    let highest = shown(line.highest());
    format!("{}: now {now}, highest {highest} {unit}", line.name)
}

/// A number with as many digits as one reads at a glance.
pub(crate) fn shown(value: f32) -> String {
    match value {
        // What would be rounded to ten is one of two digits, too.
        value if value >= 9.95 || value == value.trunc() => format!("{value:.0}"),
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

/// The line's pieces between its gaps: where the values stand, the newest at the right edge.
fn pieces(points: &[Point], length: Duration, highest: f32) -> Vec<Vec<(f32, f32)>> {
    let group = points.len().div_ceil(POINTS_MAX).max(1);
    let mut pieces = vec![Vec::new()];
    // Groups are counted from the newest value, so that the right edge is exact.
    let groups: Vec<&[Point]> = points.rchunks(group).collect();
    for group in groups.into_iter().rev() {
        let newest = group.last().map_or(Duration::ZERO, |point| point.ago);
        match self::highest(group) {
            Some(value) if newest <= length => {
                let x = WIDTH - newest.as_secs_f32() / length.as_secs_f32() * WIDTH;
                let y = HEIGHT - value / highest * (HEIGHT - 2.0) - 1.0;
                pieces.last_mut().expect("never empty").push((x, y));
            }
            Some(_) => {}
            None => pieces.push(Vec::new()),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// All pieces in one path.
fn drawn(pieces: &[Vec<(f32, f32)>], draw: fn(&[(f32, f32)]) -> String) -> String {
    pieces.iter().map(|piece| draw(piece)).collect()
}

fn path(points: &[(f32, f32)]) -> String {
    let mut path = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let letter = if at == 0 { 'M' } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(path, "{letter}{x:.1} {y:.1}");
    }
    // What stands alone between two gaps is a dot.
    if points.len() == 1 {
        path.push_str("h0.1");
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
        for (value, said) in [
            (0.0, "0"),
            (1.25, "1.2"),
            (9.9, "9.9"),
            (9.96, "10"),
            (11.4, "11"),
        ] {
            assert_eq!(shown(value), said);
        }
        let drawn = pieces(
            &every(5, &[Some(0.0), Some(5.0), Some(10.0)]),
            secs(20),
            10.0,
        );
        assert_eq!(drawn, [[(300.0, 99.0), (450.0, 50.0), (600.0, 1.0)]]);
        assert_eq!(path(&drawn[0]), "M300.0 99.0L450.0 50.0L600.0 1.0");
        assert_eq!((path(&[]), area(&[])), (String::new(), String::new()));
        let many = every(5, &[Some(1.0); 720]);
        assert_eq!(pieces(&many, secs(3_600), 1.0)[0].len(), POINTS_MAX);
    }

    #[test]
    fn a_line_has_a_gap_where_nothing_was_measured() {
        let points = every(5, &[Some(1.0), None, None, Some(1.0), Some(1.0)]);
        let drawn_pieces = pieces(&points, secs(20), 1.0);
        assert_eq!(drawn_pieces.len(), 2);
        let path = drawn(&drawn_pieces, path);
        assert_eq!(path, "M0.0 1.0h0.1M450.0 1.0L600.0 1.0");
        assert!(pieces(&every(5, &[None; 3]), secs(20), 1.0).is_empty());
        // A sample that took longer stands where it belongs.
        let late = [point(14, 1.0), point(5, 1.0), point(0, 1.0)];
        let places: Vec<f32> = pieces(&late, secs(20), 1.0)[0]
            .iter()
            .map(|(x, _)| *x)
            .collect();
        assert_eq!(places, [180.0, 450.0, 600.0]);
        let last = Line {
            name: "running",
            class: "a",
            points: every(5, &[Some(3.0), None]),
        };
        assert_eq!(
            summary(&last, "at once"),
            "running: now not known, highest 3 at once"
        );
    }

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const fn point(ago: u64, value: f32) -> Point {
        let (ago, value) = (secs(ago), Some(value));
        Point { ago, value }
    }

    /// Values so many seconds apart, the last of them now.
    fn every(seconds: u64, values: &[Option<f32>]) -> Vec<Point> {
        let ago = |at: usize| secs(seconds * (values.len() - 1 - at) as u64);
        let point = |(at, value): (usize, &Option<f32>)| Point {
            ago: ago(at),
            value: *value,
        };
        values.iter().enumerate().map(point).collect()
    }

    #[test]
    fn a_chart_says_in_words_what_it_draws() {
        let line = Line {
            name: "all",
            class: "a",
            points: every(5, &[Some(3.0), Some(1.5)]),
        };
        let html = chart("rate", "Requests", "per second", secs(60), &[line]).into_string();
        for edge in ["1m ago", "30s", "now"] {
            assert!(html.contains(&format!("<span>{edge}</span>")), "{html}");
        }
        assert!(
            html.contains("Requests. all: now 1.5, highest 3 per second"),
            "{html}"
        );
        assert!(!html.contains("style="), "{html}");
    }
}
