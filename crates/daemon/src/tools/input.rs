//! What `process` gives a run's input, and what its terminal shows.

use super::process::Call;
use crate::refusal::Refusal;
use crate::screens::screen_of;
use crate::typing;
use tenure_core::spec::Size;
use tenure_core::tools::ProcessReply;
use tenure_core::wire::Ask;

pub(super) async fn write(call: Call) -> Result<ProcessReply, Refusal> {
    let eof = call.request.eof == Some(true);
    let bytes = match &call.request.data {
        Some(data) => data.clone().into_bytes(),
        None if eof => Vec::new(),
        None => return Err(Refusal::invalid("say what to write: data, or eof to end the input")),
    };
    give(&call, &bytes, eof).await
}

pub(super) async fn send_keys(call: Call) -> Result<ProcessReply, Refusal> {
    let request = &call.request;
    let bytes = typing::typed(&call.row, request.literal.as_deref(), &request.hex, &request.keys).await?;
    give(&call, &bytes, false).await
}

pub(super) async fn submit(call: Call) -> Result<ProcessReply, Refusal> {
    give(&call, typing::enter(&call.row), false).await
}

pub(super) async fn paste(call: Call) -> Result<ProcessReply, Refusal> {
    let Some(text) = &call.request.text else {
        return Err(Refusal::invalid("say what to paste: text"));
    };
    let bytes = typing::paste(&call.row, text, call.request.bracketed).await?;
    give(&call, &bytes, false).await
}

/// Gives bytes to the run's input, and waits until the command has taken them.
async fn give(call: &Call, bytes: &[u8], eof: bool) -> Result<ProcessReply, Refusal> {
    let run = &call.row.ticket.run_id;
    if !call.row.ticket.stdin && call.row.ending.is_none() {
        return Err(Refusal::wrong_state(format!(
            "run {run} was started without an input that can be written to: start it with exec"
        )));
    }
    call.daemon.type_into(&call.row, bytes, None, eof).await?;
    let end = if eof { ", and the input is at its end" } else { "" };
    Ok(ProcessReply {
        run: Some(call.daemon.listed(&call.row, 0).await),
        bytes_written: Some(bytes.len() as u64),
        message: format!("Run {run} was given {} bytes{end}.", bytes.len()),
        ..ProcessReply::default()
    })
}

pub(super) async fn screen(call: Call) -> Result<ProcessReply, Refusal> {
    let view = screen_of(&call.row).await?.view();
    let message = format!("The cursor is in row {}, column {}.", view.cursor.row, view.cursor.col);
    let screen = serde_json::to_value(view).map_err(Refusal::internal)?;
    let run = Some(call.daemon.listed(&call.row, 0).await);
    Ok(ProcessReply { run, screen: Some(screen), message, ..ProcessReply::default() })
}

pub(super) async fn resize(call: Call) -> Result<ProcessReply, Refusal> {
    let (Some(cols), Some(rows)) = (call.request.cols, call.request.rows) else {
        return Err(Refusal::invalid("say the size: cols and rows"));
    };
    let size = Size::new(cols, rows).map_err(Refusal::invalid)?;
    if call.row.ticket.pty_size.is_none() {
        return Err(Refusal::wrong_state("the run has no terminal: start it with pty"));
    }
    call.daemon.ask(&call.row, &Ask::Resize(size), &[]).await?;
    let message = format!("The terminal has {cols} columns and {rows} rows.");
    Ok(ProcessReply { message, ..ProcessReply::default() })
}
