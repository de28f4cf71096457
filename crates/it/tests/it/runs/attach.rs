//! Clients that attach to a run's terminal, together with others, and detach again.

use rustix::process::Signal;
use rustix::termios::{LocalModes, Termios};
use std::process::Stdio;
use tenure_core::wire::{KeeperMessage, KeeperRequest, Role};
use tenure_it::background_run::BackgroundRun;
use tenure_it::child_program::ChildProgram;
use tenure_it::install::Install;
use tenure_it::screen::{seen, wait_until_seen};
use tenure_it::shell::{BASH, bash, install};
use tenure_it::terminal::Terminal;
use tenure_it::{WAIT_LIMIT, eventually, proc};
use tenure_keeper::frames::Frames;
use tenure_keeper::rundir::RunDir;

const COLS: u16 = 90;
const ROWS: u16 = 25;
const DETACH: &str = "\x10\x11";

/// `tenure attach` in a terminal of its own.
fn attach(install: &Install, args: &[&str]) -> Terminal {
    Terminal::start(install.command(&[&["attach"], args].concat()), COLS, ROWS)
}

fn wait_until_raw(terminal: &Terminal) {
    eventually("the viewer's terminal is raw", || {
        let local = terminal.settings().local_modes;
        (!local.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)).then_some(())
    });
}

fn is_as_before(settings: &Termios) -> bool {
    settings.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
}

fn lives(install: &Install, id: &str) -> bool {
    install.show(id)["state"] == "running"
}

#[test]
fn an_attached_client_sees_the_screen_can_type_and_detaches_without_ending_the_run() {
    let install = install();
    let id = bash(&install);
    install.expect_ok(&["send-keys", &id, "--literal", "echo bef''ore", "Enter"]);
    install.wait_for_line(&id, "before");
    let mut terminal = attach(&install, &[&id]);
    terminal.wait_for("before");
    wait_until_raw(&terminal);
    terminal.keys("echo $COLUMNS x $LINES\r");
    terminal.wait_for("90 x 25");
    wait_until_seen(&install, &id, &terminal, COLS, ROWS);
    assert_eq!(terminal.screen().matches("before").count(), 1, "shown output is not printed again");
    terminal.keys("\x10x\x08");
    terminal.keys(DETACH);
    assert_eq!(terminal.code(), 0);
    terminal.wait_for("detached from run");
    assert!(is_as_before(&terminal.settings()) && lives(&install, &id));
    install.expect_ok(&["send-keys", &id, "C-u", "--literal", "exit 7", "Enter"]);
    assert_eq!(install.wait(&id), 7);
}

#[test]
fn two_attached_clients_both_type_and_see_the_same_output() {
    let install = install();
    let id = bash(&install);
    let mut one = attach(&install, &[&id]);
    let mut two = attach(&install, &["--detach-keys", "C-a d", &id]);
    for terminal in [&one, &two] {
        wait_until_raw(terminal);
    }
    for round in 0..5 {
        one.keys(&format!("echo fi''rst {round}\r"));
        two.wait_for(&format!("first {round}"));
        two.keys(&format!("echo sec''ond {round}\r"));
        one.wait_for(&format!("second {round}"));
    }
    // At once: no key of either is lost.
    one.keys(&"a".repeat(300));
    two.keys(&"b".repeat(300));
    install.wait_for_screen(&id, "every key", |screen| {
        let text = screen["lines"].to_string();
        let line = text.rsplit("prompt> ").next().expect("a prompt");
        let count = |key| line.matches(key).count();
        count('a') == 300 && count('b') == 300
    });
    for terminal in [&one, &two] {
        wait_until_seen(&install, &id, terminal, COLS, ROWS);
    }
    two.keys("\x01d");
    assert_eq!(two.code(), 0);
    one.keys("\x15exit 9\r");
    assert_eq!(one.code(), 9);
    one.wait_for("after");
    assert!(is_as_before(&one.settings()));
    assert_eq!(install.wait(&id), 9);
}

