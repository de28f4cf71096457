//! A table without borders. Columns are as wide as their content; the last one is cut at the end of the line.

use super::{Style, Tone, line};
use crate::failure::Failure;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Row};

/// A table under construction.
pub(crate) struct Table {
    inner: comfy_table::Table,
    colour: bool,
    width: u16,
    /// Right-aligned columns.
    right: Vec<usize>,
}

impl Table {
    /// Creates a table with these headings, or none. A heading with a leading `>` makes its column right-aligned.
    pub(crate) fn new(style: Style, headings: &[&str]) -> Self {
        let mut inner = comfy_table::Table::new();
        inner.set_content_arrangement(ContentArrangement::Dynamic).set_width(style.width);
        inner.load_style(comfy_table::presets::NOTHING);
        // Tenure decides about colours, not the library.
        if style.colour {
            inner.enforce_styling()
        } else {
            inner.force_no_tty()
        };
        let right =
            headings.iter().enumerate().filter(|(_, heading)| heading.starts_with('>')).map(|(at, _)| at);
        let mut table = Self { inner, colour: style.colour, width: style.width, right: right.collect() };
        let titles: Vec<&str> = headings.iter().map(|heading| heading.trim_start_matches('>')).collect();
        if titles.iter().any(|title| !title.is_empty()) {
            table.row(titles.iter().map(|title| ((*title).to_owned(), Tone::Title)));
        }
        table
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = (String, Tone)>) {
        let colour = self.colour;
        // The library's own cut takes quadratic time. One character more than fits makes it mark the cut.
        let most = usize::from(self.width) + 1;
        let cut = |text: String| match text.char_indices().nth(most) {
            Some((end, _)) => text[..end].to_owned(),
            None => text,
        };
        let cells = cells
            .into_iter()
            .map(|(text, tone)| (cut(text), tone))
            .map(|(text, tone)| if colour { toned(text, tone) } else { Cell::new_owned(text) });
        let mut row = Row::from(cells.collect::<Vec<_>>());
        row.max_height(1);
        self.inner.add_row(row);
    }

    /// Formats the table.
    pub(crate) fn lines(mut self) -> Vec<String> {
        let last = self.inner.column_count().saturating_sub(1);
        for (at, column) in self.inner.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if self.right.contains(&at) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if at < last {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        self.inner.trim_fmt().lines().map(str::to_owned).collect()
    }

    /// Prints the table.
    pub(crate) fn print(self) -> Result<(), Failure> {
        self.lines().iter().try_for_each(|text| line(text))
    }
}

fn toned(text: String, tone: Tone) -> Cell {
    let cell = Cell::new_owned(text);
    match tone {
        Tone::Plain => cell,
        Tone::Title => cell.add_attribute(Attribute::Bold),
        Tone::Good => cell.fg(Color::DarkGreen),
        Tone::Warning => cell.fg(Color::DarkYellow),
        Tone::Bad => cell.fg(Color::DarkRed),
        Tone::Dim => cell.add_attribute(Attribute::Dim),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(style: Style) -> Vec<String> {
        let mut table = Table::new(style, &["RUN", ">AGE", "COMMAND"]);
        let long = "sh -c ".to_owned() + &"word ".repeat(50);
        for (run, age, command) in [("a", "3 s", "true"), ("bcd", "15 min", &long)] {
            table.row([run, age, command].map(|text| (text.to_owned(), Tone::Plain)));
        }
        table.lines()
    }

    #[test]
    fn columns_are_aligned_and_the_last_one_is_cut() {
        let lines = lines(Style { width: 40, colour: false });
        assert_eq!(lines[..2], ["RUN     AGE  COMMAND", "a       3 s  true"]);
        assert!(lines[2].starts_with("bcd  15 min  sh -c word") && lines[2].ends_with('…'), "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 40) && lines.len() == 3, "{lines:?}");
    }

    #[test]
    fn a_cell_of_megabytes_is_printed_at_once() {
        let mut table = Table::new(Style { width: 40, colour: false }, &["RUN", "COMMAND"]);
        let long = "word ".repeat(5 << 20);
        table.row([("a".to_owned(), Tone::Plain), (long, Tone::Plain)]);
        let lines = table.lines();
        assert!(lines[1].starts_with("a    word word") && lines[1].ends_with('…'), "{lines:?}");
    }

    #[test]
    fn a_wide_character_takes_two_columns() {
        let mut table = Table::new(Style { width: 40, colour: false }, &["A", "B"]);
        table.row([("中文".to_owned(), Tone::Plain), ("x".to_owned(), Tone::Plain)]);
        table.row([("abcd".to_owned(), Tone::Plain), ("x".to_owned(), Tone::Plain)]);
        assert_eq!(table.lines(), ["A     B", "中文  x", "abcd  x"]);
    }

    #[test]
    fn a_table_has_colours_only_if_wanted() {
        assert!(lines(Style { width: 40, colour: true })[0].contains("\x1b[1m"));
        assert!(!lines(Style { width: 40, colour: false }).concat().contains('\x1b'));
    }
}
