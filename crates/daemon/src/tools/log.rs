//! `process log`: pages through the stored output by line. It does not advance the cursor of `poll`.

use super::call::LogPart;
use super::process::FoundRun;
use crate::daemon::Daemon;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tenure_core::ids::RunId;
use tenure_core::tools::{ProcessReply, REPLY_CHARS};
use tenure_output::text::{self, LineIndex, Page};
use tenure_store::RunRow;
use tenure_supervisor::Refusal;
use tenure_supervisor::run_output::output_of;
use tenure_supervisor::run_output::reading;
use tenure_supervisor::sync::lock;

/// Number of runs whose line index is cached.
const CACHED_INDEXES: usize = 16;

/// Cache of line indexes of the runs whose logs were read last.
#[derive(Debug, Default)]
pub(crate) struct Indexes {
    last: Mutex<VecDeque<(RunId, LineIndex)>>,
}

impl Indexes {
    /// Takes the index of a run out of the cache. Two concurrent readers build it twice.
    fn take(&self, run: &RunId) -> LineIndex {
        let mut last = lock(&self.last);
        let at = last.iter().position(|(known, _)| known == run);
        at.and_then(|at| last.remove(at)).map(|(_, index)| index).unwrap_or_default()
    }

    fn put(&self, run: RunId, index: LineIndex) {
        let mut last = lock(&self.last);
        last.push_back((run, index));
        if last.len() > CACHED_INDEXES {
            last.pop_front();
        }
    }
}

pub(super) async fn log(run: FoundRun, part: LogPart) -> Result<ProcessReply, Refusal> {
    let FoundRun { daemon, row, .. } = run;
    let (offset, limit) = match part {
        LogPart::Lines { offset, limit } => (offset, limit),
        LogPart::FromByte(offset) => return log_from_byte(&daemon, &row, offset).await,
    };
    let run = row.ticket.run_id.clone();
    let ask = text::Ask { offset, limit, cap_chars: REPLY_CHARS, over: row.ending.is_some() };
    let (dir, mut index) = (output_of(&row), daemon.indexes.take(&run));
    let (page, index) = reading(move || text::page(&dir, &mut index, &ask).map(|page| (page, index))).await?;
    daemon.indexes.put(run, index);
    let listed = daemon.listed(&row, 0).await;
    Ok(ProcessReply {
        message: about(&page),
        first_line: Some(page.first_line),
        truncated: Some(page.truncated),
        next_line: page.next_line,
        next_offset: page.next_offset,
        total_lines: Some(page.total_lines),
        total_bytes: Some(page.total_bytes),
        output: Some(page.text),
        run: Some(listed),
        ..ProcessReply::default()
    })
}

async fn log_from_byte(daemon: &Arc<Daemon>, row: &RunRow, offset: u64) -> Result<ProcessReply, Refusal> {
    let (dir, over) = (output_of(row), row.ending.is_some());
    let read = reading(move || text::from_byte(&dir, offset, REPLY_CHARS, over)).await?;
    let message = match read.next_offset {
        Some(next) => format!("The output from byte {offset}; it continues at byteOffset {next}."),
        None => format!("The output from byte {offset} to its end."),
    };
    Ok(ProcessReply {
        run: Some(daemon.listed(row, 0).await),
        output: Some(read.text),
        truncated: Some(read.next_offset.is_some()),
        next_offset: read.next_offset,
        message,
        ..ProcessReply::default()
    })
}

fn about(page: &Page) -> String {
    let Page { first_line, lines, total_lines, next_line, .. } = page;
    match (lines, next_line) {
        (0, _) if *total_lines == 0 => "There is no output.".to_owned(),
        (0, _) => format!("There are only {total_lines} lines: line {first_line} does not exist."),
        (_, None) => format!("Lines {first_line} to {} of {total_lines}.", first_line + lines - 1),
        (_, Some(next)) => format!(
            "Lines {first_line} to {} of {total_lines}; the next page has offset {next}.",
            first_line + lines - 1
        ),
    }
}