#[test]
fn the_screen_of_vim_is_repainted_and_then_cleared() {
    let install = install();
    std::fs::write(install.dir().join("notes"), "first\nsecond\n").expect("write");
    let id = bash(&install);
    install.expect_ok(&["send-keys", &id, "--literal", "vim -N -u NONE -i NONE -n notes", "Enter"]);
    install.wait_for_line(&id, "second");
    let mut terminal = attach(&install, &[&id]);
    wait_until_raw(&terminal);
    wait_until_seen(&install, &id, &terminal, COLS, ROWS);
    let eyes = seen(&terminal, COLS, ROWS);
    assert!(eyes.screen().alternate_screen() && eyes.screen().application_cursor());
    terminal.keys(DETACH);
    assert_eq!(terminal.code(), 0);
    terminal.wait_for("detached");
    let eyes = seen(&terminal, COLS, ROWS);
    assert!(!eyes.screen().alternate_screen() && !eyes.screen().application_cursor());
    assert!(!eyes.screen().bracketed_paste() && !eyes.screen().hide_cursor());
    // The next client can detach as well.
    let mut terminal = attach(&install, &[&id]);
    wait_until_raw(&terminal);
    terminal.keys(":q!\r");
    install.wait_for_screen(&id, "bash again", |screen| screen["alternateScreen"] == false);
    wait_until_seen(&install, &id, &terminal, COLS, ROWS);
    assert!(seen(&terminal, COLS, ROWS).screen().contents().contains("prompt> vim"));
    terminal.keys("exit\r");
    assert_eq!(terminal.code(), 0);
}

#[test]
fn the_size_follows_the_last_attached_terminal() {
    let install = install();
    let actor = install.actor();
    let id = install.start_in_background(&["--grace", "200ms", "--pty"], &[&actor, "winch"]);
    install.wait_for_output(&id, "size 120x30");
    let mut one = attach(&install, &[&id]);
    one.wait_for("size 90x25");
    one.resize(101, 41);
    one.wait_for("size 101x41");
    let mut two = attach(&install, &[&id]);
    two.wait_for("size 90x25");
    one.wait_for("size 90x25");
    install.expect_ok(&["resize", &id, "77x22"]);
    two.wait_for("size 77x22");
    assert_eq!((&install.screen(&id)["cols"], &install.screen(&id)["rows"]), (&77.into(), &22.into()));
    install.cancel(&id);
    assert_eq!((one.code(), two.code()), (123, 123));
}

#[test]
fn signals_detach() {
    let install = install();
    let id = bash(&install);
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut terminal = attach(&install, &[&id]);
        wait_until_raw(&terminal);
        proc::send(terminal.pid(), signal);
        assert_eq!(terminal.code(), 0, "{signal:?}");
        assert!(is_as_before(&terminal.settings()) && lives(&install, &id), "{signal:?}");
    }
    install.cancel(&id);
}

#[test]
fn the_end_of_the_run_is_shown_with_its_exit_code() {
    let install = install();
    let script = "echo ready; read x; printf '\\033[?1049h\\033[?2004hbye\\033]2;cut'; exit 5";
    let id = install.start_in_background(&["--pty"], &["sh", "-c", script]);
    install.wait_for_output(&id, "ready");
    let mut terminal = attach(&install, &[&id]);
    wait_until_raw(&terminal);
    terminal.keys("\r");
    assert_eq!(terminal.code(), 5);
    terminal.wait_for("bye");
    terminal.wait_for(": exit 5");
    let eyes = seen(&terminal, COLS, ROWS);
    let undone = !eyes.screen().alternate_screen() && !eyes.screen().bracketed_paste();
    assert!(undone, "modes that the program left set are reset");
    assert!(eyes.screen().contents().contains(": exit 5"), "{}", eyes.screen().contents());
    let output = install.tenure(&["attach", &id]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), err.lines().count()), (Some(1), 1), "{err}");
    assert!(err.contains("has ended"), "{err}");
}

#[test]
fn an_attached_client_and_the_foreground_caller_both_type() {
    let install = install();
    let command = install.command(&[&["run", "--pty", "--"], &BASH[..]].concat());
    let mut caller = Terminal::start(command, COLS, ROWS);
    caller.wait_for("prompt> ");
    let id = install.only_run();
    let mut viewer = attach(&install, &[&id]);
    for terminal in [&caller, &viewer] {
        wait_until_raw(terminal);
    }
    for round in 0..3 {
        viewer.keys(&format!("echo vie''wer {round}\r"));
        caller.wait_for(&format!("viewer {round}"));
        caller.keys(&format!("echo cal''ler {round}\r"));
        viewer.wait_for(&format!("caller {round}"));
    }
    viewer.keys(DETACH);
    assert_eq!(viewer.code(), 0);
    caller.keys("exit 3\r");
    assert_eq!(caller.code(), 3);
}

#[test]
fn a_read_only_client_types_nothing_and_can_detach() {
    let install = install();
    let id = bash(&install);
    for leave in [DETACH, "\x03"] {
        let mut terminal = attach(&install, &["--no-stdin", &id]);
        wait_until_raw(&terminal);
        terminal.keys("echo no''thing\r");
        install.expect_ok(&["send-keys", &id, "--literal", "echo so''me", "Enter"]);
        terminal.wait_for("some");
        terminal.keys(leave);
        assert_eq!(terminal.code(), 0);
        assert!(!install.lines(&id).iter().any(|line| line.contains("nothing")));
    }
    install.cancel(&id);
}

