//! Writes to a run's stdin: bytes, keys by name, and pasted text, encoded as its terminal would send them.

use crate::link::{Link, RESPONSE_TIMEOUT};
use crate::refusal::Refusal;
use crate::run_screen::screen_of;
use crate::runs::answer;
use crate::supervisor::Supervisor;
use std::fmt::Display;
use tenure_core::keys::{self, Modes};
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_store::RunRow;
use tokio::time::timeout;

/// Size of one message, well below the keeper's queue.
const CHUNK: usize = 64 << 10;

/// Returns the bytes that a run's terminal sends for these keys.
async fn keys(row: &RunRow, names: &[String]) -> Result<Vec<u8>, Refusal> {
    let pressed = names.iter().map(|key| keys::parse(key)).collect::<Result<Vec<_>, _>>();
    let pressed = pressed.map_err(Refusal::invalid)?;
    if pressed.is_empty() {
        return Ok(Vec::new());
    }
    if row.ticket.options.pty_size.is_none() {
        // Enter would be a carriage return, and Ctrl-C a byte that interrupts nobody.
        return Err(Refusal::wrong_state(format!(
            "run {} has no terminal for keys: use write for text, and submit to end a line",
            row.ticket.run_id
        )));
    }
    let asked = screen_of(row).await?.modes();
    let modes =
        Modes { application_cursor: asked.application_cursor, application_keypad: asked.application_keypad };
    Ok(pressed.iter().flat_map(|key| keys::encode(key, modes)).collect())
}

/// Returns the bytes of this input: the text unchanged, then the bytes, then the keys.
pub async fn encode_input(
    row: &RunRow,
    literal: Option<&str>,
    hexes: &[String],
    names: &[String],
) -> Result<Vec<u8>, Refusal> {
    let mut bytes = literal.unwrap_or_default().as_bytes().to_vec();
    bytes.extend(hex(hexes)?);
    bytes.extend(keys(row, names).await?);
    if bytes.is_empty() {
        return Err(Refusal::invalid(
            "nothing to send: give keys like [\"C-c\"], literal text, or hex bytes",
        ));
    }
    Ok(bytes)
}

/// Decodes these hexadecimal texts.
fn hex(texts: &[String]) -> Result<Vec<u8>, Refusal> {
    let parts = texts.iter().map(|text| keys::hex(text)).collect::<Result<Vec<_>, _>>();
    Ok(parts.map_err(Refusal::invalid)?.concat())
}

/// Returns the bytes of pasted text. It is marked as pasted if the caller or the program wants that.
pub async fn paste(row: &RunRow, text: &str, bracketed: Option<bool>) -> Result<Vec<u8>, Refusal> {
    if row.ticket.options.pty_size.is_none() {
        return match bracketed {
            Some(true) => Err(Refusal::wrong_state(format!(
                "run {} has no terminal, so text cannot be marked as pasted",
                row.ticket.run_id
            ))),
            Some(false) | None => Ok(text.as_bytes().to_vec()),
        };
    }
    let bracketed = match bracketed {
        Some(bracketed) => bracketed,
        None => screen_of(row).await?.modes().bracketed_paste,
    };
    Ok(keys::paste(text, bracketed))
}

/// Returns the bytes that Enter sends.
pub fn enter(row: &RunRow) -> &'static [u8] {
    if row.ticket.options.pty_size.is_some() { b"\r" } else { b"\n" }
}

