//! Programs that are found, and programs that change behind our back: on Unix, with its modes and links.

use super::*;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        Self { _dir: dir, root }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn file(&self, name: &str, content: &str, mode: u32) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn resolve(&self, word: &str, path: &str) -> Result<Executable, NotFound> {
        resolve(word, &self.root, OsStr::new(path))
    }
}

#[test]
fn a_bare_name_is_found_in_the_first_directory_that_has_it_as_a_program() {
    let place = Place::new();
    place.file("one/tool", "", 0o644);
    fs::create_dir_all(place.at("two/tool")).unwrap();
    let third = place.file("three/tool", "x", 0o755);
    place.file("four/tool", "x", 0o755);
    let path =
        ["nowhere", "one", "two", "three", "four"].map(|name| place.at(name).display().to_string()).join(":");
    let found = place.resolve("tool", &path).unwrap();
    assert_eq!(found, Executable { called: third.clone(), real: third, through_path: true });
    assert!(matches!(place.resolve("other", &path), Err(NotFound::NotInPath { .. })));
}

#[test]
fn relative_and_empty_directories_of_the_path_do_not_count() {
    let place = Place::new();
    place.file("tool", "x", 0o755);
    place.file("bin/tool", "x", 0o755);
    // Neither paths relative to the workdir nor those relative to this process are searched.
    let depth = std::env::current_dir().unwrap().components().count();
    let from_here = format!("{}{}", "../".repeat(depth), place.root.strip_prefix("/").unwrap().display());
    assert!(Path::new(&from_here).join("tool").exists());
    for path in ["", ":", ".", "bin", "./bin:", ":bin:.", &from_here] {
        assert!(matches!(place.resolve("tool", path), Err(NotFound::NotInPath { .. })), "{path:?}");
    }
}

#[test]
fn a_word_with_a_slash_is_not_searched_for() {
    let place = Place::new();
    let tool = place.file("bin/tool", "x", 0o755);
    for word in ["bin/tool", "./bin/tool", "bin/../bin//tool", tool.to_str().unwrap()] {
        let found = place.resolve(word, "/usr/bin").unwrap();
        assert_eq!(
            found,
            Executable { called: tool.clone(), real: tool.clone(), through_path: false },
            "{word}"
        );
    }
    for word in ["bin/", "bin/tool/", "bin/tool/.", "bin/tool/..", "bin/none", "/", "..", "./", "bin/tool\0"]
    {
        assert!(place.resolve(word, "/usr/bin").is_err(), "{word}");
    }
    assert!(matches!(resolve("./x", Path::new("rel"), OsStr::new("")), Err(NotFound::RelativeCwd { .. })));
    assert!(matches!(place.resolve("", "/usr/bin"), Err(NotFound::NoName { .. })));
}

#[test]
fn a_link_keeps_its_name_and_its_directory_is_the_real_one() {
    let place = Place::new();
    let real = place.file("lib/multi", "x", 0o755);
    fs::create_dir(place.at("bin")).unwrap();
    symlink("../lib/multi", place.at("bin/tool")).unwrap();
    symlink("bin", place.at("alias")).unwrap();
    let wanted = Executable { called: place.at("bin/tool"), real, through_path: true };
    assert_eq!(place.resolve("tool", place.at("alias").to_str().unwrap()).unwrap(), wanted);
    symlink("nowhere", place.at("bin/dangling")).unwrap();
    assert!(matches!(place.resolve("bin/dangling", ""), Err(NotFound::Unreachable { .. })));
}

#[test]
fn an_untouched_program_passes_and_reads_back_from_json() {
    let place = Place::new();
    let tool = place.file("tool", "content", 0o755);
    let bound = Bound::of(&tool).unwrap();
    bound.check().unwrap();
    // sha256 of "content".
    let hash = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73";
    assert_eq!(bound.content, Content::Sha256(hash.to_owned()));
    let text = serde_json::to_string(&bound).unwrap();
    assert_eq!(serde_json::from_str::<Bound>(&text).unwrap(), bound);
}

