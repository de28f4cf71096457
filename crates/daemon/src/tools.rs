//! The agent's tools: `exec` runs a command line, `process` does what is to be done with it afterwards. Every face
//! comes here: HTTP, MCP and, over HTTP, the command line.

mod allowlist;
mod approvals;
mod end;
mod exec;
mod foreground;
mod input;
mod judge;
mod list;
mod log;
mod notice;
mod poll;
mod process;
mod question;
mod resume;
pub(crate) mod shell;
mod turn;
mod wanted;
mod witness;

pub(crate) use approvals::{Waiting, without_question};
pub(crate) use log::Indexes;
pub(crate) use notice::Noticed;
pub(crate) use witness::{Sight, Witnesses};

use crate::refusal::Refusal;
use std::path::{Path, PathBuf};
use tenure_store::RunRow;

/// Where a run's output is.
fn output_of(row: &RunRow) -> PathBuf {
    Path::new(&row.directory).join("output")
}

/// Reads from a run's files beside the runtime's own threads: a long log takes long.
async fn reading<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, tenure_output::Error> + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::task::spawn_blocking(work).await {
        Ok(read) => read.map_err(Refusal::internal),
        Err(error) => Err(Refusal::internal(error)),
    }
}

/// The last of a run's output, as text; nothing, if it cannot be read.
pub(crate) async fn last_output(dir: PathBuf, chars: usize) -> String {
    reading(move || tenure_output::text::last(&dir, chars, true)).await.unwrap_or_default()
}
