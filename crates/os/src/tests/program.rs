use super::role::{ARGUMENTS, ROLE};
use crate::poll::{self, Interest};
use crate::process::{Process, Sent};
use crate::program;
use crate::socket::{Conn, Got};
use std::ffi::OsStr;
use std::time::Duration;
use tenure_core::identity::Evidence;
use tenure_core::signal::Signal;

const PATIENCE: Duration = Duration::from_secs(20);

/// Writes something to its starter, closes the connection, and goes on.
pub(crate) fn let_go() {
    let conn = program::inherited_conn().expect("a connection");
    assert_eq!(conn.write(b"here").expect("it fits"), 4);
    crate::descriptors::null_stdio().expect("nowhere");
    drop(conn);
    poll::wait(&[], Some(Duration::from_mins(1))).expect("a wait");
}

#[test]
fn who_started_a_program_sees_that_it_has_let_go_of_their_connection() {
    let dir = tempfile::tempdir().expect("a directory");
    let (ours, theirs) = Conn::pair().expect("a connection");
    let words = ARGUMENTS.map(OsStr::new);
    let env = [(ROLE.into(), "let-go".into())];
    let pid = program::start(&words, env, theirs, &dir.path().join("log")).expect("a program");
    let process = Process::open(pid).expect("the system answers").expect("it is there");
    let (mut said, mut buffer) = (Vec::new(), [0; 64]);
    loop {
        match ours.read(&mut buffer).expect("a read") {
            Got::Bytes(n) => said.extend_from_slice(&buffer[..n]),
            Got::End => break,
            Got::Nothing => {
                let ready = poll::wait(&[Interest::reading(&ours)], Some(PATIENCE)).expect("a wait");
                assert!(ready[0].read, "it has not let go, and said {said:?}");
            }
        }
    }
    assert_eq!(said, b"here");
    assert!(process.is_alive(), "it goes on");
    let Evidence::Same(held) = process.judge(process.identity()) else { panic!("not held") };
    assert_eq!(process.signal(&held, Signal::KILL), Sent::Yes);
    crate::reaper::wait_for(pid).expect("its end");
}
