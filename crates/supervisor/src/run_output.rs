//! Reads a run's output files, and its command line for people.

use crate::refusal::Refusal;
use std::path::{Path, PathBuf};
use tenure_store::RunRow;

/// Returns the directory of a run's output.
pub fn output_of(row: &RunRow) -> PathBuf {
    Path::new(&row.directory).join("output")
}

/// Reads a run's files on a blocking thread: a long log takes long.
pub async fn reading<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, tenure_output::Error> + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::task::spawn_blocking(work).await {
        Ok(read) => read.map_err(Refusal::internal),
        Err(error) => Err(Refusal::internal(error)),
    }
}

/// Returns the last of a run's output as text; empty if it cannot be read.
pub async fn last_output(dir: PathBuf, chars: usize) -> String {
    reading(move || tenure_output::text::last(&dir, chars, true)).await.unwrap_or_default()
}

/// Returns the command line of a run as its author wrote it.
pub fn command_of(row: &RunRow) -> String {
    row.ticket.command_line()
}
