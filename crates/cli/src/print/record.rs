//! Full text of a record, in titled groups of rows. Nothing is cut.

use super::{Style, Tone};

/// Names and values.
pub(super) type Rows = Vec<(&'static str, String)>;
/// A title and its rows.
pub(super) type Group = (&'static str, Rows);

/// Formats the groups that have rows.
pub(super) fn lines(style: Style, groups: &[Group]) -> Vec<String> {
    let shown = groups.iter().filter(|(_, rows)| !rows.is_empty());
    let mut lines = Vec::new();
    for (at, (title, rows)) in shown.enumerate() {
        if at > 0 {
            lines.push(String::new());
        }
        lines.push(style.paint(Tone::Title, title));
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in rows {
            lines.push(format!("  {name:width$}  {value}").trim_end().to_owned());
        }
    }
    lines
}
