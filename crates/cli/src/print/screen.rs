//! A terminal's screen, row by row.

use super::line;
use crate::failure::Failure;

/// Prints the rows up to the last that is not empty.
pub(crate) fn screen(rows: &[impl AsRef<str>]) -> Result<(), Failure> {
    let used = rows.iter().rposition(|row| !row.as_ref().is_empty()).map_or(0, |last| last + 1);
    rows[..used].iter().try_for_each(|row| line(row.as_ref()))
}
