//! Reads and writes files for an agent: regular ones below its session's directory, even through links.

use super::host::AdapterHost;
use super::requests::refused;
use std::io;
use std::path::Path;
use tenure_acp::details::file_diff;
use tenure_acp::host::Answer;
use tenure_acp::message::raw;
use tenure_acp::schema::{
    Error, ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest, WriteTextFileResponse,
};
use tenure_core::api::FileDiff;
use tenure_os::beneath::Beneath;
use tokio::task::spawn_blocking;

/// Maximum size of a file.
const MAX_FILE: u64 = 32 << 20;

impl AdapterHost {
    pub(crate) async fn read_file(&self, wanted: ReadTextFileRequest) -> Answer {
        let root = self.bounds.root.clone();
        let reading = spawn_blocking(move || {
            let bytes = beneath(&root, &wanted.path)?
                .read(MAX_FILE)
                .map_err(|error| error_of(&wanted.path, &error))?;
            let text = String::from_utf8(bytes)
                .map_err(|_| refused(format!("{} is not a UTF-8 text", wanted.path.display())))?;
            Ok::<_, Error>(lines(text, wanted.line, wanted.limit))
        });
        let text = reading.await.map_err(|error| refused(error.to_string()))??;
        Ok(raw(&ReadTextFileResponse::new(text)))
    }

    /// Returns the diff of a write.
    pub(crate) async fn change_of(&self, wanted: &WriteTextFileRequest) -> FileDiff {
        let old = self.text_of(&wanted.path).await;
        let (path, new) = (wanted.path.display().to_string(), wanted.content.clone());
        let unread = FileDiff { path: path.clone(), diff: new.clone() };
        spawn_blocking(move || file_diff(path, &old, &new)).await.unwrap_or(unread)
    }

    /// Returns the text of a file before a write; empty if it cannot be read. The write reports errors.
    pub(crate) async fn text_of(&self, path: &Path) -> String {
        let (root, path) = (self.bounds.root.clone(), path.to_owned());
        let reading = spawn_blocking(move || beneath(&root, &path).ok()?.read(MAX_FILE).ok());
        let bytes = reading.await.ok().flatten().unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(crate) async fn write_file(&self, wanted: WriteTextFileRequest) -> Answer {
        let root = self.bounds.root.clone();
        let writing = spawn_blocking(move || {
            let file = beneath(&root, &wanted.path)?;
            file.write(wanted.content.as_bytes()).map_err(|error| error_of(&wanted.path, &error))
        });
        writing.await.map_err(|error| refused(error.to_string()))??;
        Ok(raw(&WriteTextFileResponse::new()))
    }
}

fn beneath(root: &Path, path: &Path) -> Result<Beneath, Error> {
    if !path.is_absolute() {
        return Err(Error::invalid_params().data(format!("{} is not absolute", path.display())));
    }
    Beneath::find(root, path).map_err(|error| error_of(path, &error))
}

fn error_of(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::resource_not_found(Some(path.display().to_string())),
        _ => refused(format!("{}: {error}", path.display())),
    }
}

/// From this line on, the first is 1, and at most so many.
fn lines(text: String, from: Option<u32>, most: Option<u32>) -> String {
    if from.is_none() && most.is_none() {
        return text;
    }
    let skip = from.unwrap_or(1).saturating_sub(1) as usize;
    let most = most.map_or(usize::MAX, |most| most as usize);
    text.split_inclusive('\n').skip(skip).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_file_is_counted_in_lines_from_the_first() {
        let text = || "a\nb\nc".to_owned();
        for (from, most, expected) in [
            (None, None, "a\nb\nc"),
            (Some(1), Some(1), "a\n"),
            (Some(2), None, "b\nc"),
            (Some(3), Some(9), "c"),
            (Some(4), None, ""),
            (Some(0), Some(0), ""),
        ] {
            assert_eq!(lines(text(), from, most), expected);
        }
    }
}
