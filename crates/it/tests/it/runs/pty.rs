//! Interactive programs, driven from a terminal of the test.

use rustix::termios::{LocalModes, Termios};
use tenure_it::install::Install;
use tenure_it::terminal::Terminal;
use tenure_it::{eventually, proc};

/// `tenure run` in a terminal of 90 columns and 25 rows.
fn at_terminal(install: &Install, args: &[&str]) -> Terminal {
    let mut command = install.command(&[&["run"], args].concat());
    command.env("TERM", "xterm").env("PS1", "prompt> ").env("PROMPT_COMMAND", "");
    Terminal::start(command, 90, 25)
}

fn modes(settings: &Termios) -> [u32; 4] {
    [
        settings.input_modes.bits(),
        settings.output_modes.bits(),
        settings.control_modes.bits(),
        settings.local_modes.bits(),
    ]
}

/// Waits until the caller's terminal passes every key on unchanged.
fn wait_until_raw(terminal: &Terminal) {
    eventually("the caller's terminal is raw", || {
        let local = terminal.settings().local_modes;
        (!local.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)).then_some(())
    });
}

#[test]
fn python_is_interactive_and_handles_ctrl_c_itself() {
    let install = Install::new();
    let mut terminal = at_terminal(&install, &["--pty", "--", "python3", "-q"]);
    terminal.wait_for(">>> ");
    terminal.keys("print(6 * 7)\r");
    terminal.wait_for("42");
    terminal.wait_for(">>> ");
    terminal.keys("import time; print('x' * 3); time.sleep(1000)\r");
    terminal.wait_for("xxx");
    terminal.keys("\x03");
    terminal.wait_for("KeyboardInterrupt");
    terminal.wait_for(">>> ");
    terminal.keys("import sys; sys.exit(3)\r");
    assert_eq!(terminal.code(), 3);
    assert_eq!(install.assert_ended_cleanly(&install.only_run())["reason"], "exit");
}

#[test]
fn bash_has_job_control() {
    let install = Install::new();
    let mut terminal = at_terminal(&install, &["--pty", "--", "bash", "--norc", "--noprofile", "-i"]);
    terminal.wait_for("prompt> ");
    let shell = install.root_pid(&install.only_run());
    terminal.keys("sleep 1000 &\r");
    terminal.wait_for("[1] ");
    terminal.keys("jobs\r");
    terminal.wait_for("Running");
    terminal.wait_for("prompt> ");
    terminal.keys("fg\r");
    terminal.wait_for("sleep 1000\r\n");
    proc::wait_in_background(shell);
    // The job reads no keys: the effect of Ctrl-Z shows that it is in the foreground.
    terminal.keys("\x1a");
    terminal.wait_for("Stopped");
    terminal.wait_for("prompt> ");
    terminal.keys("bg; fg\r");
    terminal.wait_for("sleep 1000\r\n");
    proc::wait_in_background(shell);
    terminal.keys("\x03");
    terminal.wait_for("prompt> ");
    terminal.keys("echo code $?\r");
    terminal.wait_for("code 130");
    terminal.keys("exit 5\r");
    assert_eq!(terminal.code(), 5);
    install.assert_ended_cleanly(&install.only_run());
}

#[test]
fn a_job_that_bash_leaves_behind_is_ended() {
    let install = Install::new();
    let mut terminal =
        at_terminal(&install, &["--grace", "200ms", "--pty", "--", "bash", "--norc", "--noprofile", "-i"]);
    terminal.wait_for("prompt> ");
    terminal.keys("nohup sleep 1000 >/dev/null 2>&1 & disown\r");
    terminal.wait_for("[1] ");
    terminal.keys("exit 0\r");
    assert_eq!(terminal.code(), 0);
    assert_eq!(install.assert_ended_cleanly(&install.only_run())["leftovers"], 1);
}