#[test]
fn attach_to_a_run_without_a_terminal_follows_and_writes() {
    let install = install();
    let id = install
        .start_in_background(&["--stdin", "open"], &["sh", "-c", "echo begun; head -n 1; echo done; exit 4"]);
    install.wait_for_output(&id, "begun");
    let mut terminal = attach(&install, &[&id]);
    terminal.wait_for("begun");
    terminal.keys("a line\r");
    terminal.wait_for("done");
    assert_eq!(terminal.code(), 4);
    assert_eq!(install.logs(&[&id]), b"begun\na line\ndone\n");
}

#[test]
fn attach_without_an_own_terminal_only_copies_bytes() {
    let install = install();
    let script = "stty -echo -ixon; echo ready; cat -v; exit 2";
    let id = install.start_in_background(&["--grace", "200ms", "--pty"], &["sh", "-c", script]);
    install.wait_for_line(&id, "ready");
    let mut command = install.command(&["attach", &id]);
    command.stdin(Stdio::piped());
    let mut copier = ChildProgram::new(command);
    copier.write(b"the keys \x10\x11 of a file\n");
    copier.wait_for("the keys ^P^Q of a file");
    // The end of its input is not the end of the run.
    copier.close_input();
    install.expect_ok(&["send-keys", &id, "--literal", "still there", "Enter", "C-d"]);
    assert_eq!(copier.code(), 2, "{}", copier.err());
    assert!(copier.out().contains("still there") && !copier.out().contains('\x1b'), "{:?}", copier.out());
}

#[test]
fn the_status_says_whether_a_client_is_attached() {
    let install = install();
    let id = bash(&install);
    let attached = |what: &str, wanted: bool| {
        let dir = RunDir::open(&install.state().join("runs").join(&id)).expect("the run");
        let mut keeper = Frames::new(dir.connect().expect("a keeper"));
        keeper.hello(Role::Viewer, WAIT_LIMIT).expect("welcome");
        eventually(what, || {
            keeper.send(&KeeperRequest::Status, &[]);
            let (tell, _) = keeper.receive::<KeeperMessage>(WAIT_LIMIT).expect("an answer");
            matches!(tell, KeeperMessage::Status { attached, .. } if attached == wanted).then_some(())
        });
    };
    attached("nobody yet", false);
    let mut looker = attach(&install, &["--no-stdin", &id]);
    wait_until_raw(&looker);
    install.expect_ok(&["send-keys", &id, "x"]);
    attached("one who looks on does not answer", false);
    let mut typist = attach(&install, &[&id]);
    attached("somebody types", true);
    wait_until_raw(&typist);
    typist.keys(DETACH);
    attached("nobody any more", false);
    looker.keys(DETACH);
    assert_eq!((typist.code(), looker.code()), (0, 0));
    install.cancel(&id);
}

#[test]
fn attach_reports_the_death_of_the_keeper() {
    let install = install();
    let run = BackgroundRun::start(&install, &["--pty", "--grace", "200ms"], &["tree"]);
    let id = run.dir.id().to_string();
    let mut terminal = attach(&install, &[&id]);
    wait_until_raw(&terminal);
    run.kill(&[&run.keeper]);
    assert_eq!(terminal.code(), 123);
    terminal.wait_for("the keeper of run");
    terminal.wait_for("is gone");
    assert!(is_as_before(&terminal.settings()));
    run.wait_end(&install);
}

#[test]
fn a_detached_client_gets_its_terminal_back_and_read_only_clients_change_no_size() {
    let install = install();
    let script = "printf '\\033[?1049h\\033[?1003h\\033[?2004h\\033[?25lready'; while :; do sleep 1; done";
    let id = install.start_in_background(&["--grace", "200ms", "--pty"], &["sh", "-c", script]);
    install.wait_for_line(&id, "ready");
    let size = |id: &str| {
        let screen = install.screen(id);
        (screen["cols"].clone(), screen["rows"].clone())
    };
    let before = size(&id);
    for args in [&["--no-stdin", &*id][..], &[&*id]] {
        let mut terminal = attach(&install, args);
        terminal.wait_for("ready");
        wait_until_raw(&terminal);
        terminal.resize(70, 20);
        terminal.keys(DETACH);
        assert_eq!(terminal.code(), 0);
        terminal.wait_for("detached");
        terminal.assert_put_back();
        if args.len() > 1 {
            assert_eq!(size(&id), before, "a read-only client changes nothing");
        }
    }
    assert_ne!(size(&id), before, "the size follows the typing client");
    install.cancel(&id);
}
