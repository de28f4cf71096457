//! What runs is what was shown: a program that is another one by then is not executed.

use super::desk::{Desk, write_program};
use serde_json::json;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tenure_it::eventually;

/// A way to make another program of one, and a word of what is said of it then.
type Change = (&'static str, fn(&Desk), &'static str);

fn evil(desk: &Desk) -> String {
    desk.script("evil")
}

/// What can be done to `bin/tool`, which is a link to `bin/real`, a script that `bin/shell` executes.
const CHANGES: [Change; 8] = [
    (
        "another file was put in its place",
        |desk| write_program(&desk.bin().join("real"), &evil(desk)),
        "inode",
    ),
    ("it was written to", |desk| fs::write(desk.bin().join("real"), evil(desk)).expect("write"), "content"),
    (
        "it was written to with as many bytes, and its times were set back",
        |desk| {
            let path = desk.bin().join("real");
            let (times, text) =
                (fs::metadata(&path).expect("stat"), fs::read_to_string(&path).expect("read"));
            let other = text.replace("good", "evil");
            assert!(other.len() == text.len() && other != text);
            fs::write(&path, other).expect("write");
            let modified = times.modified().expect("a time");
            let file = File::options().write(true).open(&path).expect("open");
            file.set_times(FileTimes::new().set_modified(modified)).expect("set its times");
        },
        "content",
    ),
    (
        "its link leads elsewhere",
        |desk| {
            write_program(&desk.bin().join("elsewhere"), &evil(desk));
            fs::remove_file(desk.bin().join("tool")).expect("unlink");
            symlink("elsewhere", desk.bin().join("tool")).expect("link");
        },
        "behind its links",
    ),
    (
        "its link is a file now",
        |desk| {
            fs::remove_file(desk.bin().join("tool")).expect("unlink");
            write_program(&desk.bin().join("tool"), &evil(desk));
        },
        "behind its links",
    ),
    (
        "what executes it is another program",
        |desk| write_program(&desk.bin().join("shell"), &evil(desk)),
        "shell",
    ),
    (
        "it may be executed by others",
        |desk| {
            let set = fs::set_permissions(desk.bin().join("real"), PermissionsExt::from_mode(0o4755));
            set.expect("chmod");
        },
        "mode",
    ),
    ("it is gone", |desk| fs::remove_file(desk.bin().join("real")).expect("unlink"), "cannot be found"),
];

/// Makes the program that is changed later.
fn prepare(desk: &Desk) {
    fs::copy("/bin/sh", desk.bin().join("shell")).expect("copy");
    let script = desk.script("good").replace("/bin/sh", desk.bin().join("shell").to_str().expect("UTF-8"));
    write_program(&desk.bin().join("real"), &script);
    symlink("real", desk.bin().join("tool")).expect("link");
}

#[test]
fn a_program_that_changed_before_it_was_allowed_is_not_executed_and_it_is_said_what_changed() {
    for (change, make, word) in CHANGES {
        let desk = Desk::asking();
        prepare(&desk);
        let id = desk.asks("tool a");
        make(&desk);
        for answer in ["allow-once", "allow-always"] {
            let why = desk.answer(&id, answer).refused(403, "denied");
            assert!(why.contains(word) && why.contains("again"), "{change}: {why}");
        }
        assert!(desk.notes().is_empty(), "{change}: {:?}", desk.notes());
        let listed = desk.api.get("/v1/allowlist").is(200).json();
        assert_eq!(listed["entries"], json!([]), "{change}: what could not run is not allowed for always");
        let _ = desk.answer(&id, "deny").is(200);
        if change != "it is gone" {
            let again = desk.asks("tool a");
            let _ = desk.answer(&again, "allow-once").is(200);
            desk.output(&again);
            assert_eq!(desk.notes().len(), 1, "{change}: what is asked about again is what there is now");
        }
    }
}

#[test]
fn what_is_allowed_for_always_is_the_program_that_there_was_and_not_its_path() {
    let desk = Desk::asking();
    prepare(&desk);
    let id = desk.asks("tool a");
    let _ = desk.answer(&id, "allow-always").is(200);
    desk.output(&id);
    desk.runs("tool a");
    // The same program, installed again.
    let script = fs::read_to_string(desk.bin().join("real")).expect("read");
    write_program(&desk.bin().join("real"), &script);
    desk.runs("tool a");
    assert_eq!(desk.notes(), ["good: a"; 3]);
    for changed in ["real", "shell"] {
        let before = fs::read(desk.bin().join(changed)).expect("read");
        write_program(&desk.bin().join(changed), &evil(&desk));
        let id = desk.asks("tool a");
        let why = desk.questions()[0]["why"].to_string();
        assert!(why.contains("has changed"), "{changed}: {why}");
        let _ = desk.answer(&id, "deny").is(200);
        fs::remove_file(desk.bin().join(changed)).expect("unlink");
        fs::write(desk.bin().join(changed), before).expect("write");
        fs::set_permissions(desk.bin().join(changed), PermissionsExt::from_mode(0o755)).expect("chmod");
        desk.runs("tool a");
    }
    assert_eq!(desk.notes(), ["good: a"; 5]);
}

