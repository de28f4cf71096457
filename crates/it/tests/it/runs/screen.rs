//! Screens of real programs, and keys and text that reach them, without an attached client.

use std::process::Stdio;
use tenure_core::spec::Size;
use tenure_it::child_program::ChildProgram;
use tenure_it::install::Install;
use tenure_it::screen::lines_of;
use tenure_it::shell::{bash, install};
use tenure_keeper::rundir::RunDir;
use tenure_output::screen::{Scanner, Screen};

fn library(install: &Install, id: &str) -> Screen {
    let dir = RunDir::open(&install.state().join("runs").join(id)).expect("the run");
    Screen::open(&dir.output(), Size { cols: 120, rows: 30 }, &dir.screen()).expect("a screen")
}

#[test]
fn keys_reach_bash_and_its_screen_can_be_read() {
    let install = install();
    let id = bash(&install);
    install.expect_ok(&["send-keys", &id, "--literal", "echo on''e", "Enter"]);
    install.wait_for_line(&id, "one");
    // History, with the cursor keys that bash asks for.
    install.expect_ok(&["send-keys", &id, "--literal", "echo tw''o", "Enter", "Up", "Up", "Enter"]);
    let screen = install.wait_for_screen(&id, "one again", |screen| {
        lines_of(screen).iter().filter(|line| *line == "one").count() == 2 && screen["cursor"]["col"] == 8
    });
    assert_eq!(lines_of(&screen)[6], "prompt>", "{screen:#}");
    assert_eq!(screen["cursor"], serde_json::json!({"row": 6, "col": 8, "visible": true}));
    assert_eq!((&screen["cols"], &screen["rows"]), (&120.into(), &30.into()));
    install.expect_ok(&["send-keys", &id, "C-d"]);
    assert_eq!(install.wait(&id), 0);
}

#[test]
fn cursor_keys_follow_the_programs_cursor_mode() {
    let install = install();
    for (mode, sent) in [("", "^[[A"), ("\\033[?1h", "^[OA"), ("\\033[?1h\\033[?1l", "^[[A")] {
        let script = format!("stty -echo; printf '{mode}ready\\n'; cat -v");
        let id = install.start_in_background(&["--grace", "200ms", "--pty"], &["sh", "-c", &script]);
        install.wait_for_line(&id, "ready");
        install.expect_ok(&["send-keys", &id, "Up", "--hex", "4142", "C-Up", "Enter"]);
        install.wait_for_line(&id, &format!("{sent}AB^[[1;5A"));
        install.cancel(&id);
    }
}

#[test]
fn vim_moves_by_cursor_keys_and_leaves_the_screen_as_it_was() {
    let install = install();
    let file = install.dir().join("notes");
    std::fs::write(&file, "first\nsecond\nthird\n").expect("write");
    let id = bash(&install);
    install.expect_ok(&["send-keys", &id, "--literal", "vim -N -u NONE -i NONE -n notes", "Enter"]);
    let screen = install.wait_for_screen(&id, "vim", |screen| screen["alternateScreen"] == true);
    assert_eq!(screen["alternateScreen"], true);
    install.wait_for_line(&id, "second");
    install.expect_ok(&["send-keys", &id, "Down", "Down", "Right"]);
    install.wait_for_screen(&id, "the cursor in line 3", |screen| {
        screen["cursor"]["row"] == 2 && screen["cursor"]["col"] == 1
    });
    assert!({
        let mut screen = library(&install, &id);
        screen.advance().expect("it has a reader");
        screen.modes().application_cursor
    });
    install.expect_ok(&["send-keys", &id, "--literal", ":q!", "Enter"]);
    let screen = install.wait_for_screen(&id, "bash again", |screen| screen["alternateScreen"] == false);
    assert_eq!(lines_of(&screen)[0], "prompt> vim -N -u NONE -i NONE -n notes");
    install.cancel(&id);
}

#[test]
fn text_pasted_into_bash_waits_for_enter() {
    let install = install();
    let id = bash(&install);
    install.expect_ok(&["paste", &id, "echo fir''st\necho sec''ond"]);
    install.wait_for_screen(&id, "both lines", |screen| lines_of(screen)[1].starts_with("echo sec''ond"));
    assert!(!install.lines(&id).contains(&"first".to_owned()), "nothing was executed");
    install.expect_ok(&["submit", &id]);
    install.wait_for_line(&id, "second");
    install.wait_for_line(&id, "first");
    // Without brackets it is typing: the first line is executed at once.
    let mut command = install.command(&["paste", "--no-bracket", &id]);
    command.stdin(Stdio::piped());
    let mut paste = ChildProgram::new(command);
    paste.write(b"echo thi''rd\necho four");
    paste.close_input();
    assert_eq!(paste.code(), 0, "{}", paste.err());
    install.wait_for_line(&id, "third");
    install.cancel(&id);
}

#[test]
fn text_pasted_into_vim_is_not_indented_twice() {
    let install = install();
    let file = install.dir().join("notes");
    let id = install.start_in_background(
        &["--grace", "200ms", "--pty"],
        &[
            "vim",
            "-N",
            "-u",
            "NONE",
            "-i",
            "NONE",
            "-n",
            "--cmd",
            "set autoindent",
            file.to_str().expect("UTF-8"),
        ],
    );
    install.wait_for_screen(&id, "vim", |screen| lines_of(screen)[1] == "~");
    install.expect_ok(&["send-keys", &id, "i"]);
    install.expect_ok(&["paste", &id, "if x:\n    one\n    two\n"]);
    install.expect_ok(&["send-keys", &id, "Escape", "--literal", ":wq", "Enter"]);
    assert_eq!(install.wait(&id), 0);
    assert_eq!(std::fs::read_to_string(&file).expect("saved"), "if x:\n    one\n    two\n\n");
}