fn differs(bound: &Bound) -> Vec<What> {
    match bound.check() {
        Err(Changed::Differs { what, .. }) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_write_in_place_is_noticed_even_with_its_time_set_back() {
    let place = Place::new();
    let tool = place.file("tool", "one", 0o755);
    let bound = Bound::of(&tool).unwrap();
    let modified = tool.metadata().unwrap().modified().unwrap();
    fs::write(&tool, "two").unwrap();
    fs::File::options().append(true).open(&tool).unwrap().set_modified(modified).unwrap();
    let what = differs(&bound);
    assert!(what.contains(&What::Content) && what.contains(&What::Changed), "{what:?}");
    assert!(!what.contains(&What::Modified) && !what.contains(&What::Size), "{what:?}");
    assert!(bound.check().unwrap_err().to_string().contains("content"));
}

#[test]
fn another_file_in_its_place_is_noticed() {
    let place = Place::new();
    let tool = place.file("tool", "one", 0o755);
    let bound = Bound::of(&tool).unwrap();
    fs::rename(place.file("new", "one", 0o755), &tool).unwrap();
    assert!(differs(&bound).contains(&What::File));
    fs::remove_file(&tool).unwrap();
    assert!(matches!(bound.check(), Err(Changed::Gone(Unbindable::Unreadable { .. }))));
}

#[test]
fn a_link_that_leads_elsewhere_is_noticed() {
    let place = Place::new();
    place.file("one", "x", 0o755);
    place.file("two", "x", 0o755);
    symlink("one", place.at("tool")).unwrap();
    let found = place.resolve("./tool", "").unwrap();
    let bound = Bound::of_executable(&found).unwrap();
    fs::remove_file(place.at("tool")).unwrap();
    symlink("two", place.at("tool")).unwrap();
    assert!(differs(&bound).contains(&What::Target));
}

#[test]
fn other_permissions_are_noticed() {
    let place = Place::new();
    let tool = place.file("tool", "x", 0o755);
    let bound = Bound::of(&tool).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o4755)).unwrap();
    assert!(differs(&bound).contains(&What::Mode));
}

#[test]
fn a_script_is_bound_with_its_interpreter() {
    let place = Place::new();
    let interpreter = place.file("interpreter", "x", 0o755);
    let script = place.file("script", &format!("#! {} -x\nbody", interpreter.display()), 0o755);
    let bound = Bound::of(&script).unwrap();
    assert_eq!(bound.interpreter.as_ref().unwrap().real, interpreter);
    bound.check().unwrap();
    place.file("interpreter", "longer", 0o755);
    let Err(Changed::Differs { path, what }) = bound.check() else { panic!() };
    assert_eq!(path, interpreter);
    assert!(what.contains(&What::Size));
    place.file("script", "no script", 0o755);
    assert!(differs(&bound).contains(&What::Interpreter));
}

#[test]
fn a_script_without_a_usable_interpreter_cannot_be_bound() {
    let place = Place::new();
    for line in ["#!", "#!\n", "#!  \nx", "#!sh\n", "#! ./sh"] {
        let script = place.file("script", line, 0o755);
        assert!(matches!(Bound::of(&script), Err(Unbindable::Interpreter { .. })), "{line:?}");
    }
    let script = place.file("script", &format!("#!{}\n", place.at("script").display()), 0o755);
    assert!(matches!(Bound::of(&script), Err(Unbindable::TooDeep { .. })));
    let script = place.file("script", "#!/nowhere\n", 0o755);
    assert!(matches!(Bound::of(&script), Err(Unbindable::Unreadable { .. })));
}

/// Not every system has a safe call for this.
#[expect(clippy::disallowed_methods, reason = "a test needs a pipe to look at")]
fn make_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").args(["-m", "755"]).arg(path).status();
    assert!(made.unwrap().success());
}

#[test]
fn what_is_no_file_cannot_be_bound() {
    let place = Place::new();
    assert!(matches!(Bound::of(&place.root), Err(Unbindable::Unreadable { .. })));
    let pipe = place.at("pipe");
    make_pipe(&pipe);
    assert!(matches!(Bound::of(&pipe), Err(Unbindable::Unreadable { .. })));
}

#[test]
fn a_writable_program_that_is_too_large_is_bound_without_its_hash() {
    let place = Place::new();
    let tool = place.file("tool", "", 0o755);
    fs::File::options().write(true).open(&tool).unwrap().set_len((64 << 20) + 1).unwrap();
    assert_eq!(Bound::of(&tool).unwrap().content, Content::TooLarge);
}

#[test]
fn a_program_that_only_the_system_can_change_is_not_hashed() {
    let path = Path::new("/usr/bin/env");
    let bound = Bound::of(path).unwrap();
    bound.check().unwrap();
    // Root can change every file, except where the disk is read-only.
    let root = rustix::process::geteuid().is_root();
    assert!(bound.content == Content::NotWritable || root, "{:?}", bound.content);
}

#[test]
fn a_program_that_may_be_executed_but_not_read_is_bound_if_it_cannot_be_changed() {
    let place = Place::new();
    let tool = place.file("tool", "x", 0o111);
    let bound = Bound::of(&tool);
    // The directory is writable, so the file must be hashed, which only root can do here.
    assert_eq!(bound.is_ok(), rustix::process::geteuid().is_root(), "{bound:?}");
}

#[test]
fn an_owner_without_the_permission_to_write_counts_as_a_writer() {
    let place = Place::new();
    let tool = place.file("dir/tool", "x", 0o555);
    fs::set_permissions(place.at("dir"), fs::Permissions::from_mode(0o555)).unwrap();
    let bound = Bound::of(&tool).unwrap();
    fs::set_permissions(place.at("dir"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(bound.content, Content::Sha256(_)), "{:?}", bound.content);
}
