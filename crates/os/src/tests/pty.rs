use crate::poll::{self, Interest};
use crate::pty::Pty;
use crate::socket::Got;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Write;
use std::time::Duration;
use tenure_core::spec::Size;

const SIZE: Size = Size { cols: 80, rows: 24 };

fn slave(pty: &Pty) -> File {
    let path = rustix::pty::ptsname(pty.master(), Vec::new()).unwrap();
    rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap().into()
}

fn wakes(pty: &Pty, patience: Duration) -> bool {
    let interest = Interest { on: pty.shown(), read: true, write: false };
    poll::wait(&[interest], Some(patience)).unwrap()[0].read
}

/// Reads all available output; the flag tells if the end was reached.
fn drain(pty: &Pty) -> (Vec<u8>, bool) {
    let mut all = Vec::new();
    let mut buffer = [0; 256];
    loop {
        match pty.read(&mut buffer) {
            Got::Bytes(n) => all.extend_from_slice(&buffer[..n]),
            Got::Nothing => return (all, false),
            Got::End => return (all, true),
        }
    }
}

#[test]
fn a_terminal_has_the_size_that_was_asked_for() {
    let pty = Pty::open(SIZE).unwrap();
    let size = rustix::termios::tcgetwinsize(slave(&pty)).unwrap();
    assert_eq!((size.ws_col, size.ws_row), (80, 24));
    pty.resize(Size { cols: 10, rows: 5 }).unwrap();
    let size = rustix::termios::tcgetwinsize(slave(&pty)).unwrap();
    assert_eq!((size.ws_col, size.ws_row), (10, 5));
}

#[test]
fn the_last_words_are_read_before_the_end() {
    let pty = Pty::open(SIZE).unwrap();
    let mut end = slave(&pty);
    end.write_all(b"bye").unwrap();
    drop(end);
    assert!(wakes(&pty, Duration::from_secs(5)));
    assert_eq!(drain(&pty), (b"bye".to_vec(), true));
}

#[test]
fn a_hung_up_terminal_does_not_wake_us_again_and_again_but_a_reopened_one_does() {
    let pty = Pty::open(SIZE).unwrap();
    drop(slave(&pty));
    assert!(drain(&pty).1, "the end");
    assert!(wakes(&pty, Duration::ZERO), "a level-triggered wait would spin here");
    for round in 0..3 {
        pty.wait_for_reopening().unwrap();
        assert!(drain(&pty).1);
        assert!(!wakes(&pty, Duration::from_millis(20)), "round {round}: nothing new has happened");
        let mut end = slave(&pty);
        end.write_all(b"again").unwrap();
        assert!(wakes(&pty, Duration::from_secs(5)), "round {round}: somebody wrote");
        assert_eq!(pty.read(&mut [0; 2]), Got::Bytes(2));
        assert!(wakes(&pty, Duration::ZERO), "round {round}: not all was read");
        assert_eq!(drain(&pty), (b"ain".to_vec(), false));
        assert!(!wakes(&pty, Duration::ZERO), "round {round}: all was read");
        drop(end);
        assert!(wakes(&pty, Duration::from_secs(5)), "round {round}: hung up again");
    }
}
