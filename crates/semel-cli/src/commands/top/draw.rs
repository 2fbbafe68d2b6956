//! A frame on a piece of screen. Nothing hangs on colour: what stands out is bold or reversed.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, Table, Widget};
use semel_core::duration;

use super::frame::{Consumer, Frame, Messages, Requests, Scope, Source};
use crate::text;

/// How wide a frame is that is printed.
const WIDTH: u16 = 80;
/// The lines above the tables.
const HEAD: u16 = 5;
/// The lines that a table has beside its rows: a heading and an empty line.
const AROUND: u16 = 2;
/// The tables are at least so high on a screen.
const TABLE_MIN: u16 = 5;

/// Where the person looks.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct View<'a> {
    /// So many rows of the tables are above the first that is shown.
    pub(super) scroll: usize,
    pub(super) paused: bool,
    /// Why there is nothing newer.
    pub(super) away: Option<&'a str>,
}

/// The frame as lines of text, with all its rows.
pub(super) fn text(frame: &Frame) -> String {
    let tables = [
        frame.scopes.len(),
        frame.consumers.len(),
        frame.sources.len(),
    ];
    let rows = tables.iter().map(|rows| {
        u16::try_from(*rows)
            .unwrap_or(u16::MAX)
            .saturating_add(AROUND)
    });
    let height = rows.fold(HEAD, u16::saturating_add);
    let area = Rect::new(0, 0, WIDTH, height);
    let mut buffer = Buffer::empty(area);
    let constraints = [
        Constraint::Length(HEAD),
        Constraint::Length(length(tables[0])),
        Constraint::Length(length(tables[1])),
        Constraint::Length(length(tables[2])),
    ];
    paint(frame, View::default(), area, &constraints, &mut buffer);
    let line = |y: u16| -> String {
        let cells = (0..WIDTH).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned()
    };
    let lines: Vec<_> = (0..height).map(line).collect();
    lines.join("\n")
}

fn length(rows: usize) -> u16 {
    u16::try_from(rows)
        .unwrap_or(u16::MAX)
        .saturating_add(AROUND)
}

/// The frame on a screen: scopes and consumers share it.
pub(super) fn draw(frame: &Frame, view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let sources = match frame.sources.len() {
        0 => 0,
        rows => length(rows.min(3)),
    };
    let constraints = [
        Constraint::Length(HEAD),
        Constraint::Min(TABLE_MIN),
        Constraint::Min(TABLE_MIN),
        Constraint::Length(sources),
    ];
    paint(frame, view, area, &constraints, buffer);
}

fn paint(
    frame: &Frame,
    view: View<'_>,
    area: Rect,
    constraints: &[Constraint; 4],
    buffer: &mut Buffer,
) {
    let [top, scopes, consumers, sources] = Layout::vertical(constraints).areas(area);
    Paragraph::new(head(frame, view)).render(top, buffer);
    let widths = [26, 10, 12, 10, 10];
    let titles = ["SCOPE", "REQ/S", "REPLAYED/S", "UNKNOWN/S", "REFUSED/S"];
    let rows = frame.scopes.iter().skip(view.scroll).map(scope);
    table(titles, widths, rows).render(scopes, buffer);
    let widths = [26, 8, 9, 9, 9, 6, 9];
    let titles = [
        "CONSUMER", "IN/S", "AGAIN/S", "PENDING", "OLDEST", "DEAD", "STANDS",
    ];
    let rows = frame.consumers.iter().skip(view.scroll).map(consumer);
    table(titles, widths, rows).render(consumers, buffer);
    if !frame.sources.is_empty() {
        let rows = frame.sources.iter().map(source);
        table(["SOURCE", "READ", "LAG"], [40, 8, 12], rows).render(sources, buffer);
    }
}

fn table<'a, const N: usize>(
    titles: [&'static str; N],
    widths: [u16; N],
    rows: impl Iterator<Item = [String; N]> + 'a,
) -> Table<'a> {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let widths = widths.map(Constraint::Length);
    let rows = rows.map(Row::new);
    Table::new(rows, widths)
        .header(Row::new(titles).style(bold))
        .column_spacing(1)
}

