//! What is typed into a run: bytes, keys by name, and what is pasted, as its terminal would send them.

use crate::link::{Link, PATIENCE};
use crate::refusal::Refusal;
use crate::runs::answer;
use crate::screens::screen_of;
use crate::supervisor::Supervisor;
use std::fmt::Display;
use tenure_core::keys::{self, Modes};
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_store::RunRow;
use tokio::time::timeout;

/// What is sent at once: well below what a keeper lets wait.
const CHUNK: usize = 64 << 10;

/// The bytes that a run's terminal sends for these keys.
async fn keys(row: &RunRow, names: &[String]) -> Result<Vec<u8>, Refusal> {
    let pressed = names.iter().map(|key| keys::parse(key)).collect::<Result<Vec<_>, _>>();
    let pressed = pressed.map_err(Refusal::invalid)?;
    if pressed.is_empty() {
        return Ok(Vec::new());
    }
    if row.ticket.options.pty_size.is_none() {
        // Enter would be a carriage return, and Ctrl-C a byte that interrupts nobody.
        return Err(Refusal::wrong_state(format!(
            "run {} has no terminal that keys could be pressed at: write gives it text, submit ends a line",
            row.ticket.run_id
        )));
    }
    let asked = screen_of(row).await?.modes();
    let modes =
        Modes { application_cursor: asked.application_cursor, application_keypad: asked.application_keypad };
    Ok(pressed.iter().flat_map(|key| keys::encode(key, modes)).collect())
}

/// What is typed: text as it is, then bytes, then keys.
pub async fn typed(
    row: &RunRow,
    literal: Option<&str>,
    hexes: &[String],
    names: &[String],
) -> Result<Vec<u8>, Refusal> {
    let mut bytes = literal.unwrap_or_default().as_bytes().to_vec();
    bytes.extend(hex(hexes)?);
    bytes.extend(keys(row, names).await?);
    if bytes.is_empty() {
        return Err(Refusal::invalid("say what to send: keys as [\"C-c\"], literal text, or hex bytes"));
    }
    Ok(bytes)
}

/// The bytes of these hexadecimal texts.
fn hex(texts: &[String]) -> Result<Vec<u8>, Refusal> {
    let parts = texts.iter().map(|text| keys::hex(text)).collect::<Result<Vec<_>, _>>();
    Ok(parts.map_err(Refusal::invalid)?.concat())
}

/// What is typed when this is pasted; marked as pasted if that is wanted, or the program asked for it.
pub async fn paste(row: &RunRow, text: &str, bracketed: Option<bool>) -> Result<Vec<u8>, Refusal> {
    if row.ticket.options.pty_size.is_none() {
        return match bracketed {
            Some(true) => Err(Refusal::wrong_state(format!(
                "run {} has no terminal: what it is given there is not marked as pasted",
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

/// What Enter sends.
pub fn enter(row: &RunRow) -> &'static [u8] {
    if row.ticket.options.pty_size.is_some() { b"\r" } else { b"\n" }
}

impl Supervisor {
    /// Types into a run, and waits until the command has taken it.
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
            // After whatever others give it, not in its place.
            for (at, chunk) in bytes.chunks(CHUNK).enumerate() {
                let given = at * CHUNK + chunk.len();
                append(&mut link, chunk).await.map_err(|failed| failed.told(given, bytes.len()))?;
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
        let told = |given: u64| move |failed: Failed| failed.told(given, bytes.len() as u64);
        for chunk in bytes.chunks(CHUNK) {
            at = put(&mut link, at, chunk, false).await.map_err(told(at - begin + chunk.len() as u64))?;
        }
        if eof {
            put(&mut link, at, &[], true).await.map_err(told(at - begin))?;
        }
        Ok(())
    }
}

/// Why input was not taken.
enum Failed {
    /// It waits for a command that does not read.
    Unread,
    Refused(Refusal),
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Failed {
    /// The refusal, after so many bytes were given to the run's input.
    fn told(self, given: impl Display, of: impl Display) -> Refusal {
        match self {
            Failed::Refused(refusal) => refusal,
            Failed::Unread => Refusal::wrong_state(format!(
                "the command does not read its input: {given} of {of} bytes wait there for it and are not to be \
                 written again; write the rest when waitingForInput is true"
            )),
        }
    }
}

/// Types after whatever others typed.
async fn append(link: &mut Link, bytes: &[u8]) -> Result<(), Failed> {
    let mut end = None;
    let mut told = link.ask(&KeeperRequest::Type, bytes).await;
    loop {
        match answer(told)? {
            KeeperMessage::Typed { to } => end = Some(to),
            KeeperMessage::KeysTaken { to } if end.is_some_and(|end| to >= end) => return Ok(()),
            KeeperMessage::Ended { .. } => return Err(Refusal::wrong_state("the run has ended").into()),
            _ => {}
        }
        told = next(link).await?;
    }
}

async fn next(link: &mut Link) -> Result<std::io::Result<KeeperMessage>, Failed> {
    match timeout(PATIENCE, link.next::<KeeperMessage>()).await {
        Ok(Ok(Some((tell, _)))) => Ok(Ok(tell)),
        Ok(Ok(None)) => Err(Refusal::wrong_state("the run has ended").into()),
        Ok(Err(error)) => Ok(Err(error)),
        Err(_) => Err(Failed::Unread),
    }
}

/// Types a line at its place in the input; what is there already is not typed again.
pub async fn put_line(link: &mut Link, offset: u64, bytes: &[u8]) -> Result<(), Refusal> {
    let mut at = offset;
    for chunk in bytes.chunks(CHUNK) {
        at = put(link, at, chunk, false).await.map_err(|failed| failed.told(at - offset, bytes.len()))?;
    }
    Ok(())
}

async fn put(link: &mut Link, offset: u64, bytes: &[u8], eof: bool) -> Result<u64, Failed> {
    let end = offset
        .checked_add(bytes.len() as u64)
        .ok_or_else(|| Refusal::wrong_state("no input is that long: write at a smaller offset"))?;
    let mut told = link.ask(&KeeperRequest::Stdin { offset, eof }, bytes).await;
    loop {
        match answer(told)? {
            KeeperMessage::StdinTaken { to } if to >= end => return Ok(end),
            KeeperMessage::Ended { .. } => return Err(Refusal::wrong_state("the run has ended").into()),
            _ => {}
        }
        told = next(link).await?;
    }
}
