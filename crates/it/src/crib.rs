//! A nursery that the test itself started, to ask it for keepers that the command line would never ask for.

use crate::PATIENCE;
use crate::install::Install;
use std::os::fd::AsFd;
use std::process::{Child, Stdio};
use tenure_core::wire::{self, Launch, Role, Tell};
use tenure_keeper::frames::Frames;
use tenure_keeper::state_root;
use tenure_os::socket::Conn;

/// The nursery; it leaves when this is dropped, unless a keeper of it lives.
#[derive(Debug)]
pub struct Crib {
    conn: Conn,
    child: Child,
}

impl Crib {
    /// Starts a nursery for an installation.
    #[track_caller]
    pub fn new(install: &Install) -> Self {
        let id = state_root::new_nursery().expect("an id");
        let (conn, theirs) = Conn::pair().expect("a connection");
        let state = install.state().to_str().expect("UTF-8");
        let mut command = install.command(&["nursery", id.as_str(), state]);
        let child = command.stdin(Stdio::from(theirs.into_fd())).spawn().expect("a nursery starts");
        Self { conn, child }
    }

    /// Asks for a keeper of the run in this directory, and returns what it says first.
    #[track_caller]
    pub fn launch(&self, directory: &str, command: &[&str]) -> Tell {
        let (mine, theirs) = Conn::pair().expect("a connection");
        let launch = Launch {
            directory: directory.to_owned(),
            role: Role::Caller,
            umask: 0o022,
            nofile: (1024, 1024),
            argc: command.len(),
            cgroup: false,
        };
        let body = [&["/"], command].concat().join("\0") + "\0";
        let frame = wire::encode(&launch, body.as_bytes());
        let sent = self.conn.write_with_fd(&frame, theirs.as_fd()).expect("the nursery listens");
        assert_eq!(sent, frame.len(), "a short frame goes at once");
        drop(theirs);
        Frames::new(mine).receive::<Tell>(PATIENCE).expect("an answer").0
    }
}

impl Drop for Crib {
    fn drop(&mut self) {
        // Its connection ends with this, so it leaves; a zombie it may stay until the test ends.
        let _ = self.child.try_wait();
    }
}