#[test]
fn a_program_that_changed_while_its_listed_command_waited_for_a_place_is_not_executed() {
    for (change, make, word) in CHANGES {
        let desk = Desk::with(&[("TENURE_EXEC_MODE", "allowlist"), ("TENURE_RUNS_MAX", "1")]);
        prepare(&desk);
        desk.allow("tool", None);
        let first = desk.api.start(&json!({"command": ["sleep", "1000"]}));
        let mut waiting = desk.api.connect();
        let request = json!({"command": "tool a", "workdir": desk.work()}).to_string();
        waiting.request("POST", "/v1/exec", &[], request.as_bytes());
        eventually("that it waits for a place", || {
            let metrics = desk.api.get("/metrics").is(200).text();
            metrics
                .lines()
                .any(|line| line.starts_with("tenure_runs_queued") && line.ends_with(" 1"))
                .then_some(())
        });
        make(&desk);
        let _ = desk.api.post(&format!("/v1/runs/{first}/cancel"), &json!({"now": true})).is(202);
        let why = waiting.answer().refused(403, "denied");
        assert!(why.contains(word), "{change}: {why}");
        assert!(desk.notes().is_empty(), "{change}: {:?}", desk.notes());
    }
}

#[test]
fn a_program_that_was_put_before_it_in_the_path_is_not_executed() {
    let install = tenure_it::install::Install::new();
    let early = install.dir().join("early");
    fs::create_dir(&early).expect("mkdir");
    let path = format!("{}:{}:/usr/bin:/bin", early.display(), install.dir().join("bin").display());
    let desk = Desk::on(install, &[("TENURE_EXEC_MODE", "ask"), ("PATH", &path)]);
    let tool = desk.program("tool", "good");
    let id = desk.asks("tool a; tool b");
    desk.program_at(&early.join("tool"), "evil");
    assert_eq!(desk.questions()[0]["programs"], json!([tool, tool]));
    let _ = desk.answer(&id, "allow-always").is(200);
    desk.output(&id);
    assert_eq!(desk.notes(), ["good: a", "good: b"]);
    // What was allowed for always was the other program.
    let again = desk.asks("tool a");
    assert_eq!(desk.questions()[0]["programs"], json!([early.join("tool")]), "{again}");
}

/// A link in the way to the directory leads elsewhere by then.
#[test]
fn a_command_runs_in_the_directory_that_was_shown_and_is_allowed_in_no_other() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let (one, other, link) = (desk.work().join("one"), desk.work().join("other"), desk.work().join("link"));
    fs::create_dir(&one).expect("mkdir");
    fs::create_dir(&other).expect("mkdir");
    symlink(&one, &link).expect("link");
    let request = json!({"command": "tool", "workdir": link});
    let id = desk.asks_as(&request);
    assert_eq!(desk.questions()[0]["cwd"], json!(one));
    fs::remove_file(&link).expect("unlink");
    symlink(&other, &link).expect("link");
    let _ = desk.answer(&id, "allow-always").is(200);
    assert_eq!(desk.output(&id).trim(), format!("tool in {}", one.display()));
    let _ = desk.asks_as(&request);
    assert_eq!(
        desk.exec_as(&json!({"command": "tool", "workdir": one})).is(200).json()["status"],
        "completed"
    );
    assert_eq!(desk.notes().len(), 2);
}

/// A line that cannot be taken apart goes to a shell as it is; the shell is what was bound.
#[test]
fn a_line_that_is_not_understood_is_allowed_once_only_and_runs_as_it_was_shown() {
    let desk = Desk::asking();
    desk.program("tool", "tool");
    let id = desk.asks("for i in a b; do tool $i; done");
    let question = &desk.questions()[0];
    assert!(question["onceOnly"].is_string() && question["programs"] == json!([]), "{question}");
    let why = desk.answer(&id, "allow-always").refused(422, "invalid");
    assert!(why.contains("this time only"), "{why}");
    let _ = desk.answer(&id, "allow-once").is(200);
    desk.output(&id);
    assert_eq!(desk.notes(), ["tool: a", "tool: b"]);
}

#[test]
fn what_runs_others_is_allowed_once_only() {
    let desk = Desk::asking();
    for line in [
        "env tool",
        "sh -c tool",
        "perl -e 1",
        "xargs tool",
        "git -c core.pager=x log",
        "find . -exec tool ;",
        "sed -n 1p x",
        "awk 1",
        "nice tool",
    ] {
        let line = line.replace(" ;", " ';'");
        if line.starts_with("git") && !Path::new("/usr/bin/git").exists() {
            desk.program("git", "git");
        }
        let id = desk.asks(&line);
        let why = desk.answer(&id, "allow-always").refused(422, "invalid");
        assert!(why.contains("this time only") && why.contains("arguments"), "{line}: {why}");
        let _ = desk.answer(&id, "deny").is(200);
    }
}