impl Supervisor {
    /// Writes to a run's stdin, and waits until the command has taken it.
    pub async fn type_into(
        &self,
        row: &RunRow,
        bytes: &[u8],
        offset: Option<u64>,
        eof: bool,
    ) -> Result<(), Refusal> {
        let mut link = self.viewer(row).await?;
        let mut bytes = bytes;
        if offset.is_none() {
            // Appends to the input of other clients.
            for (at, chunk) in bytes.chunks(CHUNK).enumerate() {
                let given = at * CHUNK + chunk.len();
                append(&mut link, chunk).await.map_err(|failed| failed.into_refusal(given, bytes.len()))?;
            }
            if !eof {
                return Ok(());
            }
            bytes = &[];
        }
        let mut at = match offset {
            Some(offset) => offset,
            None => match link.ask(&KeeperRequest::Status, &[]).await.map_err(Refusal::keeper_silent)? {
                KeeperMessage::Status { stdin_offset, .. } => stdin_offset,
                other => return Err(Refusal::internal(crate::link::unexpected(&other))),
            },
        };
        let begin = at;
        let refusal = |given: u64| move |failed: Failed| failed.into_refusal(given, bytes.len() as u64);
        for chunk in bytes.chunks(CHUNK) {
            at = write_at(&mut link, at, chunk, false)
                .await
                .map_err(refusal(at - begin + chunk.len() as u64))?;
        }
        if eof {
            write_at(&mut link, at, &[], true).await.map_err(refusal(at - begin))?;
        }
        Ok(())
    }
}

/// Why the command did not take the input.
enum Failed {
    /// The command does not read it.
    TimedOut,
    Refused(Refusal),
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Failed {
    /// Makes the refusal, after `given` bytes were given to the run's stdin.
    fn into_refusal(self, given: impl Display, of: impl Display) -> Refusal {
        match self {
            Failed::Refused(refusal) => refusal,
            Failed::TimedOut => Refusal::wrong_state(format!(
                "the command does not read its stdin: {given} of {of} bytes are queued and must not be \
                 written again; write the rest when waitingForInput is true"
            )),
        }
    }
}

/// Appends to the input of other clients.
async fn append(link: &mut Link, bytes: &[u8]) -> Result<(), Failed> {
    let mut end = None;
    let mut response = link.ask(&KeeperRequest::Type, bytes).await;
    loop {
        match answer(response)? {
            KeeperMessage::Typed { to } => end = Some(to),
            KeeperMessage::KeysTaken { to } if end.is_some_and(|end| to >= end) => return Ok(()),
            KeeperMessage::Ended { .. } => return Err(Refusal::wrong_state("the run has ended").into()),
            _ => {}
        }
        response = next(link).await?;
    }
}

async fn next(link: &mut Link) -> Result<std::io::Result<KeeperMessage>, Failed> {
    match timeout(RESPONSE_TIMEOUT, link.next::<KeeperMessage>()).await {
        Ok(Ok(Some((message, _)))) => Ok(Ok(message)),
        Ok(Ok(None)) => Err(Refusal::wrong_state("the run has ended").into()),
        Ok(Err(error)) => Ok(Err(error)),
        Err(_) => Err(Failed::TimedOut),
    }
}

/// Writes a line at its offset; bytes that the keeper already has are not written again.
pub async fn write_line(link: &mut Link, offset: u64, bytes: &[u8]) -> Result<(), Refusal> {
    let mut at = offset;
    for chunk in bytes.chunks(CHUNK) {
        at = write_at(link, at, chunk, false)
            .await
            .map_err(|failed| failed.into_refusal(at - offset, bytes.len()))?;
    }
    Ok(())
}

async fn write_at(link: &mut Link, offset: u64, bytes: &[u8], eof: bool) -> Result<u64, Failed> {
    let end = offset
        .checked_add(bytes.len() as u64)
        .ok_or_else(|| Refusal::wrong_state("the offset is too large: write at a smaller offset"))?;
    let mut response = link.ask(&KeeperRequest::Stdin { offset, eof }, bytes).await;
    loop {
        match answer(response)? {
            KeeperMessage::StdinTaken { to } if to >= end => return Ok(end),
            KeeperMessage::Ended { .. } => return Err(Refusal::wrong_state("the run has ended").into()),
            _ => {}
        }
        response = next(link).await?;
    }
}