#[test]
fn python_runs_pasted_text_when_it_is_submitted() {
    let install = install();
    let id = install.start_in_background(&["--grace", "200ms", "--pty"], &["python3", "-q"]);
    install.wait_for_line(&id, ">>>");
    install.expect_ok(&["paste", &id, "print(6 * 7, 'pasted')"]);
    install.wait_for_line(&id, ">>> print(6 * 7, 'pasted')");
    install.expect_ok(&["submit", &id]);
    install.wait_for_line(&id, "42 pasted");
    install.expect_ok(&["send-keys", &id, "C-d"]);
    assert_eq!(install.wait(&id), 0);
}

#[test]
fn less_fills_the_screen_and_follows_its_size() {
    let install = install();
    let text: String = (1..=200).map(|n| format!("line {n}\n")).collect();
    std::fs::write(install.dir().join("text"), text).expect("write");
    let id = install.start_in_background(&["--grace", "200ms", "--pty"], &["less", "text"]);
    install.wait_for_line(&id, "line 29");
    assert_eq!(install.screen(&id)["alternateScreen"], true);
    install.expect_ok(&["resize", &id, "60x10"]);
    install.wait_for_screen(&id, "ten rows", |screen| {
        screen["rows"] == 10 && screen["cols"] == 60 && lines_of(screen)[8] == "line 9"
    });
    install.expect_ok(&["send-keys", &id, "G"]);
    install.wait_for_line(&id, "line 200");
    install.expect_ok(&["send-keys", &id, "q"]);
    assert_eq!(install.wait(&id), 0);
    assert_eq!(install.screen(&id)["rows"], 10, "the size of an ended run is known, too");
}

#[test]
fn an_ended_run_shows_its_last_screen() {
    let install = install();
    let id =
        install.start_in_background(&["--pty"], &["sh", "-c", "printf 'left\\n\\033[1mbold  \\n'; exit 3"]);
    assert_eq!(install.wait(&id), 3);
    let output = install.tenure(&["screen", &id]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "left\nbold\n");
    let output = install.tenure(&["send-keys", &id, "Enter"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_run_without_a_terminal_has_no_screen_but_takes_text() {
    let install = install();
    let id = install.start_in_background(&["--stdin", "open"], &["head", "-n", "2"]);
    for args in [&["screen", &id][..], &["send-keys", &id, "Up"]] {
        let output = install.tenure(args);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), err.lines().count()), (Some(1), 1), "{err}");
        assert!(err.contains("has no terminal"), "{err}");
    }
    install.expect_ok(&["paste", &id, "one\ntwo"]);
    install.expect_ok(&["submit", &id]);
    assert_eq!(install.wait(&id), 0);
    assert_eq!(install.logs(&[&id]), b"one\ntwo\n");
}

#[test]
fn unknown_keys_are_refused() {
    let install = install();
    let id = install.start_in_background(&["--grace", "200ms", "--pty"], &["cat"]);
    for args in [&["hello"][..], &["C-é"], &["--hex", "123"], &["--hex", "xy"], &["--nothing"]] {
        let output = install.tenure(&[&["send-keys", &id], args].concat());
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), err.lines().count()), (Some(2), 1), "{args:?}: {err}");
    }
    install.expect_ok(&["send-keys", &id, "-", "--literal", "--text", "Enter"]);
    install.wait_for_line(&id, "---text");
    install.cancel(&id);
}

#[test]
fn a_program_that_queries_its_terminal_gets_an_answer() {
    let install = install();
    let script =
        "stty -echo -icanon; printf 'ab\\033[6n'; dd bs=1 count=6 2>/dev/null | od -c | head -n 1; echo done";
    let id = install.start_in_background(&["--grace", "200ms", "--pty"], &["sh", "-c", script]);
    install.wait_for_line(&id, "ab");
    let mut scanner = Scanner::default();
    assert!(scanner.sees_query(&install.logs(&[&id])), "the scanner reports that a screen is needed");
    let mut screen = library(&install, &id);
    let answer = screen.advance_answering(0).expect("it has a reader");
    assert_eq!(answer, b"\x1b[1;3R");
    assert_eq!(screen.advance_answering(0).expect("it has a reader"), b"", "once");
    let hex: String = answer.iter().map(|byte| format!("{byte:02x}")).collect();
    install.expect_ok(&["send-keys", &id, "--hex", &hex]);
    install.wait_for_line(&id, "done");
    let shown = install.lines(&id).join("\n");
    assert!(shown.contains("033   [   1   ;   3   R"), "{shown}");
    assert_eq!(install.wait(&id), 0);
}

#[test]
fn a_long_output_is_replayed_once() {
    let install = install();
    let actor = install.actor();
    let id = install.start_in_background(&["--pty"], &[&actor, "fill", "10000000"]);
    assert_eq!(install.wait(&id), 0);
    let first = install.lines(&id);
    let mut screen = library(&install, &id);
    screen.advance().expect("it has a reader");
    assert!(screen.offset() > 10_000_000 && screen.replayed() < 3 << 20, "{}", screen.replayed());
    assert_eq!(install.lines(&id), first);
}
