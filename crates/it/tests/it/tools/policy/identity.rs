//! The approved program is the one that runs: a changed one is not executed.

use super::fixture::{PolicyFixture, write_program};
use serde_json::json;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tenure_it::eventually;

/// A way to change a program, and a word of the resulting refusal.
type Change = (&'static str, fn(&PolicyFixture), &'static str);

fn evil(fixture: &PolicyFixture) -> String {
    fixture.script("evil")
}

/// The changes of `bin/tool`, which is a link to `bin/real`, a script that `bin/shell` executes.
const CHANGES: [Change; 8] = [
    (
        "another file was put in its place",
        |fixture| write_program(&fixture.bin().join("real"), &evil(fixture)),
        "inode",
    ),
    (
        "it was written to",
        |fixture| fs::write(fixture.bin().join("real"), evil(fixture)).expect("write"),
        "content",
    ),
    (
        "it was written to with as many bytes, and its times were set back",
        |fixture| {
            let path = fixture.bin().join("real");
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
        |fixture| {
            write_program(&fixture.bin().join("elsewhere"), &evil(fixture));
            fs::remove_file(fixture.bin().join("tool")).expect("unlink");
            symlink("elsewhere", fixture.bin().join("tool")).expect("link");
        },
        "behind its links",
    ),
    (
        "its link is a file now",
        |fixture| {
            fs::remove_file(fixture.bin().join("tool")).expect("unlink");
            write_program(&fixture.bin().join("tool"), &evil(fixture));
        },
        "behind its links",
    ),
    (
        "what executes it is another program",
        |fixture| write_program(&fixture.bin().join("shell"), &evil(fixture)),
        "shell",
    ),
    (
        "it may be executed by others",
        |fixture| {
            let set = fs::set_permissions(fixture.bin().join("real"), PermissionsExt::from_mode(0o4755));
            set.expect("chmod");
        },
        "mode",
    ),
    (
        "it is gone",
        |fixture| fs::remove_file(fixture.bin().join("real")).expect("unlink"),
        "cannot be checked again",
    ),
];

/// Makes the program that is changed later.
fn prepare(fixture: &PolicyFixture) {
    fs::copy("/bin/sh", fixture.bin().join("shell")).expect("copy");
    let script =
        fixture.script("good").replace("/bin/sh", fixture.bin().join("shell").to_str().expect("UTF-8"));
    write_program(&fixture.bin().join("real"), &script);
    symlink("real", fixture.bin().join("tool")).expect("link");
}

#[test]
fn a_program_changed_before_its_approval_is_refused_and_the_change_is_named() {
    for (change, make, word) in CHANGES {
        let fixture = PolicyFixture::asking();
        prepare(&fixture);
        let id = fixture.asks("tool a");
        make(&fixture);
        for answer in ["allow-once", "allow-always"] {
            let why = fixture.answer(&id, answer).refused(403, "denied");
            assert!(why.contains(word) && why.contains("again"), "{change}: {why}");
        }
        assert!(fixture.notes().is_empty(), "{change}: {:?}", fixture.notes());
        let listed = fixture.api.get("/v1/allowlist").is(200).json();
        assert_eq!(listed["entries"], json!([]), "{change}: a program that did not run has an always entry");
        let _ = fixture.answer(&id, "deny").is(200);
        if change != "it is gone" {
            let again = fixture.asks("tool a");
            let _ = fixture.answer(&again, "allow-once").is(200);
            fixture.output(&again);
            assert_eq!(fixture.notes().len(), 1, "{change}: the new question is about the current program");
        }
    }
}

#[test]
fn an_always_entry_holds_for_the_program_file_and_not_its_path() {
    let fixture = PolicyFixture::asking();
    prepare(&fixture);
    let id = fixture.asks("tool a");
    let _ = fixture.answer(&id, "allow-always").is(200);
    fixture.output(&id);
    fixture.runs("tool a");
    // The same program, installed again.
    let script = fs::read_to_string(fixture.bin().join("real")).expect("read");
    write_program(&fixture.bin().join("real"), &script);
    fixture.runs("tool a");
    assert_eq!(fixture.notes(), ["good: a"; 3]);
    for changed in ["real", "shell"] {
        let before = fs::read(fixture.bin().join(changed)).expect("read");
        write_program(&fixture.bin().join(changed), &evil(&fixture));
        let id = fixture.asks("tool a");
        let why = fixture.questions()[0]["why"].to_string();
        assert!(why.contains("has changed"), "{changed}: {why}");
        let _ = fixture.answer(&id, "deny").is(200);
        fs::remove_file(fixture.bin().join(changed)).expect("unlink");
        fs::write(fixture.bin().join(changed), before).expect("write");
        fs::set_permissions(fixture.bin().join(changed), PermissionsExt::from_mode(0o755)).expect("chmod");
        fixture.runs("tool a");
    }
    assert_eq!(fixture.notes(), ["good: a"; 5]);
}

#[test]
fn a_listed_program_changed_while_it_queued_is_not_executed() {
    for (change, make, word) in CHANGES {
        let fixture = PolicyFixture::with(&[("TENURE_EXEC_MODE", "allowlist"), ("TENURE_RUNS_MAX", "1")]);
        prepare(&fixture);
        fixture.allow("tool", None);
        let first = fixture.api.start(&json!({"command": ["sleep", "1000"]}));
        let mut waiting = fixture.api.connect();
        let request = json!({"command": "tool a", "workdir": fixture.work()}).to_string();
        waiting.request("POST", "/v1/exec", &[], request.as_bytes());
        eventually("it is queued", || {
            let metrics = fixture.api.get("/metrics").is(200).text();
            metrics
                .lines()
                .any(|line| line.starts_with("tenure_runs_queued") && line.ends_with(" 1"))
                .then_some(())
        });
        make(&fixture);
        let _ = fixture.api.post(&format!("/v1/runs/{first}/cancel"), &json!({"now": true})).is(202);
        let why = waiting.answer().refused(403, "denied");
        assert!(why.contains(word), "{change}: {why}");
        assert!(fixture.notes().is_empty(), "{change}: {:?}", fixture.notes());
    }
}

#[test]
fn a_program_inserted_earlier_in_the_path_is_not_executed() {
    let install = tenure_it::install::Install::new();
    let early = install.dir().join("early");
    fs::create_dir(&early).expect("mkdir");
    let path = format!("{}:{}:/usr/bin:/bin", early.display(), install.dir().join("bin").display());
    let fixture = PolicyFixture::on(install, &[("TENURE_EXEC_MODE", "ask"), ("PATH", &path)]);
    let tool = fixture.program("tool", "good");
    let id = fixture.asks("tool a; tool b");
    fixture.program_at(&early.join("tool"), "evil");
    assert_eq!(fixture.questions()[0]["programs"], json!([tool, tool]));
    let _ = fixture.answer(&id, "allow-always").is(200);
    fixture.output(&id);
    assert_eq!(fixture.notes(), ["good: a", "good: b"]);
    // The always entry was for the other program.
    let again = fixture.asks("tool a");
    assert_eq!(fixture.questions()[0]["programs"], json!([early.join("tool")]), "{again}");
}

/// A link in the path of the directory changes meanwhile.
#[test]
fn a_command_runs_in_the_directory_shown_and_is_allowed_in_no_other() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let (one, other, link) =
        (fixture.work().join("one"), fixture.work().join("other"), fixture.work().join("link"));
    fs::create_dir(&one).expect("mkdir");
    fs::create_dir(&other).expect("mkdir");
    symlink(&one, &link).expect("link");
    let request = json!({"command": "tool", "workdir": link});
    let id = fixture.asks_as(&request);
    assert_eq!(fixture.questions()[0]["cwd"], json!(one));
    fs::remove_file(&link).expect("unlink");
    symlink(&other, &link).expect("link");
    let _ = fixture.answer(&id, "allow-always").is(200);
    assert_eq!(fixture.output(&id).trim(), format!("tool in {}", one.display()));
    let _ = fixture.asks_as(&request);
    assert_eq!(
        fixture.exec_as(&json!({"command": "tool", "workdir": one})).is(200).json()["status"],
        "completed"
    );
    assert_eq!(fixture.notes().len(), 2);
}

/// A line that cannot be parsed goes to a shell unchanged; the approval binds the shell.
#[test]
fn an_unparsable_line_can_be_allowed_only_once_and_runs_as_shown() {
    let fixture = PolicyFixture::asking();
    fixture.program("tool", "tool");
    let id = fixture.asks("for i in a b; do tool $i; done");
    let question = &fixture.questions()[0];
    assert!(question["onceOnly"].is_string() && question["programs"] == json!([]), "{question}");
    let why = fixture.answer(&id, "allow-always").refused(422, "invalid");
    assert!(why.contains("only be allowed once"), "{why}");
    let _ = fixture.answer(&id, "allow-once").is(200);
    fixture.output(&id);
    assert_eq!(fixture.notes(), ["tool: a", "tool: b"]);
}

#[test]
fn a_program_launcher_can_be_allowed_only_once() {
    let fixture = PolicyFixture::asking();
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
            fixture.program("git", "git");
        }
        let id = fixture.asks(&line);
        let why = fixture.answer(&id, "allow-always").refused(422, "invalid");
        assert!(why.contains("only be allowed once") && why.contains("arguments"), "{line}: {why}");
        let _ = fixture.answer(&id, "deny").is(200);
    }
}
