//! What `process` gives a run's input, and what its terminal shows.

use super::process::Call;
use tenure_core::spec::Size;
use tenure_core::tools::ProcessReply;
use tenure_core::wire::KeeperRequest;
use tenure_supervisor::Refusal;
use tenure_supervisor::screen_of;
use tenure_supervisor::stdin;

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
    let bytes = stdin::typed(&call.row, request.literal.as_deref(), &request.hex, &request.keys).await?;
    give(&call, &bytes, false).await
}

pub(super) async fn submit(call: Call) -> Result<ProcessReply, Refusal> {
    give(&call, stdin::enter(&call.row), false).await
}

pub(super) async fn paste(call: Call) -> Result<ProcessReply, Refusal> {
    let Some(text) = &call.request.text else {
        return Err(Refusal::invalid("say what to paste: text"));
    };
    let bytes = stdin::paste(&call.row, text, call.request.bracketed).await?;
    give(&call, &bytes, false).await
}

/// Gives bytes to the run's input, and waits until the command has taken them.
async fn give(call: &Call, bytes: &[u8], eof: bool) -> Result<ProcessReply, Refusal> {
    let run = &call.row.ticket.run_id;
    if !call.row.ticket.options.stdin && call.row.ending.is_none() {
        return Err(Refusal::wrong_state(format!(
            "run {run} was started without an input that can be written to: start it with exec"
        )));
    }
    call.daemon.supervisor.type_into(&call.row, bytes, None, eof).await?;
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
    if call.row.ticket.options.pty_size.is_none() {
        return Err(Refusal::wrong_state("the run has no terminal: start it with pty"));
    }
    call.daemon.supervisor.ask(&call.row, &KeeperRequest::Resize(size), &[]).await?;
    let message = format!("The terminal has {cols} columns and {rows} rows.");
    Ok(ProcessReply { message, ..ProcessReply::default() })
}
