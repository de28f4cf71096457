//! Builds the requests for an action. Keys in mixed order, and text longer than a request allows, need several requests.

use crate::args::{PasteArgs, ProcessAction, Word, WriteArgs};
use crate::failure::Failure;
use std::ffi::OsString;
use tenure_core::tools::{Action, ProcessRequest};

/// Maximum number of bytes written by one request.
const CHUNK: usize = 1 << 20;

/// Reads text that is not on the command line; returns `None` if there is none.
type Piped<'a> = &'a dyn Fn() -> Result<Option<String>, Failure>;

/// Builds the requests for an action, in order.
pub(super) fn build(action: &ProcessAction, piped: Piped<'_>) -> Result<Vec<ProcessRequest>, Failure> {
    let one = |action, id: &str| about(action, id);
    Ok(match action {
        ProcessAction::List(args) => {
            vec![ProcessRequest { limit: args.limit, ..ProcessRequest::new(Action::List) }]
        }
        ProcessAction::Poll(args) => vec![one(Action::Poll, &args.id)],
        ProcessAction::Log(args) => {
            vec![ProcessRequest {
                offset: args.offset,
                byte_offset: args.byte_offset,
                limit: args.limit,
                ..one(Action::Log, &args.id)
            }]
        }
        ProcessAction::Write(args) => write(args, piped)?,
        ProcessAction::SendKeys(args) => typed(&args.id, &args.words),
        ProcessAction::Submit(args) => vec![one(Action::Submit, &args.id)],
        ProcessAction::Paste(args) => vec![paste(args, piped)?],
        ProcessAction::Screen(args) => vec![one(Action::Screen, &args.id)],
        ProcessAction::Resize(args) => vec![ProcessRequest {
            cols: Some(args.size.cols),
            rows: Some(args.size.rows),
            ..one(Action::Resize, &args.id)
        }],
        ProcessAction::Kill(args) => vec![one(Action::Kill, &args.id)],
        ProcessAction::Clear(args) => vec![one(Action::Clear, &args.id)],
        ProcessAction::Remove(args) => vec![one(Action::Remove, &args.id)],
    })
}

fn about(action: Action, id: &str) -> ProcessRequest {
    ProcessRequest { run_id: Some(id.to_owned()), ..ProcessRequest::new(action) }
}

/// Error for bytes that are not text.
pub(super) fn no_text() -> Failure {
    Failure::refused("the input is not valid UTF-8: `tenure write` accepts any bytes")
}

fn text(given: Option<&OsString>, piped: Piped<'_>) -> Result<Option<String>, Failure> {
    match given {
        Some(given) => given.to_str().map(|text| Some(text.to_owned())).ok_or_else(no_text),
        None => piped(),
    }
}

fn write(args: &WriteArgs, piped: Piped<'_>) -> Result<Vec<ProcessRequest>, Failure> {
    let data = match text(args.data.as_ref(), piped)? {
        Some(data) => data,
        None if args.eof => String::new(),
        None => {
            return Err(Failure::usage("nothing to write: give the data or pipe it in; --eof closes stdin"));
        }
    };
    let writing =
        |data: &str| ProcessRequest { data: Some(data.to_owned()), ..about(Action::Write, &args.id) };
    let mut requests: Vec<ProcessRequest> = pieces(&data).into_iter().map(writing).collect();
    if let (true, Some(last)) = (args.eof, requests.last_mut()) {
        last.eof = Some(true);
    }
    Ok(requests)
}

/// Splits a text into pieces, at least one.
fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > CHUNK {
        let (piece, rest) = text.split_at(text.floor_char_boundary(CHUNK));
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

fn paste(args: &PasteArgs, piped: Piped<'_>) -> Result<ProcessRequest, Failure> {
    let Some(text) = text(args.text.as_ref(), piped)? else {
        return Err(Failure::usage("nothing to paste: give the text or pipe it in"));
    };
    let bracketed = (args.bracket || args.no_bracket).then_some(args.bracket);
    Ok(ProcessRequest { text: Some(text), bracketed, ..about(Action::Paste, &args.id) })
}

/// Requests that type these words. A request types its literal text first, then bytes, then keys; words in another order
/// continue in the next request.
fn typed(id: &str, words: &[Word]) -> Vec<ProcessRequest> {
    let mut requests = Vec::new();
    let mut last = about(Action::SendKeys, id);
    for word in words {
        let fits = match word {
            Word::Literal(_) => last.hex.is_empty() && last.keys.is_empty(),
            Word::Hex { .. } => last.keys.is_empty(),
            Word::Key { .. } => true,
        };
        if !fits {
            requests.push(std::mem::replace(&mut last, about(Action::SendKeys, id)));
        }
        match word {
            Word::Literal(text) => last.literal.get_or_insert_default().push_str(text),
            Word::Hex { digits, .. } => last.hex.push(digits.clone()),
            Word::Key { name, .. } => last.keys.push(name.clone()),
        }
    }
    requests.push(last);
    requests
}

#[cfg(test)]
mod tests;
