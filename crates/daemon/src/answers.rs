//! What programs ask their terminal (where is the cursor, what are you) is answered here while nobody who watches and
//! types is attached: a person's own terminal answers for itself. Output is only scanned; the terminal is followed
//! when a question was seen. Questions that came while there was no daemon have waited.

use crate::daemon::Daemon;
use crate::follower::Follower;
use crate::held::Held;
use crate::screens::screen_at;
use std::path::Path;
use std::sync::Arc;
use tenure_core::wire::{Ask, Tell};
use tenure_output::{Piece, Reader};
use tenure_screen::Scanner;

/// How much is read at a time.
const CHUNK: usize = 16 << 10;
/// How far back questions are looked for that came before this daemon.
const LOOK_BACK: u64 = 1 << 20;

/// Listens to a run's terminal until it is over.
pub(crate) async fn give(daemon: Arc<Daemon>, held: Arc<Held>) {
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
            listener.unanswered = match answer(&daemon, &held, &directory, &listener).await {
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
async fn answer(daemon: &Daemon, held: &Held, directory: &Path, listener: &Listener) -> Result<u64, String> {
    let row = daemon.row(&held.ticket.run_id).await.map_err(|refusal| refusal.detail)?;
    match daemon.ask(&row, &Ask::Status, &[]).await.map_err(|refusal| refusal.detail)? {
        Tell::Status { attached: false, .. } => {}
        _ => return Ok(listener.at),
    }
    let (size, from) = (held.ticket.pty_size, listener.unanswered);
    let Some(size) = size else { return Ok(listener.at) };
    let answers = screen_at(directory, size, move |screen| screen.advance_answering(from)).await;
    let (screen, bytes) = answers.map_err(|refusal| refusal.detail)?;
    if !bytes.is_empty() {
        daemon.type_into(&row, &bytes, None, false).await.map_err(|refusal| refusal.detail)?;
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