#[test]
fn vim_edits_and_saves_a_file() {
    let install = Install::new();
    let file = install.dir().join("notes");
    std::fs::write(&file, "first line\n").expect("write");
    let path = file.to_str().expect("UTF-8");
    let mut terminal = at_terminal(&install, &["--pty", "--", "vim", "-u", "NONE", "-i", "NONE", "-n", path]);
    terminal.wait_for("first line");
    terminal.keys("ohello from vim\x1b:wq\r");
    assert_eq!(terminal.code(), 0);
    assert_eq!(std::fs::read_to_string(&file).expect("saved"), "first line\nhello from vim\n");
    install.assert_ended_cleanly(&install.only_run());
}

#[test]
fn an_interactive_bash_that_is_cancelled_leaves_nothing() {
    let install = Install::new();
    let bash = ["--grace", "55s", "--pty", "--", "bash", "--norc", "--noprofile", "-i"];
    let mut terminal = at_terminal(&install, &bash);
    terminal.wait_for("prompt> ");
    let shell = install.root_pid(&install.only_run());
    terminal.keys("sleep 1000 & sleep 2000\r");
    eventually("both of them", || {
        let names: Vec<String> = proc::children(shell).into_iter().map(proc::name).collect();
        (names == ["sleep", "sleep"]).then_some(())
    });
    let before = std::time::Instant::now();
    install.ask_to_cancel(&[&install.only_run()]);
    assert_eq!(terminal.code(), 123);
    assert!(
        before.elapsed() < std::time::Duration::from_secs(45),
        "a shell exits when its terminal hangs up"
    );
    install.assert_ended_cleanly(&install.only_run());
}

