//! The screen of a run's terminal, computed from its output.

use crate::refusal::Refusal;
use std::path::Path;
use tenure_core::spec::Size;
use tenure_output::screen::Screen;
use tenure_store::RunRow;

/// Returns the screen of a run as it is now.
pub async fn screen_of(row: &RunRow) -> Result<Screen, Refusal> {
    let size = row.ticket.options.pty_size.ok_or_else(|| {
        Refusal::wrong_state(format!(
            "run {} has no terminal: it was started without --pty",
            row.ticket.run_id
        ))
    })?;
    Ok(screen_at(Path::new(&row.directory), size, Screen::advance).await?.0)
}

/// Returns the screen of the run in this directory, after `follow` has brought it up to date.
pub(crate) async fn screen_at<T: Send + 'static>(
    directory: &Path,
    size: Size,
    follow: impl FnOnce(&mut Screen) -> Result<T, tenure_output::Error> + Send + 'static,
) -> Result<(Screen, T), Refusal> {
    let directory = directory.to_owned();
    let open = move || {
        let mut screen = Screen::open(&directory.join("output"), size, &directory.join("screen"))?;
        let came = follow(&mut screen)?;
        Ok::<_, tenure_output::Error>((screen, came))
    };
    // Reading a long log takes long.
    match tokio::task::spawn_blocking(open).await {
        Ok(Ok(opened)) => Ok(opened),
        Ok(Err(error)) => Err(Refusal::internal(error)),
        Err(error) => Err(Refusal::internal(error)),
    }
}
