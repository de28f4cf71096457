//! Answers the terminal queries of programs (cursor position, terminal type) while no client with a terminal of its
//! own is attached. The output is only scanned; the screen is computed when a query was found. Queries from a time
//! without a daemon have waited.

use crate::output_follower::OutputFollower;
use crate::run_handle::RunHandle;
use crate::run_screen::screen_at;
use crate::supervisor::Supervisor;
use std::path::Path;
use std::sync::Arc;
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_output::screen::Scanner;
use tenure_output::{Piece, Reader};

/// Size of one read.
const CHUNK: usize = 16 << 10;
/// Number of bytes before our start that are scanned for queries.
const LOOK_BACK: u64 = 1 << 20;

/// Answers a run's terminal queries until the run is over.
pub(crate) async fn answer_queries(supervisor: Arc<Supervisor>, held: Arc<RunHandle>) {
    let directory = held.directory.clone();
    let output = directory.join("output");
    let end = tenure_output::totals(&output).map_or(0, |totals| totals.bytes);
    let begin = answered(&directory).unwrap_or(0).max(end.saturating_sub(LOOK_BACK));
    let mut queries = QueryScanner {
        reader: Reader::new(&output),
        follower: OutputFollower::new(Arc::clone(&held)),
        scanner: Scanner::default(),
        at: begin,
        unanswered: begin,
    };
    while !queries.follower.is_over() {
        if queries.scan_new_output() {
            queries.unanswered = match answer(&supervisor, &held, &directory, &queries).await {
                Ok(to) => to,
                Err(why) => {
                    tracing::debug!(run = %held.ticket.run_id, why, "a terminal query was not answered");
                    queries.at
                }
            };
            save_answered(&directory, queries.unanswered);
        }
        queries.follower.grown_beyond(queries.at).await;
    }
}

struct QueryScanner {
    reader: Reader,
    follower: OutputFollower,
    scanner: Scanner,
    at: u64,
    /// Offset up to which queries were answered.
    unanswered: u64,
}

impl QueryScanner {
    /// Reads the new output; returns true if there was a query.
    fn scan_new_output(&mut self) -> bool {
        let mut buffer = [0; CHUNK];
        let mut found = false;
        while let Ok(piece) = self.reader.read(self.at, &mut buffer) {
            self.at = piece.end();
            match piece {
                Piece::Bytes { len, .. } => found |= self.scanner.sees_query(&buffer[..len]),
                Piece::Gap { .. } | Piece::Lost { .. } => self.scanner = Scanner::default(),
                Piece::End { .. } => break,
            }
        }
        found
    }
}

/// Answers the pending queries; returns the offset up to which they are answered. The screen may have been computed
/// further than the scan has come.
async fn answer(
    supervisor: &Supervisor,
    held: &RunHandle,
    directory: &Path,
    queries: &QueryScanner,
) -> Result<u64, String> {
    let row = supervisor.row(&held.ticket.run_id).await.map_err(|refusal| refusal.detail)?;
    match supervisor.ask(&row, &KeeperRequest::Status, &[]).await.map_err(|refusal| refusal.detail)? {
        KeeperMessage::Status { attached: false, .. } => {}
        _ => return Ok(queries.at),
    }
    let (size, from) = (held.ticket.options.pty_size, queries.unanswered);
    let Some(size) = size else { return Ok(queries.at) };
    let answers = screen_at(directory, size, move |screen| screen.advance_answering(from)).await;
    let (screen, bytes) = answers.map_err(|refusal| refusal.detail)?;
    if !bytes.is_empty() {
        supervisor.type_into(&row, &bytes, None, false).await.map_err(|refusal| refusal.detail)?;
    }
    Ok(screen.offset())
}

/// Reads the offset up to which queries were answered, by this daemon or an earlier one.
fn answered(directory: &Path) -> Option<u64> {
    std::fs::read_to_string(directory.join("answered")).ok()?.trim().parse().ok()
}

fn save_answered(directory: &Path, to: u64) {
    // Without the file a later daemon may answer twice, which programs ignore as noise.
    let _ = std::fs::write(directory.join("answered"), format!("{to}\n"));
}