#[test]
fn the_window_size_follows_the_callers_terminal() {
    let install = Install::new();
    let actor = install.actor();
    let mut terminal = at_terminal(&install, &["--grace", "200ms", "--pty", "--", &actor, "winch"]);
    terminal.wait_for("size 90x25");
    wait_until_raw(&terminal);
    terminal.resize(101, 41);
    terminal.wait_for("size 101x41");
    let output = install.tenure(&["resize", &install.only_run(), "77x22"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    terminal.wait_for("size 77x22");
    terminal.keys("\x03");
    assert_eq!(terminal.code(), 130, "the program itself was interrupted");
    let ending = install.assert_ended_cleanly(&install.only_run());
    assert_eq!((&ending["reason"], &ending["signal"]), (&"signal".into(), &2.into()));
}

#[test]
fn a_background_pty_can_be_resized_and_typed_to() {
    let install = Install::new();
    let actor = install.actor();
    let id = install.start_in_background(&["--grace", "200ms", "--pty"], &[&actor, "winch"]);
    install.wait_for_output(&id, "size 120x30");
    assert!(install.tenure(&["resize", &id, "99x33"]).status.success());
    install.wait_for_output(&id, "size 99x33");
    assert_eq!(install.show(&id)["ptySize"]["cols"], 99, "the current size");
    assert!(install.tenure(&["write", &id, "\x03"]).status.success());
    assert_eq!(install.wait(&id), 130);
    for size in ["0x10", "10", "x", "70000x10", "-1x5"] {
        assert_eq!(install.tenure(&["resize", &id, size]).status.code(), Some(2), "{size}");
    }
    assert_eq!(install.tenure(&["resize", &id, "80x24"]).status.code(), Some(1), "it has ended");
}

#[test]
fn a_run_without_terminal_refuses_a_size() {
    let install = Install::new();
    let id = install.start_in_background(&["--grace", "200ms"], &["sleep", "1000"]);
    let output = install.tenure(&["resize", &id, "80x24"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), err.lines().count()), (Some(1), 1), "{err}");
    install.ask_to_cancel(&[&id]);
    assert_eq!(install.wait(&id), 123);
}

#[test]
fn the_callers_terminal_is_raw_during_the_run_and_restored_afterwards() {
    for (end, code) in [("exit", 4), ("cancel", 123), ("now", 123), ("die", 137)] {
        let install = Install::new();
        let script = "echo ready; read x; [ $x = die ] && kill -9 $$; exit 4";
        // The settings of an untouched terminal: a new one has no others.
        let mut terminal = at_terminal(&install, &["--grace", "200ms", "--pty", "--", "sh", "-c", script]);
        let before = modes(&fresh_settings());
        terminal.wait_for("ready");
        wait_until_raw(&terminal);
        match end {
            "cancel" => install.ask_to_cancel(&[&install.only_run()]),
            "now" => install.ask_to_cancel(&["--now", &install.only_run()]),
            word => terminal.keys(&format!("{word}\r")),
        }
        assert_eq!(terminal.code(), code, "{end}");
        assert_eq!(modes(&terminal.settings()), before, "{end}");
    }
}

/// The settings of an untouched terminal.
#[expect(clippy::disallowed_methods, reason = "a program that leaves its terminal alone")]
fn fresh_settings() -> Termios {
    Terminal::start(std::process::Command::new("true"), 90, 25).settings()
}

#[test]
fn a_program_that_cannot_start_does_not_touch_the_callers_terminal() {
    let install = Install::new();
    let mut terminal = at_terminal(&install, &["--pty", "--", "no-such-program-anywhere"]);
    assert_eq!(terminal.code(), 127);
    assert_eq!(modes(&terminal.settings()), modes(&fresh_settings()));
}

#[test]
fn ctrl_c_on_pipes_cancels_and_the_second_one_kills() {
    let install = Install::new();
    let script = "trap 'echo asked' TERM; echo ready; while :; do sleep 0.05; done";
    let mut terminal = at_terminal(&install, &["--grace", "55s", "--", "sh", "-c", script]);
    terminal.wait_for("ready");
    terminal.keys("\x03");
    terminal.wait_for("asked");
    let before = std::time::Instant::now();
    terminal.keys("\x03");
    assert_eq!(terminal.code(), 123);
    assert!(
        before.elapsed() < std::time::Duration::from_secs(45),
        "the second one does not wait for the grace"
    );
    let ending = install.assert_ended_cleanly(&install.only_run());
    assert_eq!((&ending["reason"], &ending["signal"]), (&"manual-cancel".into(), &9.into()));
}

#[test]
fn ctrl_z_on_pipes_suspends_caller_and_command_and_both_continue() {
    let install = Install::new();
    let actor = install.actor();
    // No shell: one that is stopped between vfork and exec of its child waits in state D, not T.
    let mut terminal = at_terminal(&install, &["--grace", "200ms", "--", &actor, "tick", "20"]);
    terminal.wait_for("tick");
    let root = install.root_pid(&install.only_run());
    terminal.keys("\x1a");
    eventually("caller and command are stopped", || {
        (proc::is_stopped(terminal.pid()) && proc::is_stopped(root)).then_some(())
    });
    proc::send(terminal.pid(), rustix::process::Signal::CONT);
    eventually("caller and command go on", || {
        (!proc::is_stopped(terminal.pid()) && !proc::is_stopped(root)).then_some(())
    });
    terminal.wait_for("tick");
    terminal.keys("\x03");
    assert_eq!(terminal.code(), 123);
    install.assert_ended_cleanly(&install.only_run());
}

#[test]
fn a_hangup_of_the_callers_terminal_ends_the_run() {
    for pty in [&[][..], &["--pty"]] {
        let install = Install::new();
        let actor = install.actor();
        let mut terminal =
            at_terminal(&install, &[&["--grace", "200ms"], pty, &["--", &actor, "tree"]].concat());
        terminal.wait_for("ready tree");
        let id = install.only_run();
        proc::send(terminal.pid(), rustix::process::Signal::HUP);
        assert_eq!(terminal.code(), 123, "{pty:?}");
        install.assert_ended_cleanly(&id);
    }
}

#[test]
fn a_process_that_keeps_the_pty_open_in_another_session_is_an_escapee() {
    let install = Install::new();
    let actor = install.actor();
    let output = install.tenure(&["run", "--grace", "200ms", "--pty", "--", &actor, "hold-pty"]);
    assert_eq!(output.status.code(), Some(122), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        install.assert_ended_cleanly(&install.only_run())["escapees"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn pty_output_is_complete_to_the_last_byte() {
    let install = Install::new();
    let actor = install.actor();
    let output = install.tenure(&["run", "--quiet", "--pty", "--", &actor, "fill", "1000000"]);
    assert_eq!(output.status.code(), Some(0));
    // A terminal makes two bytes of a newline.
    let lines = output.stdout.split(|&byte| byte == b'\n').count() - 1;
    assert_eq!((output.stdout.len() - lines, lines), (1_000_000, 12_500));
}

#[test]
fn a_pty_that_cannot_be_opened_is_tenures_own_failure() {
    let install = Install::new();
    let actor = install.actor();
    without_ptys();
    let output = install.tenure(&["run", "--pty", "--", &actor, "exit", "0"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), err.lines().count()), (Some(125), 1), "{err}");
    install.assert_no_process_left();
}

/// Hides ptys from this thread and its children.
#[expect(unsafe_code, reason = "a mount namespace of the test's own")]
#[expect(clippy::disallowed_methods, reason = "the test mounts for itself")]
fn without_ptys() {
    // SAFETY: only this thread's view of the mounts changes, and nothing else relies on that.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0, "a mount namespace needs root");
    for args in [&["--make-rprivate", "/"][..], &["--bind", "/dev/null", "/dev/ptmx"]] {
        assert!(
            std::process::Command::new("mount").args(args).status().expect("mount").success(),
            "mount {args:?}"
        );
    }
}

/// Switches on the modes of full-screen programs, prints so and stays.
const FULL_SCREEN: &str = "trap '' TERM HUP; printf '\\033[?1049h\\033[?1000h\\033[?1006h\\033[?2004h\\033[?1h\\033=\\033[?25l\\033[7mready'; \
                           while :; do sleep 1; done";

/// Any command in a terminal of its own.
fn terminal_of(install: &Install, args: &[&str]) -> Terminal {
    Terminal::start(install.command(args), 90, 25)
}

#[test]
fn a_killed_program_leaves_the_callers_terminal_as_it_was() {
    for install in [Install::new(), Install::new().with_daemon()] {
        let flags = ["run", "--pty", "--grace", "200ms"];
        let at_limit = [&flags[..], &["--timeout", "1s", "--", "sh", "-c", FULL_SCREEN]].concat();
        let mut terminal = terminal_of(&install, &at_limit);
        terminal.wait_for("ended at its time limit");
        assert_eq!(terminal.code(), 124);
        terminal.assert_put_back();

        let killed = "printf '\\033[?1049h\\033[?1002h\\033[?25lready'; kill -9 $$";
        let mut terminal = terminal_of(&install, &[&flags[..], &["--", "sh", "-c", killed]].concat());
        terminal.wait_for("SIGKILL");
        assert_eq!(terminal.code(), 137);
        terminal.assert_put_back();
    }
}

#[test]
fn a_program_that_exits_by_itself_decides_the_terminals_state() {
    let install = Install::new();
    let mut terminal = terminal_of(&install, &["run", "--pty", "--", "printf", "\\033[?25lhidden"]);
    terminal.wait_for("exit 0");
    assert_eq!(terminal.code(), 0);
    assert!(!terminal.screen().contains("\x1b[?25h"), "{:?}", terminal.screen());
}

#[test]
fn logs_restores_the_terminal_even_if_interrupted() {
    let install = Install::new();
    let id = install.start_in_background(&["--pty", "--grace", "200ms"], &["sh", "-c", FULL_SCREEN]);
    install.wait_for_output(&id, "ready");
    for leave in ["\x03", "kill"] {
        let mut terminal = terminal_of(&install, &["logs", "-f", &id]);
        terminal.wait_for("ready");
        let code = if leave == "kill" {
            tenure_it::proc::send(terminal.pid(), rustix::process::Signal::TERM);
            128 + 15
        } else {
            terminal.keys(leave);
            128 + 2
        };
        assert_eq!(terminal.code(), code, "it ends by the signal");
        terminal.wait_for("\x1b[?25h");
        terminal.assert_put_back();
    }
    let mut terminal = terminal_of(&install, &["logs", &id]);
    terminal.wait_for("\x1b[?25h");
    assert_eq!(terminal.code(), 0);
    terminal.assert_put_back();
    install.cancel(&id);
}
