//! Tests of the Windows replacements of signals.

use super::role;
use crate::fork::{self, ChildSpec, SingleThread};
use crate::poll::{self, Interest};
use crate::program;
use crate::signals::{self, Signals};
use crate::socket::{Conn, Got, Passing};
use crate::system::{children, signals::raise};
use std::ffi::OsStr;
use std::os::windows::io::AsHandle;
use std::time::Duration;

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

#[test]
fn a_signal_is_told_once_to_each_that_has_taken_it_and_wakes_it() {
    let (one, other) = (Signals::take(&[1, 3]).unwrap(), Signals::take(&[3]).unwrap());
    assert!(raise(3) && raise(1) && raise(3));
    let ready = poll::wait(&[Interest::reading(&one), Interest::reading(&other)], PATIENCE).unwrap();
    assert!(ready.iter().all(|ready| ready.read));
    assert_eq!([one.next(), one.next(), one.next()], [Some(3), Some(1), None]);
    assert_eq!([other.next(), other.next()], [Some(3), None]);
    let ready = poll::wait(&[Interest::reading(&one)], Some(Duration::ZERO)).unwrap();
    assert!(!ready[0].read, "nothing is left to read");
    drop((one, other));
    assert!(!raise(3), "nobody has taken it");
}

#[test]
fn the_end_of_a_child_is_a_signal_and_it_is_taken_once() {
    let signals = Signals::take(&[signals::CHILD]).unwrap();
    let mut player = role::start("wait");
    let pid = player.pid();
    let process = player.child.as_handle().try_clone_to_owned().unwrap();
    children::adopt(pid, process).unwrap();
    assert!(children::pids().contains(&pid));
    assert_eq!(children::take_one(pid), None, "it lives");
    player.child.kill().unwrap();
    poll::wait(&[Interest::reading(&signals)], PATIENCE).unwrap();
    assert_eq!(signals.next(), Some(signals::CHILD));
    assert!(children::take_ended().contains(&(pid, 1)));
    assert_eq!(children::take_one(pid), None);
    player.child.wait().unwrap();
}

/// Reads everything until the other side is gone.
fn all(conn: &Conn) -> Vec<u8> {
    let (mut got, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match conn.read(&mut buffer).unwrap() {
            Got::Bytes(n) => got.extend_from_slice(&buffer[..n]),
            Got::Nothing => {
                let ready = poll::wait(&[Interest::reading(conn)], PATIENCE).unwrap();
                assert!(ready[0].read, "nothing comes: {got:?}");
            }
            Got::End => return got,
        }
    }
}

fn code_of(pid: i32, signals: &Signals) -> u32 {
    loop {
        if let Some(code) = children::take_one(pid) {
            return code;
        }
        let ready = poll::wait(&[Interest::reading(signals)], PATIENCE).unwrap();
        assert!(ready[0].read, "it does not end");
        while signals.next().is_some() {}
    }
}

/// Plays a new child: it reports the message on its second connection.
pub(crate) fn run_child() {
    let (_alone, message, conns) = fork::take_message().expect("a message");
    assert_eq!(conns.len(), 2);
    conns[0].write(b"born").expect("it fits");
    let summary = format!("{} {:?}", message.len(), std::env::var_os("TENURE_OS_SECRET"));
    conns[1].write(summary.as_bytes()).expect("it fits");
    program::set_name(c"tenure-keeper");
    assert!(program::is_inside_a_run());
    super::role::leave(9);
}

#[test]
fn a_child_starts_with_its_message_and_its_connections_and_nothing_else_of_ours() {
    let signals = Signals::take(&[signals::CHILD]).unwrap();
    let (near, far): (Vec<Conn>, Vec<Conn>) = (0..2).map(|_| Conn::pair().unwrap()).unzip();
    let words: Vec<&OsStr> = super::role::BORN.iter().map(OsStr::new).collect();
    let message = vec![b'x'; 300_000];
    let child =
        ChildSpec { words: &words, message: &|| message.clone(), conns: &far, inherits_environment: false };
    let alone = SingleThread::check().unwrap();
    let pid = alone.start_child(&child, |_| unreachable!("it is not done here")).unwrap();
    drop(far);
    assert_eq!(all(&near[0]), b"born");
    assert_eq!(all(&near[1]), b"300000 None");
    assert_eq!(code_of(pid, &signals), 9);
    assert!(!program::is_inside_a_run(), "we are not");
}

/// Plays a started program: it answers on its first connection, and on the one that it is then passed.
pub(crate) fn answer() {
    let passing = Passing::from(program::inherited_conn().expect("a connection"));
    loop {
        poll::wait(&[Interest::reading(passing.conn())], PATIENCE).expect("a wait");
        match passing.receive(&mut [0; 16]).expect("a piece") {
            (Got::Bytes(_), Some(passed)) => {
                passed
                    .write(std::env::var("TENURE_OS_SECRET").expect("it is set").as_bytes())
                    .expect("it fits");
                return;
            }
            (Got::End, _) => return,
            _ => {}
        }
    }
}

#[test]
fn this_program_is_started_with_a_connection_and_others_are_passed_to_it() {
    let signals = Signals::take(&[signals::CHILD]).unwrap();
    let base = tempfile::tempdir().unwrap();
    let (ours, theirs) = Conn::pair().unwrap();
    let words: Vec<&OsStr> = super::role::STARTED.iter().map(OsStr::new).collect();
    let env = [("TENURE_OS_SECRET".into(), "told".into())];
    let pid = program::start(&words, env, theirs, &base.path().join("log")).unwrap();
    let (near, far) = Conn::pair().unwrap();
    let passing = Passing::to(ours, pid);
    assert_eq!(passing.send(b"take it", Some(&far)).unwrap(), 7);
    drop(far);
    assert_eq!(all(&near), b"told");
    assert_eq!(code_of(pid, &signals), 0);
    // Its console may have had a copy, and exits after it.
    assert_eq!(all(passing.conn()), b"");
}
