//! A nursery that the test itself started, to request keepers that the command line would never request.

use crate::WAIT_LIMIT;
use crate::install::Install;
use std::process::{Child, Stdio};
use tenure_core::ids::{NurseryId, RegistryId};
use tenure_core::limits::Limits;
use tenure_core::record::Ticket;
use tenure_core::resources::Resources;
use tenure_core::session::Backend;
use tenure_core::spec::{Argv, RunOptions, Spec};
use tenure_core::wire::{self, Holder, KeeperMessage, KeeperRequest, Launch, Role};
use tenure_keeper::frames::Frames;
use tenure_keeper::launch::{NurseryHandle, new_ticket, prepare};
use tenure_keeper::rundir::RunDir;
use tenure_keeper::state_root::{self, StateRoot};
use tenure_os::socket::{Conn, Passing};

/// The nursery; dropped, it exits unless one of its keepers lives.
#[derive(Debug)]
pub struct NurseryFixture {
    passing: Passing,
    child: Child,
}

impl NurseryFixture {
    /// Starts a nursery for an installation.
    #[track_caller]
    pub fn new(install: &Install) -> Self {
        let (conn, _, child) = start(install);
        let pid = child.id().cast_signed();
        Self { passing: Passing::to(conn, pid), child }
    }

    /// Requests a keeper of the run in this directory, and returns its first message.
    #[track_caller]
    pub fn launch(&self, directory: &str, command: &[&str]) -> KeeperMessage {
        let (mine, theirs) = Conn::pair().expect("a connection");
        let launch = Launch {
            directory: directory.to_owned(),
            roles: vec![Role::Caller],
            umask: 0o022,
            nofile: (1024, 1024),
            argc: command.len(),
            cgroup: false,
            passes_stdin: false,
        };
        let body = [&["/"], command].concat().join("\0") + "\0";
        let frame = wire::encode(&launch, body.as_bytes());
        let sent = self.passing.send(&frame, Some(&theirs)).expect("the nursery listens");
        assert_eq!(sent, frame.len(), "a short frame is sent at once");
        drop(theirs);
        Frames::new(mine).receive::<KeeperMessage>(WAIT_LIMIT).expect("an answer").0
    }
}

impl Drop for NurseryFixture {
    fn drop(&mut self) {
        // The dropped connection ends it; it may stay a zombie until the test ends.
        let _ = self.child.try_wait();
    }
}

#[track_caller]
fn start(install: &Install) -> (Conn, NurseryId, Child) {
    let id = state_root::new_nursery().expect("an id");
    let (conn, theirs) = Conn::pair().expect("a connection");
    let state = install.state().to_str().expect("UTF-8");
    let mut command = install.command(&["nursery", id.as_str(), state]);
    let child = command.stdin(Stdio::from(theirs.into_fd())).spawn().expect("a nursery starts");
    (conn, id, child)
}

/// A warm nursery, as a daemon has one: each run gets the first connections that the test chooses.
#[derive(Debug)]
pub struct WarmNursery {
    nursery: NurseryHandle,
    state: StateRoot,
    child: Child,
    /// Limits of the runs.
    pub limits: Limits,
    /// Resource limits of the runs.
    pub resources: Resources,
    /// True if the runs get a cgroup where one is available.
    pub cgroup: bool,
    /// The registry id in their tickets.
    pub registry: Option<RegistryId>,
}

impl WarmNursery {
    /// Starts a nursery for an installation.
    #[track_caller]
    pub fn new(install: &Install) -> Self {
        let state = StateRoot::open(install.state()).expect("a state root");
        let (conn, id, child) = start(install);
        let instance = state.instance().expect("an instance");
        let nursery = NurseryHandle::new(conn, id, child.id().cast_signed(), instance);
        Self {
            nursery,
            state,
            child,
            limits: Limits::default(),
            resources: Resources::default(),
            cgroup: false,
            registry: None,
        }
    }

    /// Launches a command; returns its run and the keeper's first connections, one for each role.
    #[track_caller]
    pub fn launch(&self, command: &[&str], roles: &[Role]) -> (RunDir, Vec<Frames>) {
        let spec = self.spec(command);
        let owner = self.state.instance().expect("an instance");
        let ticket = new_ticket(owner, Backend::Exec, &spec).expect("ids");
        let ticket = Ticket { registry_id: self.registry.clone(), ..ticket };
        let pairs: Vec<_> = roles.iter().map(|_| Conn::pair().expect("a connection")).collect();
        let (mine, theirs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let peers = roles.iter().copied().zip(theirs).collect();
        let prepared = prepare(&self.state, &ticket, &spec, peers).expect("a directory");
        let dir = self.nursery.request_keeper(prepared).expect("a launch");
        (dir, mine.into_iter().map(Frames::new).collect())
    }

    fn spec(&self, command: &[&str]) -> Spec {
        let words = command.iter().map(|word| word.as_bytes().to_vec()).collect();
        Spec {
            argv: Argv::new(words).expect("a command"),
            env: vec![b"PATH=/usr/bin:/bin".to_vec()],
            cgroup: self.cgroup,
            options: RunOptions {
                stdin: true,
                limits: self.limits.clone(),
                resources: self.resources.clone(),
                ..RunOptions::default()
            },
            ..Spec::default()
        }
    }
}

/// The identity that the daemon of a run's own instance presents to the keeper.
#[track_caller]
pub fn owner_of(dir: &RunDir) -> Holder {
    let ticket = dir.ticket().expect("a ticket");
    let registry_id = ticket.registry_id.unwrap_or_else(|| RegistryId::from_random([9; 12]));
    Holder { instance_id: ticket.owner_instance_id, registry_id, lease_ttl_ms: 60_000 }
}

impl Drop for WarmNursery {
    fn drop(&mut self) {
        // As above.
        let _ = self.child.try_wait();
    }
}

/// Waits for a message of a keeper; drops all others.
#[track_caller]
pub fn hear<T>(keeper: &mut Frames, what: impl Fn(KeeperMessage) -> Option<T>) -> T {
    loop {
        let (tell, _) = keeper.receive::<KeeperMessage>(WAIT_LIMIT).expect("the keeper speaks");
        if let Some(heard) = what(tell) {
            return heard;
        }
    }
}

/// Follows a run until its command has written this.
#[track_caller]
pub fn wait_written(keeper: &mut Frames, text: &str) {
    keeper.send(&KeeperRequest::Follow, &[]);
    let bytes = text.len() as u64;
    hear(keeper, |tell| matches!(tell, KeeperMessage::Grown { to } if to >= bytes).then_some(()));
}
