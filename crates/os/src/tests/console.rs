use super::job::{SOON, emptied, end_of, own_plan, start, unbounded};
use super::role::leave;
use crate::io_result::{Got, Put};
use crate::poll::{self, Interest};
use crate::pty::Pty;
use crate::stdio::{Ours, Stdio};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use tenure_core::ending::Exit;
use tenure_core::spec::Size;

/// Prints something, reads a line, prints that. Wine gives a console's programs no standard handles, so the console
/// is opened by its names, which works on Windows too.
pub(super) fn show() {
    let mut console = OpenOptions::new().read(true).write(true).open("CONOUT$").expect("a console");
    console.write_all(b"shown:something\n").expect("a console");
    let keys = OpenOptions::new().read(true).write(true).open("CONIN$").expect("a console");
    let mut line = String::new();
    BufReader::new(keys).read_line(&mut line).expect("a line");
    // Written in one piece: separate pieces may be shown with cursor moves between them.
    console.write_all(format!("heard:{}\n", line.trim_end()).as_bytes()).expect("a console");
    leave(5);
}

/// Reads keys as they are typed and prints each by its number, until the key that ends a line.
pub(super) fn type_keys() {
    use crate::terminal::{Raw, stdin, stdout};
    crate::system::terminal::use_console().expect("a console");
    let size = stdout().size().expect("it has a size");
    assert_eq!(stdin().size(), Some(size));
    let raw = Raw::enter(stdin()).expect("a console");
    stdout().write_all(format!("raw:{}x{}\r\n", size.cols, size.rows).as_bytes()).expect("a console");
    let mut keys = Vec::new();
    while keys.last() != Some(&0x1a) {
        poll::wait(&[stdin().reading()], Some(SOON)).expect("a wait");
        let mut bytes = [0; 16];
        let n = stdin().read(&mut bytes).expect("keys");
        keys.extend_from_slice(&bytes[..n]);
    }
    drop(raw);
    stdout().write_all(format!("keys:{keys:?}\r\n").as_bytes()).expect("a console");
    leave(6);
}

/// Reads until this text was shown; if it never is, the message has the text before it.
fn see(pty: &Pty, what: &str) {
    let (mut shown, mut buffer) = (Vec::new(), [0; 4096]);
    let deadline = crate::clock::awake() + SOON;
    loop {
        let text = String::from_utf8_lossy(&shown).into_owned();
        if text.contains(what) {
            return;
        }
        match pty.read(&mut buffer) {
            Got::Bytes(n) => shown.extend_from_slice(&buffer[..n]),
            Got::Nothing => {
                let left = deadline.saturating_sub(crate::clock::awake());
                assert!(!left.is_zero(), "never shown: {what}, but {text:?}");
                poll::wait(&[Interest { on: pty.shown(), read: true, write: false }], Some(left))
                    .expect("a wait");
            }
            Got::End => panic!("it ended before it showed {what}: {text:?}"),
        }
    }
}

#[test]
fn a_root_in_a_console_is_in_its_job_too_and_what_it_shows_is_read() {
    let (job, stdio) = (unbounded(), Stdio::pty(Size::new(80, 25).expect("a size")).expect("a console"));
    let gated = start(&own_plan("show"), &stdio, &job).expect("a root");
    assert!(job.pids().expect("a list").contains(&gated.root().pid()));
    let (root, _) = gated.release().expect("it runs");
    let Ours::Pty(pty) = stdio.into_ours() else { unreachable!() };
    see(&pty, "shown:something");
    super::eventually("it is typed", || (pty.write(b"typed\r") == Put::Bytes(6)).then_some(()));
    see(&pty, "heard:typed");
    assert_eq!(end_of(&root), Exit::Code(5));
    job.kill().expect("a kill");
    emptied(&job);
    pty.hang_up();
    let ended = || (pty.read(&mut [0; 4096]) == Got::End).then_some(());
    super::eventually("the end of what is shown", ended);
    let late =
        pty.resize(Size::new(90, 30).expect("a size")).expect_err("there is nothing to resize any more");
    assert_eq!(
        late.to_string(),
        "the terminal is closed",
        "the system is not asked, which would use what is gone"
    );
}

#[test]
fn keys_come_as_they_are_typed_and_wait_for_no_line() {
    let (job, stdio) = (unbounded(), Stdio::pty(Size::new(80, 25).expect("a size")).expect("a console"));
    let (root, _) = start(&own_plan("type"), &stdio, &job).expect("a root").release().expect("it runs");
    let Ours::Pty(pty) = stdio.into_ours() else { unreachable!() };
    see(&pty, "raw:80x25");
    // Wine handles Ctrl-C itself, whatever the console's mode.
    super::eventually("it is typed", || (pty.write(b"a\x02\x1a") == Put::Bytes(3)).then_some(()));
    see(&pty, "keys:[97, 2, 26]");
    assert_eq!(end_of(&root), Exit::Code(6));
    job.kill().expect("a kill");
    emptied(&job);
}
