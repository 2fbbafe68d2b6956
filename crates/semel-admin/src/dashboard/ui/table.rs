//! Tables. On a phone each row becomes a card, its cells named by their columns.

use maud::{Markup, html};

struct Column {
    name: &'static str,
    is_number: bool,
}

/// One row. Its id is made of what identifies the row, so that a live update changes it in place.
pub(crate) struct Row {
    id: String,
    cells: Vec<Markup>,
}

impl Row {
    /// A row about `key`.
    pub(crate) fn new(key: &str) -> Self {
        // A key may have any character and is hashed, so that the id is one word.
        let hash = blake3::hash(key.as_bytes()).to_hex();
        Self {
            id: format!("row-{}", &hash[..16]),
            cells: Vec::new(),
        }
    }

    /// With a cell for the next column.
    #[must_use]
    pub(crate) fn cell(mut self, content: Markup) -> Self {
        self.cells.push(content);
        self
    }

    /// The same with plain text.
    #[must_use]
    pub(crate) fn text(self, content: impl AsRef<str>) -> Self {
        self.cell(html! { (content.as_ref()) })
    }

    /// The same with a name, which stays in one line unless it is long.
    #[must_use]
    pub(crate) fn name(self, name: impl AsRef<str>) -> Self {
        let name = name.as_ref();
        match name {
            // A card on a phone leaves out what is empty.
            "" => self.text(name),
            _ => self.cell(html! { span class=[super::whole(name)] { (name) } }),
        }
    }
}

/// A table. What it is about is said by its caption to those who hear it.
pub(crate) struct Table {
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl Table {
    /// An empty one.
    pub(crate) fn new(caption: impl Into<String>) -> Self {
        Self {
            caption: caption.into(),
            columns: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// With a column of texts.
    #[must_use]
    pub(crate) fn column(mut self, name: &'static str) -> Self {
        let is_number = false;
        self.columns.push(Column { name, is_number });
        self
    }

    /// With a column of numbers, which stand to the right.
    #[must_use]
    pub(crate) fn number(mut self, name: &'static str) -> Self {
        let is_number = true;
        self.columns.push(Column { name, is_number });
        self
    }

    /// With these rows.
    #[must_use]
    pub(crate) fn rows(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// The table, or what is said where it has no rows.
    pub(crate) fn or(self, empty: Markup) -> Markup {
        match self.rows.is_empty() {
            true => empty,
            false => self.show(),
        }
    }

    /// The table.
    pub(crate) fn show(self) -> Markup {
        html! {
            div.scroll tabindex="0" role="region" aria-label=(self.caption) {
                table {
                    caption { (self.caption) }
                    thead { tr {
                        @for column in &self.columns { th scope="col" class=[class(column)] { (column.name) } }
                    } }
                    tbody {
                        @for row in &self.rows {
                            tr id=(row.id) {
                                @for (column, cell) in self.columns.iter().zip(&row.cells) {
                                    td class=[class(column)] data-column=(column.name) { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn class(column: &Column) -> Option<&'static str> {
    column.is_number.then_some("number")
}
