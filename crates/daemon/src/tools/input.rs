//! `process write`, `send-keys`, `submit`, `paste`, `screen` and `resize`: a run's input and its terminal.

use super::process::FoundRun;
use tenure_core::spec::Size;
use tenure_core::tools::ProcessReply;
use tenure_core::wire::KeeperRequest;
use tenure_supervisor::Refusal;
use tenure_supervisor::screen_of;
use tenure_supervisor::stdin;

pub(super) async fn write(run: FoundRun, data: &str, eof: bool) -> Result<ProcessReply, Refusal> {
    write_stdin(&run, data.as_bytes(), eof).await
}

pub(super) async fn send_keys(
    run: FoundRun,
    literal: Option<&str>,
    hex: &[String],
    keys: &[String],
) -> Result<ProcessReply, Refusal> {
    let bytes = stdin::encode_input(&run.row, literal, hex, keys).await?;
    write_stdin(&run, &bytes, false).await
}

pub(super) async fn submit(run: FoundRun) -> Result<ProcessReply, Refusal> {
    write_stdin(&run, stdin::enter(&run.row), false).await
}

pub(super) async fn paste(
    run: FoundRun,
    text: &str,
    bracketed: Option<bool>,
) -> Result<ProcessReply, Refusal> {
    let bytes = stdin::paste(&run.row, text, bracketed).await?;
    write_stdin(&run, &bytes, false).await
}

/// Writes bytes to the run's stdin, and waits until the command has read them.
async fn write_stdin(found: &FoundRun, bytes: &[u8], eof: bool) -> Result<ProcessReply, Refusal> {
    let run = &found.row.ticket.run_id;
    if !found.row.ticket.options.stdin && found.row.ending.is_none() {
        return Err(Refusal::wrong_state(format!(
            "run {run} was started without a writable stdin: start it with exec"
        )));
    }
    found.daemon.supervisor.type_into(&found.row, bytes, None, eof).await?;
    let end = if eof { " and closed its stdin" } else { "" };
    Ok(ProcessReply {
        run: Some(found.daemon.listed(&found.row, 0).await),
        bytes_written: Some(bytes.len() as u64),
        message: format!("Wrote {} bytes to run {run}{end}.", bytes.len()),
        ..ProcessReply::default()
    })
}

pub(super) async fn screen(run: FoundRun) -> Result<ProcessReply, Refusal> {
    let view = screen_of(&run.row).await?.view();
    let message = format!("The cursor is in row {}, column {}.", view.cursor.row, view.cursor.col);
    let screen = serde_json::to_value(view).map_err(Refusal::internal)?;
    let run = Some(run.daemon.listed(&run.row, 0).await);
    Ok(ProcessReply { run, screen: Some(screen), message, ..ProcessReply::default() })
}

pub(super) async fn resize(run: FoundRun, size: Size) -> Result<ProcessReply, Refusal> {
    if run.row.ticket.options.pty_size.is_none() {
        return Err(Refusal::wrong_state("the run has no terminal: start it with pty"));
    }
    run.daemon.supervisor.ask(&run.row, &KeeperRequest::Resize(size), &[]).await?;
    let message = format!("The terminal has {} columns and {} rows.", size.cols, size.rows);
    Ok(ProcessReply { message, ..ProcessReply::default() })
}
