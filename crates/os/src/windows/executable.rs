//! A program's file: its permissions, the users who could change it, and the facts that identify it.

use super::search::is_file;
use super::{check, length_of};
use crate::executable::Facts;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, DELETE, FILE_ADD_FILE, FILE_APPEND_DATA, FILE_ATTRIBUTE_DIRECTORY,
    FILE_BASIC_INFO, FILE_DELETE_CHILD, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
    FILE_READ_ATTRIBUTES, FILE_WRITE_DATA, FileBasicInfo, GetFileInformationByHandle,
    GetFileInformationByHandleEx, WRITE_DAC, WRITE_OWNER,
};

/// The time from the system's epoch, 1601, to 1970, in units of 100 ns.
const EPOCH: i64 = 116_444_736_000_000_000;

/// The endings of programs. Batch files are not among them: their interpreter reads the line by rules of its own.
const PROGRAMS: [&str; 2] = ["exe", "com"];

/// Returns the facts about the file behind all links.
pub fn facts(path: &Path) -> io::Result<Facts> {
    let looked = OpenOptions::new()
        .access_mode(FILE_READ_ATTRIBUTES)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)?;
    facts_of(&looked)
}

/// Returns the facts about an open file.
pub fn facts_of(file: &File) -> io::Result<Facts> {
    let mut its = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the place is ours.
    check(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut its) })?;
    let mut times = FILE_BASIC_INFO::default();
    // SAFETY: the handle is open, and the place is ours, of the length that is given.
    check(unsafe {
        GetFileInformationByHandleEx(
            file.as_raw_handle(),
            FileBasicInfo,
            (&raw mut times).cast(),
            length_of::<FILE_BASIC_INFO>(),
        )
    })?;
    let joined = |high: u32, low: u32| (u64::from(high) << 32) | u64::from(low);
    Ok(Facts {
        is_file: its.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY == 0,
        device: u64::from(its.dwVolumeSerialNumber),
        inode: joined(its.nFileIndexHigh, its.nFileIndexLow),
        size: joined(its.nFileSizeHigh, its.nFileSizeLow),
        modified_ns: nanoseconds(times.LastWriteTime),
        changed_ns: nanoseconds(times.ChangeTime),
        mode: its.dwFileAttributes,
    })
}

/// Converts to nanoseconds. A time that is centuries away wraps around, but times are only ever compared.
fn nanoseconds(units: i64) -> i64 {
    units.wrapping_sub(EPOCH).wrapping_mul(100)
}

/// Opens a file for reading. No link is followed.
pub fn open(real: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(real)
}

/// Returns true if this user may execute a file.
pub fn may_execute(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    PROGRAMS.iter().any(|its| its.eq_ignore_ascii_case(ending)) && is_file(path)
}

/// Returns true if this user can change a file, or replace it, or if that is unknown. An owner can give itself the
/// permission.
pub fn may_change(path: &Path) -> bool {
    let file = [FILE_WRITE_DATA, FILE_APPEND_DATA, DELETE, WRITE_DAC, WRITE_OWNER];
    let directory = [FILE_ADD_FILE, FILE_DELETE_CHILD, WRITE_DAC, WRITE_OWNER];
    may_any(path, &file) || path.parent().is_some_and(|above| may_any(above, &directory))
}

/// Returns true if the system would give this user one of these rights. The test is to open the file, which changes
/// nothing and takes owners, groups, privileges and everything else into account.
fn may_any(path: &Path, rights: &[u32]) -> bool {
    let may = |right: u32| {
        let opened = OpenOptions::new()
            .access_mode(right)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
            .open(path);
        !opened.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    };
    rights.iter().any(|&right| may(right))
}

/// Returns the file names that a program of this name may have: the name itself if it has an ending, then with each
/// possible ending.
pub fn spellings(name: &str) -> Vec<String> {
    let exact = Path::new(name).extension().map(|_| name.to_owned());
    exact.into_iter().chain(PROGRAMS.iter().map(|ending| format!("{name}.{ending}"))).collect()
}

/// Returns true if a word is a path, not a bare name.
pub fn has_place(word: &str) -> bool {
    word.contains(['/', '\\', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_from_another_and_from_itself_later() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two] = ["one.exe", "two.exe"].map(|name| dir.path().join(name));
        std::fs::write(&one, "x").unwrap();
        std::fs::write(&two, "x").unwrap();
        let before = facts(&one).unwrap();
        assert!(before.is_file && before.size == 1 && before.modified_ns > 0, "{before:?}");
        assert_ne!(before.inode, facts(&two).unwrap().inode);
        assert!(!facts(dir.path()).unwrap().is_file);
        std::fs::write(&one, "longer").unwrap();
        assert_ne!(facts(&one).unwrap(), before);
        assert_eq!(facts_of(&open(&one).unwrap()).unwrap(), facts(&one).unwrap());
    }

    #[test]
    fn a_program_is_told_by_its_ending() {
        let dir = tempfile::tempdir().unwrap();
        for (name, is) in [("a.exe", true), ("b.COM", true), ("c.txt", false), ("d.bat", false), ("e", false)]
        {
            std::fs::write(dir.path().join(name), "").unwrap();
            assert_eq!(may_execute(&dir.path().join(name)), is, "{name}");
        }
        assert!(!may_execute(&dir.path().join("none.exe")));
        assert_eq!(spellings("git"), ["git.exe", "git.com"]);
        assert_eq!(spellings("git.exe")[0], "git.exe");
    }

    #[test]
    fn what_this_user_has_made_it_can_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exe");
        std::fs::write(&path, "x").unwrap();
        assert!(may_change(&path));
    }
}
