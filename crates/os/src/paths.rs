//! Paths of files that are reached without following a link.

use crate::random;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

/// Splits a path into the part that exists, without links, and the rest, which must be plain names.
pub(crate) fn split_existing(path: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let parts: Vec<Component<'_>> = path.components().collect();
    for kept in (1..=parts.len()).rev() {
        let (exists, rest) = parts.split_at(kept);
        match exists.iter().collect::<PathBuf>().canonicalize() {
            Ok(exists) => {
                if rest.iter().any(|part| !matches!(part, Component::Normal(_))) {
                    return Err(io::ErrorKind::NotFound.into());
                }
                return Ok((exists, rest.iter().collect()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Returns the name of a draft beside a file.
pub(crate) fn draft_name(name: &OsStr) -> io::Result<OsString> {
    let random: [u8; 6] = random::bytes()?;
    let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut draft = OsString::from(".");
    // The longest names have no room for a suffix.
    draft.push(if name.len() > 200 { OsStr::new("file") } else { name });
    draft.push(format!(".{random}"));
    Ok(draft)
}
