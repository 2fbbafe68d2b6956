//! Where words go: data to stdout, everything else to stderr. Nothing else in this program prints.
//!
//! The print macros are not used because they panic when the reader has gone away, and
//! `semel keys list | head -1` is a fair thing to ask.

use std::io::{self, BufRead, ErrorKind, IsTerminal, Write};

use clap::builder::styling::{AnsiColor, Style};
use comfy_table::{CellAlignment, ColumnConstraint, presets};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::exit::Exit;

/// Writes data. A reader that has gone away has read enough; any other failure is one.
pub(crate) fn data(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let written = writeln!(stdout, "{}", text.trim_end_matches('\n')).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::new(
            Exit::Io,
            format!("cannot write to stdout: {error}"),
        )),
        Ok(()) => Ok(()),
    }
}

/// Writes data as JSON, for programs.
pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::refused(format!("cannot write this as JSON: {error}")))?;
    data(&text)
}

/// Says something to the person who watches; a lost listener is not a failure.
pub(crate) fn note(message: &str) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// Says what the person can do next.
pub(crate) fn hint(message: &str) {
    labelled("hint:", AnsiColor::Cyan, message);
}

/// Says why a command did not do what was asked.
pub(crate) fn error(error: &Error) {
    labelled("error:", AnsiColor::Red, error.message());
    if let Some(advice) = error.advice() {
        hint(advice);
    }
}

/// Later lines of a message stand under its first, so that the label stands out.
fn labelled(label: &str, color: AnsiColor, message: &str) {
    let indented = message.replace('\n', &format!("\n{:width$} ", "", width = label.len()));
    let label = match is_colored(&io::stderr()) {
        true => painted(label, color.on_default().bold()),
        false => label.to_owned(),
    };
    note(&format!("{label} {indented}"));
}

/// Asks for a yes. Without a terminal there is nobody to ask: `None`.
pub(crate) fn ask(question: &str) -> Option<bool> {
    let (stdin, mut stderr) = (io::stdin(), io::stderr());
    if !stdin.is_terminal() || !stderr.is_terminal() {
        return None;
    }
    let _ = write!(stderr, "{question} [y/N] ");
    let mut answer = String::new();
    // An unreadable answer is not a yes.
    let _ = stdin.lock().read_line(&mut answer);
    Some(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// A table whose first column says the state and has its colour.
pub(crate) struct Table {
    table: comfy_table::Table,
    styles: Vec<Style>,
}

impl Table {
    /// A table with these headings; a heading that begins with `>` stands over numbers.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(headings.map(|heading| heading.trim_start_matches('>')));
        for (column, heading) in table.column_iter_mut().zip(headings) {
            column.set_padding((0, 2));
            if heading.starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self {
            table,
            styles: vec![Style::new().bold()],
        }
    }

    /// Adds a row of one-line cells.
    pub(crate) fn row<const N: usize>(&mut self, style: Style, cells: [String; N]) {
        self.table.add_row(cells);
        self.styles.push(style);
    }

    /// Leaves a column out.
    pub(crate) fn hide(&mut self, column: usize) {
        if let Some(column) = self.table.column_mut(column) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }

    /// Writes the table as data.
    pub(crate) fn print(&self) -> Result<()> {
        let plain = self.table.trim_fmt();
        if !is_colored(&io::stdout()) {
            return data(&plain);
        }
        let lines = plain.lines().zip(&self.styles);
        let lines = lines.map(|(line, style)| {
            let (first, rest) = line.split_at(line.find(' ').unwrap_or(line.len()));
            format!("{}{rest}", painted(first, *style))
        });
        data(&lines.collect::<Vec<_>>().join("\n"))
    }
}

/// Names and values, one below the other.
pub(crate) fn fields(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): &(&str, String)| format!("  {name:width$}  {value}\n");
    fields.iter().map(line).collect()
}

/// The colour of a state's name, the same everywhere.
pub(crate) fn style_of(state: &str) -> Style {
    match state {
        "running" => AnsiColor::Cyan.on_default(),
        "unknown" => AnsiColor::Yellow.on_default().bold(),
        "succeeded" => AnsiColor::Green.on_default(),
        "failed" => AnsiColor::Red.on_default(),
        _ => Style::new(),
    }
}

fn painted(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

/// Escape codes are for people only, and only for those who want them (<https://no-color.org>).
fn is_colored(stream: &impl IsTerminal) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    stream.is_terminal() && !set("NO_COLOR") && !dumb
}
