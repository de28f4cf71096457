//! Snapshots of the product's texts, for tests. An album is a folder of `.snap` files; one test owns it, so a file that no
//! case of the test names is found by the test itself. `just snapshots` accepts every text as it is now.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The ending of a snapshot's file name.
const SUFFIX: &str = ".snap";

/// The snapshots of one test.
#[derive(Debug)]
pub struct Album {
    folder: PathBuf,
    named: BTreeSet<String>,
    changed: Vec<String>,
    /// True if texts are accepted as they are.
    accepts: bool,
}

impl Album {
    /// Opens the album in this folder, whose path is absolute.
    pub fn open(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), named: BTreeSet::new(), changed: Vec::new(), accepts: accepts() }
    }

    /// Compares a text with the snapshot of this name. The other cases are compared as well: [`close`](Self::close) fails.
    pub fn check(&mut self, name: &str, text: &str) {
        assert!(self.named.insert(name.to_owned()), "two cases have the name {name:?}");
        let mut settings = insta::Settings::new();
        settings.set_snapshot_path(&self.folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let compare = || settings.bind(|| insta::assert_snapshot!(name.to_owned(), text));
        if catch_unwind(AssertUnwindSafe(compare)).is_err() {
            self.changed.push(name.to_owned());
        }
    }

    /// Fails if a text differs from its snapshot, or if a snapshot belongs to no case.
    pub fn close(self) {
        let stale: Vec<String> = names(&self.folder).difference(&self.named).cloned().collect();
        if self.accepts {
            for name in &stale {
                fs::remove_file(path(&self.folder, name)).expect("a stale snapshot can be removed");
            }
            return;
        }
        let folder = self.folder.display();
        assert!(
            self.changed.is_empty() && stale.is_empty(),
            "{folder}: changed: {:?}, of no case any more: {stale:?}. Is the new text right? `just snapshots` accepts it.",
            self.changed
        );
    }
}

/// Returns true if texts are accepted as they are.
fn accepts() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always")
}

/// Reads the text of a snapshot, without its head.
pub fn stored(folder: &Path, name: &str) -> String {
    let path = path(folder, name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // The head is between two lines of three dashes.
    let body = text.splitn(3, "---\n").nth(2).map(str::to_owned);
    body.unwrap_or_else(|| panic!("{} has no head", path.display()))
}

/// Returns the names of the snapshots in a folder.
pub fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_suffix(SUFFIX).map(str::to_owned);
    entries.filter_map(name).collect()
}

/// Fails unless the folders below this one are exactly these albums. A new one is made when its texts are accepted.
pub fn check_albums(above: &Path, albums: &[&str]) {
    let expected: BTreeSet<String> = albums.iter().map(|&name| name.to_owned()).collect();
    let found = folders(above);
    let found = if accepts() { &found | &expected } else { found };
    assert_eq!(found, expected, "the folders of {} are the albums of its tests", above.display());
}

fn folders(above: &Path) -> BTreeSet<String> {
    let folders = fs::read_dir(above).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    folders.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{SUFFIX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn album(folder: &Path, accepts: bool) -> Album {
        Album { accepts, ..Album::open(folder) }
    }

    /// A folder with one snapshot, as insta writes it.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(path(folder.path(), "one"), "---\nsource: x\n---\nfirst\n").unwrap();
        folder
    }

    fn fails(run: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(run)).is_err()
    }

    #[test]
    fn a_text_that_is_as_its_snapshot_passes() {
        let folder = folder();
        let mut album = album(folder.path(), false);
        album.check("one", "first");
        album.close();
        assert_eq!(stored(folder.path(), "one"), "first\n");
    }

    #[test]
    fn a_changed_text_fails_after_all_were_compared() {
        let folder = folder();
        let mut album = album(folder.path(), false);
        album.check("one", "second");
        album.check("two", "new");
        assert_eq!(album.changed, ["one", "two"]);
        assert!(fails(|| album.close()));
    }

    #[test]
    fn a_snapshot_of_no_case_is_found_and_removed_when_texts_are_accepted() {
        let folder = folder();
        assert!(fails(|| album(folder.path(), false).close()));
        album(folder.path(), true).close();
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_folder_of_no_test_is_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("help")).unwrap();
        check_albums(folder.path(), &["help"]);
        assert!(fails(|| check_albums(folder.path(), &[])));
        assert_eq!(fails(|| check_albums(folder.path(), &["help", "errors"])), !accepts());
    }
}
