//! Standard input: passed, copied, open for others, or at its end; and never a reason to hang.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::thread;
use tenure_it::child_program::ChildProgram;
use tenure_it::install::Install;
use tenure_it::proc;

/// `tenure` with a pipe as its standard input.
fn piped(install: &Install, args: &[&str]) -> ChildProgram {
    let mut command = install.command(args);
    command.stdin(Stdio::piped());
    ChildProgram::new(command)
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| u8::try_from((at * 31 + at / 257) % 256).expect("a byte")).collect()
}

/// Starts a thread that writes without end, until there is no reader.
fn write_without_end(run: &mut ChildProgram) -> thread::JoinHandle<()> {
    let mut input = run.take_input().expect("piped");
    thread::spawn(move || {
        let block = bytes(8192);
        while input.write_all(&block).is_ok() {}
    })
}

#[test]
fn five_mebibytes_go_through_cat_and_come_back() {
    let install = Install::new();
    let mut run = piped(&install, &["run", "--quiet", "--", "cat"]);
    let sent = bytes(5 << 20);
    run.write(&sent);
    run.close_input();
    assert_eq!(run.code(), 0);
    assert!(run.out_bytes() == sent, "{} bytes returned", run.out_bytes().len());
}

#[test]
fn the_callers_stdin_eof_reaches_the_command() {
    let install = Install::new();
    let actor = install.actor();
    let mut run = piped(&install, &["run", "--", &actor, "count-stdin"]);
    run.wait_for("ready count-stdin\n");
    run.write(b"12345");
    run.close_input();
    assert_eq!(run.code(), 0);
    assert!(run.out().contains("\n5 "), "{}", run.out());
}

#[test]
fn an_empty_input_ends_at_once() {
    let install = Install::new();
    let output = install.tenure(&["run", "--quiet", "--", "wc", "-c"]);
    assert_eq!(output.stdout, b"0\n");
}

#[test]
fn a_file_as_input_is_read_to_its_end() {
    let install = Install::new();
    let path = install.dir().join("input");
    std::fs::write(&path, bytes(300_000)).expect("write");
    let mut command = install.command(&["run", "--quiet", "--", "wc", "-c"]);
    command.stdin(std::fs::File::open(&path).expect("open"));
    let mut run = ChildProgram::new(command);
    assert_eq!((run.code(), run.out()), (0, "300000\n".to_owned()));
}

#[test]
fn a_closed_stdin_is_at_eof_even_if_the_caller_has_more() {
    let install = Install::new();
    let mut run = piped(&install, &["run", "--quiet", "--stdin", "closed", "--", "wc", "-c"]);
    assert_eq!((run.code(), run.out()), (0, "0\n".to_owned()));
}

#[test]
fn a_background_run_has_no_input_unless_it_is_open() {
    let install = Install::new();
    let id = install.start_in_background(&[], &["wc", "-c"]);
    assert_eq!((install.wait(&id), install.logs(&[&id])), (0, b"0\n".to_vec()));
}

#[test]
fn an_open_stdin_takes_writes_until_it_is_closed() {
    let install = Install::new();
    let id = install.start_in_background(&["--stdin", "open"], &["cat"]);
    assert!(install.tenure(&["write", &id, "one "]).status.success());
    install.wait_for_output(&id, "one ");
    assert!(install.tenure(&["write", &id, "two\n"]).status.success());
    let mut more = piped(&install, &["write", "--eof", &id]);
    let sent = bytes(1 << 20);
    more.write(&sent);
    more.close_input();
    assert_eq!(more.code(), 0);
    assert_eq!(install.wait(&id), 0);
    let logs = install.logs(&[&id]);
    assert!(logs == [b"one two\n", &sent[..]].concat(), "{} bytes", logs.len());
}

#[test]
fn an_open_stdin_in_the_foreground_is_not_the_callers() {
    let install = Install::new();
    let mut run =
        piped(&install, &["run", "--quiet", "--stdin", "open", "--", "sh", "-c", "echo ready; cat"]);
    run.wait_for("ready\n");
    run.write(b"from the caller\n");
    assert!(install.tenure(&["write", "--eof", &install.only_run(), "from elsewhere\n"]).status.success());
    assert_eq!((run.code(), run.out()), (0, "ready\nfrom elsewhere\n".to_owned()));
}

#[test]
fn a_command_that_never_reads_does_not_keep_ctrl_c_from_working() {
    let install = Install::new();
    let actor = install.actor();
    let mut run = piped(&install, &["run", "--grace", "200ms", "--", &actor, "never-read"]);
    let writer = write_without_end(&mut run);
    run.wait_for("ready never-read\n");
    proc::send(run.pid(), rustix::process::Signal::INT);
    assert_eq!(run.code(), 123);
    writer.join().expect("no reader is left");
    install.assert_ended_cleanly(&install.only_run());
}

#[test]
fn a_command_that_never_reads_still_prints_and_times_out() {
    let install = Install::new();
    let script = "echo early; sleep 0.2; echo late; sleep 100";
    let mut run = piped(&install, &["run", "--timeout", "5s", "--", "sh", "-c", script]);
    let writer = write_without_end(&mut run);
    run.wait_for("late\n");
    assert_eq!(run.code(), 124);
    writer.join().expect("no reader is left");
}

