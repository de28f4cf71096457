//! A nursery that the test itself started, to ask it for keepers that the command line would never ask for.

use crate::PATIENCE;
use crate::install::Install;
use std::process::{Child, Stdio};
use tenure_core::ids::{NurseryId, RegistryId};
use tenure_core::limits::Limits;
use tenure_core::output::Keep;
use tenure_core::resources::Resources;
use tenure_core::spec::{Argv, OnEscape, Orphan, Spec, Transport};
use tenure_core::wire::{self, Ask, Holder, Launch, Role, Tell};
use tenure_keeper::frames::Frames;
use tenure_keeper::launch::{Lease, Nursery, Order, Terms};
use tenure_keeper::rundir::RunDir;
use tenure_keeper::state_root::{self, StateRoot};
use tenure_os::socket::{Conn, Passing};

/// The nursery; it leaves when this is dropped, unless a keeper of it lives.
#[derive(Debug)]
pub struct Crib {
    passing: Passing,
    child: Child,
}

impl Crib {
    /// Starts a nursery for an installation.
    #[track_caller]
    pub fn new(install: &Install) -> Self {
        let (conn, _, child) = start(install);
        let pid = child.id().cast_signed();
        Self { passing: Passing::to(conn, pid), child }
    }

    /// Asks for a keeper of the run in this directory, and returns what it says first.
    #[track_caller]
    pub fn launch(&self, directory: &str, command: &[&str]) -> Tell {
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

#[track_caller]
fn start(install: &Install) -> (Conn, NurseryId, Child) {
    let id = state_root::new_nursery().expect("an id");
    let (conn, theirs) = Conn::pair().expect("a connection");
    let state = install.state().to_str().expect("UTF-8");
    let mut command = install.command(&["nursery", id.as_str(), state]);
    let child = command.stdin(Stdio::from(theirs.into_fd())).spawn().expect("a nursery starts");
    (conn, id, child)
}

/// A warm nursery, as a daemon keeps one: each run gets the first connections that the test wants.
#[derive(Debug)]
pub struct Warm {
    nursery: Nursery,
    state: StateRoot,
    child: Child,
    /// What the runs are held to.
    pub limits: Limits,
    /// What they may use.
    pub resources: Resources,
    /// Whether they get a cgroup where one can be had.
    pub cgroup: bool,
    /// The registry in their tickets.
    pub registry: Option<RegistryId>,
}

impl Warm {
    /// Starts a nursery for an installation.
    #[track_caller]
    pub fn new(install: &Install) -> Self {
        let state = StateRoot::open(install.state()).expect("a state root");
        let (conn, id, child) = start(install);
        let instance = state.instance().expect("an instance");
        let nursery = Nursery::new(conn, id, child.id().cast_signed(), instance);
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
        let terms = Terms { backend: "exec", cgroup: self.cgroup, keep: Keep::default() };
        let lease = Lease::new(self.state.instance().expect("an instance")).expect("a lease");
        let ticket = Lease { registry: self.registry.clone(), ..lease }.ticket(&spec, &terms);
        let pairs: Vec<_> = roles.iter().map(|_| Conn::pair().expect("a connection")).collect();
        let (mine, theirs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let peers = roles.iter().copied().zip(theirs).collect();
        let order = Order { ticket: &ticket, spec: &spec, cgroup: terms.cgroup, passes_stdin: false };
        let dir = self.nursery.launch(&self.state, &order, peers).expect("a launch");
        (dir, mine.into_iter().map(Frames::new).collect())
    }

    fn spec(&self, command: &[&str]) -> Spec {
        let words = command.iter().map(|word| word.as_bytes().to_vec()).collect();
        Spec {
            transport: Transport::Pipes { command: Argv::new(words).expect("a command"), stdin: true },
            cwd: b"/".to_vec(),
            env: vec![b"PATH=/usr/bin:/bin".to_vec()],
            env_names: Vec::new(),
            nofile: None,
            umask: 0o022,
            session: None,
            scope: None,
            label: None,
            limits: self.limits.clone(),
            resources: self.resources.clone(),
            on_escape: OnEscape::default(),
            orphan: Orphan::default(),
        }
    }
}

/// The identity that the daemon of a run's own instance shows to the keeper.
#[track_caller]
pub fn owner_of(dir: &RunDir) -> Holder {
    let ticket = dir.ticket().expect("a ticket");
    let registry_id = ticket.registry_id.unwrap_or_else(|| RegistryId::from_random([9; 12]));
    Holder { instance_id: ticket.owner_instance_id, registry_id, lease_ttl_ms: 60_000 }
}

impl Drop for Warm {
    fn drop(&mut self) {
        // As above.
        let _ = self.child.try_wait();
    }
}

/// Waits until a keeper says this; what else it says meanwhile is dropped.
#[track_caller]
pub fn hear<T>(keeper: &mut Frames, what: impl Fn(Tell) -> Option<T>) -> T {
    loop {
        let (tell, _) = keeper.receive::<Tell>(PATIENCE).expect("the keeper speaks");
        if let Some(heard) = what(tell) {
            return heard;
        }
    }
}

/// Follows a run until its command has written this.
#[track_caller]
pub fn wait_written(keeper: &mut Frames, text: &str) {
    keeper.send(&Ask::Follow, &[]);
    let bytes = text.len() as u64;
    hear(keeper, |tell| matches!(tell, Tell::Grown { to } if to >= bytes).then_some(()));
}
