use super::role;
use crate::poll;
use crate::terminal::{stdin, stdout};
use std::io::Write;
use std::time::Duration;

/// Prints all that it reads, and at last that there is no more.
pub(crate) fn pass() {
    role::say("ready");
    assert!(!stdin().is_terminal() && !stdin().in_foreground() && stdin().size().is_none());
    loop {
        let ready = poll::wait(&[stdin().reading()], Some(Duration::from_secs(60))).expect("a wait");
        assert!(ready[0].read, "nothing comes");
        let mut bytes = [0; 3];
        let n = stdin().read(&mut bytes).expect("a read");
        let what = if n == 0 { "end" } else { std::str::from_utf8(&bytes[..n]).expect("text") };
        stdout().write_all(format!("\nrole: {what} {}\n", std::process::id()).as_bytes()).expect("a reader");
        if n == 0 {
            return;
        }
    }
}

#[test]
fn what_comes_on_standard_input_wakes_and_is_read_piece_by_piece_to_its_end() {
    let mut player = role::start("pass");
    player.hear("ready");
    let mut input = player.child.stdin.take().expect("piped");
    input.write_all(b"one").unwrap();
    player.hear("one");
    input.write_all(b"twothree").unwrap();
    for piece in ["two", "thr", "ee"] {
        player.hear(piece);
    }
    drop(input);
    player.hear("end");
}
