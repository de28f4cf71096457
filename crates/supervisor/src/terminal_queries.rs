//! What programs ask their terminal (where is the cursor, what are you) is answered here while nobody who watches and
//! types is attached: a person's own terminal answers for itself. Output is only scanned; the terminal is followed
//! when a question was seen. Questions that came while there was no daemon have waited.

use crate::follower::Follower;
use crate::run_handle::RunHandle;
use crate::screens::screen_at;
use crate::supervisor::Supervisor;
use std::path::Path;
use std::sync::Arc;
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_output::screen::Scanner;
use tenure_output::{Piece, Reader};

/// How much is read at a time.
const CHUNK: usize = 16 << 10;
/// How far back questions are looked for that came before this daemon.
const LOOK_BACK: u64 = 1 << 20;

/// Listens to a run's terminal until it is over.
pub(crate) async fn answer_queries(supervisor: Arc<Supervisor>, held: Arc<RunHandle>) {
    let directory = held.directory.clone();
    let output = directory.join("output");
    let end = tenure_output::totals(&output).map_or(0, |totals| totals.bytes);
    let begin = answered(&directory).unwrap_or(0).max(end.saturating_sub(LOOK_BACK));
    let mut listener = Listener {
        reader: Reader::new(&output),
        follower: Follower::new(Arc::clone(&held)),
        scanner: Scanner::default(),
        at: begin,
        unanswered: begin,
    };
    while !listener.follower.is_over() {
        if listener.hears_question() {
            listener.unanswered = match answer(&supervisor, &held, &directory, &listener).await {
                Ok(to) => to,
                Err(why) => {
                    tracing::debug!(run = %held.ticket.run_id, why, "a program's question was not answered");
                    listener.at
                }
            };
            note_answered(&directory, listener.unanswered);
        }
        listener.follower.grown_beyond(listener.at).await;
    }
}

struct Listener {
    reader: Reader,
    follower: Follower,
    scanner: Scanner,
    at: u64,
    /// The first byte of which no question was dealt with.
    unanswered: u64,
}

impl Listener {
    /// Reads what was added; whether a question was in it.
    fn hears_question(&mut self) -> bool {
        let mut buffer = [0; CHUNK];
        let mut heard = false;
        while let Ok(piece) = self.reader.read(self.at, &mut buffer) {
            self.at = piece.end();
            match piece {
                Piece::Bytes { len, .. } => heard |= self.scanner.sees_query(&buffer[..len]),
                Piece::Gap { .. } | Piece::Lost { .. } => self.scanner = Scanner::default(),
                Piece::End { .. } => break,
            }
        }
        heard
    }
}

/// Up to where questions are dealt with now: the terminal may have been followed further than the listener has heard.
async fn answer(
    supervisor: &Supervisor,
    held: &RunHandle,
    directory: &Path,
    listener: &Listener,
) -> Result<u64, String> {
    let row = supervisor.row(&held.ticket.run_id).await.map_err(|refusal| refusal.detail)?;
    match supervisor.ask(&row, &KeeperRequest::Status, &[]).await.map_err(|refusal| refusal.detail)? {
        KeeperMessage::Status { attached: false, .. } => {}
        _ => return Ok(listener.at),
    }
    let (size, from) = (held.ticket.options.pty_size, listener.unanswered);
    let Some(size) = size else { return Ok(listener.at) };
    let answers = screen_at(directory, size, move |screen| screen.advance_answering(from)).await;
    let (screen, bytes) = answers.map_err(|refusal| refusal.detail)?;
    if !bytes.is_empty() {
        supervisor.type_into(&row, &bytes, None, false).await.map_err(|refusal| refusal.detail)?;
    }
    Ok(screen.offset())
}

/// Up to where questions were dealt with, by this daemon or one before it.
fn answered(directory: &Path) -> Option<u64> {
    std::fs::read_to_string(directory.join("answered")).ok()?.trim().parse().ok()
}

fn note_answered(directory: &Path, to: u64) {
    // Without it a later daemon may answer twice, which programs take for noise.
    let _ = std::fs::write(directory.join("answered"), format!("{to}\n"));
}
