//! The daemon's own log: a file in the state root, rotated by size.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tenure_os::file::privately;
use tenure_settings::Log;
use tracing_subscriber::EnvFilter;

/// Starts logging to a file, or to standard error if the daemon runs in the foreground.
pub fn init(path: Option<&Path>, limits: Log) {
    let filter = EnvFilter::try_from_env("TENURE_LOG").unwrap_or_else(|_| EnvFilter::new("info,rmcp=error"));
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_target(false).with_ansi(false);
    // A second call, as in a test, changes nothing.
    let _ = match path {
        Some(path) => subscriber.with_writer(Mutex::new(RotatedFile::new(path, limits))).try_init(),
        None => subscriber.with_writer(io::stderr).try_init(),
    };
}

/// Logs the reason why the daemon cannot serve.
pub fn cannot_serve(error: &crate::CannotServe) {
    tracing::error!(%error, "cannot serve");
}

/// A log file of bounded length.
struct RotatedFile {
    path: PathBuf,
    limits: Log,
    file: Option<fs::File>,
    written: u64,
}

impl RotatedFile {
    fn new(path: &Path, limits: Log) -> Self {
        let written = fs::metadata(path).map_or(0, |meta| meta.len());
        Self { path: path.to_owned(), limits, file: None, written }
    }
}

impl Write for RotatedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.written > self.limits.bytes {
            self.file = None;
            self.written = 0;
            rotate(&self.path, 0, self.limits.files);
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => privately(OpenOptions::new().append(true).create(true)).open(&self.path)?,
        };
        let file = self.file.insert(file);
        let n = file.write(bytes)?;
        self.written += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), fs::File::flush)
    }
}

/// Renames a log that is longer than `most` bytes to `.1`, `.1` to `.2`, and so on, and deletes the oldest. Processes that
/// have it open continue to write to the renamed file.
pub(crate) fn rotate(path: &Path, most: u64, files: u64) {
    if fs::metadata(path).map_or(0, |meta| meta.len()) <= most {
        return;
    }
    let _ = match make_room(path, files) {
        Some(aside) => fs::rename(path, aside),
        None => fs::remove_file(path),
    };
}

/// Rotates a log that other processes keep open: copies it to `.1` and truncates it. Lines that they write between copy
/// and truncation are lost.
pub(crate) fn rotate_shared(path: &Path, most: u64, files: u64) {
    if fs::metadata(path).map_or(0, |meta| meta.len()) <= most {
        return;
    }
    // If the disk has no space for the copy, the log must be truncated all the more.
    let _ = make_room(path, files).map(|aside| fs::copy(path, aside));
    let _ = OpenOptions::new().write(true).truncate(true).open(path);
}

/// Renames the older logs and returns the path for the next one, if any old log is kept.
fn make_room(path: &Path, files: u64) -> Option<PathBuf> {
    let aside = |n: u64| PathBuf::from(format!("{}.{n}", path.display()));
    let kept = files.checked_sub(1).filter(|&kept| kept > 0)?;
    for n in (1..kept).rev() {
        let _ = fs::rename(aside(n), aside(n + 1));
    }
    Some(aside(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_is_rotated_and_the_oldest_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        let mut log = RotatedFile::new(&path, Log { bytes: 10, files: 3 });
        for n in 0..5 {
            log.write_all(format!("{n}: more than ten bytes\n").as_bytes()).unwrap();
        }
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert!(read("daemon.log").starts_with('4'));
        assert!(read("daemon.log.1").starts_with('3'));
        assert!(read("daemon.log.2").starts_with('2'));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_shared_log_is_truncated_in_place_and_its_writers_continue() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nursery.log");
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        let mut theirs = OpenOptions::new().append(true).create(true).open(&path).unwrap();
        for n in 0..4 {
            theirs.write_all(format!("{n}: more than ten bytes\n").as_bytes()).unwrap();
            rotate_shared(&path, 10, 3);
        }
        theirs.write_all(b"short\n").unwrap();
        rotate_shared(&path, 10, 3);
        assert_eq!(read("nursery.log"), "short\n");
        assert_eq!(read("nursery.log.1"), "3: more than ten bytes\n");
        assert_eq!(read("nursery.log.2"), "2: more than ten bytes\n");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
        rotate_shared(&path, 0, 1);
        assert_eq!(read("nursery.log"), "", "nothing is kept of it");
    }
}