fn head(frame: &Frame, view: View<'_>) -> Vec<Line<'static>> {
    let loud = Style::new().add_modifier(Modifier::REVERSED);
    let standing = match (view.away, frame.ready) {
        (Some(_), _) => Span::styled(" away ", loud),
        (None, true) => Span::raw("ready"),
        (None, false) => Span::styled(" not ready ", loud),
    };
    let paused = if view.paused { "  paused" } else { "" };
    let Requests {
        per_second,
        replayed_per_second,
        refused_per_second,
        // The table of scopes has it: a line of eighty columns is full.
        unknown_per_second: _,
    } = frame.requests;
    let Messages {
        received_per_second,
        duplicates_per_second,
    } = frame.messages;
    let records = &frame.records;
    let bytes = records.bytes.map_or("-".to_owned(), text::bytes);
    let unknown = format!("unknown {}", text::count(records.unknown));
    let unknown = match records.unknown {
        0 => Span::raw(unknown),
        _ => Span::styled(unknown, Style::new().add_modifier(Modifier::BOLD)),
    };
    let trouble = view.away.map(text::cell);
    let trouble = trouble.unwrap_or_else(|| frame.troubles.join("; "));
    vec![
        Line::from(vec![
            Span::raw(format!("semel {}  ", frame.address)),
            standing,
            Span::raw(paused),
        ]),
        Line::from(format!(
            "requests {per_second:.1}/s  replayed {replayed_per_second:.1}/s  refused {refused_per_second:.1}/s  \
             messages {received_per_second:.1}/s  again {duplicates_per_second:.1}/s"
        )),
        Line::from(vec![
            Span::raw(format!(
                "records running {}  ",
                text::count(records.running)
            )),
            unknown,
            Span::raw(format!(
                "  settled {}  late {}  on disk {bytes}",
                text::count(records.settled),
                text::count(records.late_outcomes)
            )),
        ]),
        Line::from(text::printable(&trouble)),
    ]
}

fn scope(row: &Scope) -> [String; 5] {
    [
        text::cell(&row.scope),
        format!("{:.1}", row.requests.per_second),
        format!("{:.1}", row.requests.replayed_per_second),
        format!("{:.1}", row.requests.unknown_per_second),
        format!("{:.1}", row.requests.refused_per_second),
    ]
}

fn consumer(row: &Consumer) -> [String; 7] {
    let oldest = row.oldest_pending_ms.map(Duration::from_millis);
    let stands = match (row.paused, row.circuit.as_str()) {
        (true, _) => "paused",
        (false, "closed") => "runs",
        (false, circuit) => circuit,
    };
    [
        text::cell(&row.consumer),
        format!("{:.1}", row.messages.received_per_second),
        format!("{:.1}", row.messages.duplicates_per_second),
        counted(row, row.pending),
        oldest.map_or("-".to_owned(), duration::show),
        counted(row, row.dead),
        stands.to_owned(),
    ]
}

/// A number of a consumer; where its store stopped counting, the least that it may be.
fn counted(row: &Consumer, number: u64) -> String {
    match row.at_least && number > 0 {
        true => format!("≥{}", text::count(number)),
        false => text::count(number),
    }
}

fn source(row: &Source) -> [String; 3] {
    let reading = if row.reading { "yes" } else { "NO" };
    [
        text::cell(&row.source),
        reading.to_owned(),
        row.lag.map_or("-".to_owned(), |lag| format!("{lag:.0}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_fits_eighty_columns_and_says_what_is_wrong() {
        let frame = Frame {
            address: "http://127.0.0.1:7071".to_owned(),
            troubles: vec!["gateway: draining".to_owned()],
            scopes: vec![Scope {
                scope: "payments@1".to_owned(),
                requests: Requests::default(),
            }],
            ..Frame::default()
        };
        let shown = text(&frame);
        let widest = shown.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{shown}");
        for said in ["not ready", "gateway: draining", "payments@1", "SCOPE"] {
            assert!(shown.contains(said), "{said}: {shown}");
        }
    }

    #[test]
    fn a_small_screen_is_drawn_without_harm() {
        for (width, height) in [(80, 24), (20, 3), (1, 1)] {
            let area = Rect::new(0, 0, width, height);
            let mut buffer = Buffer::empty(area);
            let view = View {
                scroll: 7,
                paused: true,
                away: Some("no answer"),
            };
            draw(&Frame::default(), view, area, &mut buffer);
        }
    }
}