#[test]
fn a_command_that_has_read_enough_ends_the_run() {
    let install = Install::new();
    let mut run = piped(&install, &["run", "--quiet", "--", "head", "-c", "10"]);
    let writer = write_without_end(&mut run);
    assert_eq!((run.code(), run.out_bytes()), (0, bytes(10)));
    writer.join().expect("no reader is left");
}

#[test]
fn a_command_that_closes_its_input_goes_on() {
    let install = Install::new();
    let mut run = piped(
        &install,
        &["run", "--quiet", "--", "sh", "-c", "exec <&-; echo closed; sleep 0.3; echo more; exit 6"],
    );
    let writer = write_without_end(&mut run);
    assert_eq!((run.code(), run.out()), (6, "closed\nmore\n".to_owned()));
    writer.join().expect("no reader is left");
}

#[test]
fn a_write_after_the_command_closed_its_input_is_refused_and_harms_nobody() {
    let install = Install::new();
    let id =
        install.start_in_background(&["--stdin", "open"], &["sh", "-c", "exec <&-; echo closed; sleep 1000"]);
    install.wait_for_output(&id, "closed\n");
    for _ in 0..2 {
        let output = install.tenure(&["write", &id, "anybody?"]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), err.lines().count()), (Some(1), 1), "{err}");
    }
    assert_eq!(install.show(&id)["state"], "running");
    install.ask_to_cancel(&[&id]);
    assert_eq!(install.wait(&id), 123);
}

#[test]
fn a_write_to_an_ended_run_or_one_without_stdin_is_refused() {
    let install = Install::new();
    let id = install.start_in_background(&["--grace", "200ms"], &["sleep", "1000"]);
    assert_eq!(install.tenure(&["write", &id, "x"]).status.code(), Some(1));
    install.ask_to_cancel(&[&id]);
    assert_eq!(install.wait(&id), 123);
    assert_eq!(install.tenure(&["write", &id, "x"]).status.code(), Some(1));
    assert_eq!(install.tenure(&["write", "0000dead", "x"]).status.code(), Some(4));
}

#[test]
fn a_caller_without_any_stdio_runs_its_command() {
    let install = Install::new();
    let script =
        format!("$TENURE run -- sh -c 'cat; echo done > {}/done' <&- >&- 2>&-", install.dir().display());
    let output = install.shell(&script);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read(install.dir().join("done")).expect("written"), b"done\n");
}

/// A loop that reads lines, with a run in its body that reads none.
const LOOP: &str = "while read x; do $TENURE run -q -- true; echo $x; done";

#[test]
fn a_run_consumes_no_more_stdin_than_its_command_reads() {
    for install in [Install::new(), Install::new().with_daemon()] {
        std::fs::write(install.dir().join("list"), "1\n2\n3\n").expect("write");
        for script in [format!("{LOOP} < list"), format!("cat list | {LOOP}")] {
            let output = install.shell(&script);
            assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n2\n3\n", "{script}: {output:?}");
        }
        // The offset of a file is shared: the first line is gone, the command takes a character, the rest is there.
        let output = install.shell("(read first; $TENURE run -q -- head -c 1; cat) < list");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "2\n3\n", "{output:?}");
    }
}

#[test]
fn stdin_passes_through_nested_runs_and_from_a_slow_writer() {
    let install = Install::new().with_daemon();
    let nested = "$TENURE run -q -- $TENURE run -q -- $TENURE run -q --";
    let output = install.shell(&format!("(echo one; sleep 0.2; echo two) | {nested} cat"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\ntwo\n", "{output:?}");
}

#[test]
fn a_writer_learns_at_once_that_the_command_closed_stdin() {
    for install in [Install::new(), Install::new().with_daemon()] {
        // The writer's end is written while the command runs, which waits for that.
        let script = "(yes; echo written > gone) | $TENURE run -q -- \
                      sh -c 'exec <&-; until test -s gone; do sleep 0.05; done; echo heard'";
        let output = install.shell(script);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "heard\n", "{output:?}");
    }
}

#[test]
fn the_flags_of_a_passed_stdin_stay_unchanged() {
    let install = Install::new();
    let (far, near) = UnixStream::pair().expect("a pair");
    let copy = near.try_clone().expect("a copy");
    let mut command = install.command(&["run", "--quiet", "--", "head", "-n", "1"]);
    command.stdin(OwnedFd::from(near));
    let mut run = ChildProgram::new(command);
    (&far).write_all(b"a socket\nmore\n").expect("written");
    assert_eq!((run.code(), run.out()), (0, "a socket\n".to_owned()));
    let flags = rustix::fs::fcntl_getfl(&copy).expect("flags");
    assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK), "{flags:?}");
}

#[test]
fn a_pipe_can_type_to_the_runs_own_terminal() {
    let install = Install::new();
    let mut run = piped(&install, &["run", "--quiet", "--pty", "--", "sh", "-c", "read x; echo got $x"]);
    run.write(b"it\n");
    assert_eq!(run.code(), 0, "{}", run.err());
    assert!(run.out().contains("got it"), "{}", run.out());
}

#[test]
fn only_the_caller_writes_to_a_passed_stdin() {
    let install = Install::new();
    let mut run = piped(&install, &["run", "--quiet", "--", "sh", "-c", "echo ready; cat"]);
    run.wait_for("ready\n");
    let output = install.tenure(&["write", &install.only_run(), "x"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    run.write(b"mine\n");
    run.close_input();
    assert_eq!((run.code(), run.out()), (0, "ready\nmine\n".to_owned()));
}
