//! Having a run kept: a nursery is started once, and each launch makes a run's directory, writes its ticket and
//! asks the nursery for a keeper. The keeper's first connection is made before it is, so that the death of
//! either side shows at once, whenever it comes.

use crate::frames::Frames;
use crate::rundir::RunDir;
use crate::state_root::{self, StateRoot};
use std::cell::Cell;
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::hash::command_hash;
use tenure_core::ids::{InstanceId, LeaseId, NurseryId, RegistryId, RunId};
use tenure_core::output::Keep;
use tenure_core::record::{Ending, RECORD_BYTES, Ticket, cut_words};
use tenure_core::redact;
use tenure_core::spec::{Spec, Transport};
use tenure_core::wire::{self, Launch, Role};
use tenure_os::poll::{self, Awaited, Interest, Waitable};
use tenure_os::socket::{Conn, Got, Passing};
use tenure_os::{clock, descriptors, pause, program};

/// A nursery that this process launches runs through. What is waited for on it comes once it is gone: it says nothing.
#[derive(Debug)]
pub struct Nursery {
    passing: Passing,
    id: NurseryId,
    pid: i32,
    instance: InstanceId,
    /// Whether a launch was sent in part: whatever came after it would be taken for its rest.
    torn: Cell<bool>,
}

/// A run that a keeper was asked for.
#[derive(Debug)]
pub struct Launched {
    /// Its directory.
    pub dir: RunDir,
    /// What was asked.
    pub ticket: Ticket,
    /// The keeper's first connection. It says `Started`, `NotStarted` or `Refused` first.
    pub keeper: Frames,
}

/// What else a launch needs to know.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Which face asks.
    pub backend: &'static str,
    /// Whether to use a cgroup where one can be had.
    pub cgroup: bool,
    /// How much output to keep.
    pub keep: Keep,
}

/// A new run's name and the right to act on it, settled before anything is started, so that a registry can hold
/// them by then (I2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run_id: RunId,
    /// The lease.
    pub lease_id: LeaseId,
    /// Its fencing number.
    pub epoch: u64,
    /// Whose it is.
    pub owner: InstanceId,
    /// The registry that records the run, if there is one.
    pub registry: Option<RegistryId>,
}

impl Lease {
    /// The first epoch of a new lease on a new run.
    pub fn new(owner: InstanceId) -> io::Result<Self> {
        let (run_id, lease_id) = (state_root::new_run_id()?, state_root::new_lease()?);
        Ok(Self { run_id, lease_id, epoch: 1, owner, registry: None })
    }

    /// What is asked for.
    pub fn ticket(self, spec: &Spec, terms: &Terms) -> Ticket {
        let given = spec.transport.argv().given();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let words: Vec<String> = given.iter().map(|word| text(word)).collect();
        Ticket {
            run_id: self.run_id,
            lease_id: self.lease_id,
            lease_epoch: self.epoch,
            owner_instance_id: self.owner,
            backend_id: terms.backend.to_owned(),
            session_id: spec.session.clone(),
            scope: spec.scope.clone(),
            label: spec.label.clone(),
            command: cut_words(redact::command(&words), RECORD_BYTES),
            command_hash: command_hash(&given),
            cwd: text(&spec.cwd),
            env_names: cut_words(spec.env_names.clone(), RECORD_BYTES),
            pty_size: spec.transport.size(),
            stdin: matches!(spec.transport, Transport::Pty { .. } | Transport::Pipes { stdin: true, .. }),
            limits: spec.limits.clone(),
            resources: spec.resources.clone(),
            on_escape: spec.on_escape,
            orphan: spec.orphan,
            keep: terms.keep,
            created_at_ms: clock::unix_ms(),
            escaped_from: None,
            registry_id: self.registry,
        }
    }
}

/// A run that is recorded and may be started.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// What the records keep of it.
    pub ticket: &'a Ticket,
    /// What they do not.
    pub spec: &'a Spec,
    /// Whether to use a cgroup where one can be had.
    pub cgroup: bool,
    /// Whether the command reads the standard input that its foreground caller passes to the keeper.
    pub passes_stdin: bool,
}

/// An order whose run has its directory and ticket, and lacks a keeper.
#[derive(Debug)]
pub struct Prepared {
    dir: RunDir,
    frame: Vec<u8>,
    conns: Vec<Conn>,
}

impl Order<'_> {
    /// The first half of a launch, which needs no nursery: the run's directory and its ticket.
    pub fn prepare(&self, state: &StateRoot, peers: Vec<(Role, Conn)>) -> io::Result<Prepared> {
        let &Self { ticket, spec, cgroup, passes_stdin } = self;
        let argv = spec.transport.argv();
        let body = body(spec, argv.words(), ticket);
        if body.len() > wire::MAX_BODY {
            // The nursery would drop the connection, and be lost.
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the command and its environment are too long",
            ));
        }
        let dir = state.make_run(ticket.run_id.clone())?;
        dir.write_ticket(ticket)?;
        pause::point("caller-before-launch");
        let (roles, conns) = peers.into_iter().unzip();
        let launch = Launch {
            directory: path_text(dir.path())?,
            roles,
            umask: spec.umask,
            nofile: spec.nofile.unwrap_or_else(descriptors::limit),
            argc: argv.words().len(),
            cgroup,
            passes_stdin,
        };
        let frame = wire::encode(&launch, &body);
        Ok(Prepared { dir, frame, conns })
    }
}

/// How long a nursery may take to read a launch. It does nothing but fork, so this is for a machine that
/// swaps.
const PATIENCE: Duration = Duration::from_secs(30);

impl Nursery {
    /// Starts a nursery from this program's own file.
    pub fn start(state: &StateRoot) -> io::Result<Self> {
        let id = state_root::new_nursery()?;
        let instance = state.instance()?;
        let (conn, theirs) = Conn::pair()?;
        let state_path = state.path().to_owned();
        let pid = program::start_self(
            &["nursery".as_ref(), id.as_str().as_ref(), state_path.as_os_str()],
            theirs,
            &state_path.join("nursery.log"),
        )?;
        Ok(Self::new(conn, id, pid, instance))
    }

    /// A nursery that was started otherwise, at the other end of this connection.
    pub fn new(conn: Conn, id: NurseryId, pid: i32, instance: InstanceId) -> Self {
        Self { passing: Passing::to(conn, pid), id, pid, instance, torn: Cell::new(false) }
    }

    /// Its id.
    pub fn id(&self) -> &NurseryId {
        &self.id
    }

    /// Its pid; it is a child of the process that started it.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it has left, was killed, or can be asked for nothing more. It says nothing while it lives.
    pub fn is_gone(&self) -> bool {
        self.torn.get() || matches!(self.passing.conn().read(&mut [0]), Ok(Got::End) | Err(_))
    }

    /// Starts one run that is nobody's but this process's, which sits on the keeper's first connection. With
    /// `passes_stdin` it has to [pass](Frames::pass_stdin) its standard input there.
    pub fn run(
        &self,
        state: &StateRoot,
        spec: &Spec,
        terms: &Terms,
        (role, passes_stdin): (Role, bool),
    ) -> io::Result<Launched> {
        let ticket = Lease::new(self.instance.clone())?.ticket(spec, terms);
        state.mark_unregistered(&ticket.run_id)?;
        let (mine, theirs) = Conn::pair()?;
        let order = Order { ticket: &ticket, spec, cgroup: terms.cgroup, passes_stdin };
        let dir = self.launch(state, &order, vec![(role, theirs)])?;
        Ok(Launched { dir, ticket, keeper: Frames::new(mine) })
    }

    /// Starts the run that was ordered. Its keeper gets the `peers` as its first connections; each of them
    /// is told `Started`, `NotStarted` or `Refused` first, and one that is closed was left without a keeper.
    pub fn launch(
        &self,
        state: &StateRoot,
        order: &Order<'_>,
        peers: Vec<(Role, Conn)>,
    ) -> io::Result<RunDir> {
        self.ask(order.prepare(state, peers)?)
    }

    /// The second half of a launch. One that fails is the nursery's last: see [`is_gone`](Self::is_gone).
    pub fn ask(&self, prepared: Prepared) -> io::Result<RunDir> {
        let Prepared { dir, frame, conns } = prepared;
        if let Err(error) = self.send(&frame, &conns, clock::awake() + PATIENCE) {
            // The nursery has no whole launch and gets no more of it, so there will be no keeper to say this.
            let why = format!("the nursery cannot be asked: {error}");
            let ending = Ending::never_started(dir.id().clone(), why.clone(), clock::unix_ms());
            dir.write_ending(&ending, None)?;
            return Err(io::Error::new(error.kind(), why));
        }
        Ok(dir)
    }

    /// Sends a whole frame, or nothing more ever.
    fn send(&self, frame: &[u8], passed: &[Conn], deadline: Duration) -> io::Result<()> {
        if self.torn.get() {
            return Err(io::Error::other("an earlier launch was not taken as a whole"));
        }
        self.send_all(frame, passed, deadline).inspect_err(|_| self.torn.set(true))
    }

    /// A connection goes with each of the first bytes, and the rest of the frame with the last.
    fn send_all(&self, frame: &[u8], mut passed: &[Conn], deadline: Duration) -> io::Result<()> {
        let mut sent = 0;
        while sent < frame.len() {
            let rest = &frame[sent..];
            let n = match passed {
                [next, _, ..] => self.passing.send(&rest[..1], Some(next))?,
                [last] => self.passing.send(rest, Some(last))?,
                [] => self.passing.send(rest, None)?,
            };
            sent += n;
            if n > 0 {
                passed = passed.get(1..).unwrap_or_default();
                continue;
            }
            let left = deadline.saturating_sub(clock::awake());
            if left.is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the nursery does not take the launch"));
            }
            poll::wait(&[Interest::writing(self.passing.conn())], Some(left))?;
        }
        Ok(())
    }
}

impl Awaited for Nursery {
    fn waitable(&self) -> Waitable<'_> {
        self.passing.conn().waitable()
    }
}

fn path_text(path: &Path) -> io::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the state root's path is not UTF-8"))
}

/// The parts that no record keeps: working directory, command and environment, each ended by a NUL.
fn body(spec: &Spec, argv: &[Vec<u8>], ticket: &Ticket) -> Vec<u8> {
    let marks = marks(ticket);
    // Whoever began the run may be in one itself, and of a session that is not this run's.
    let is_mark = |entry: &&Vec<u8>| {
        entry.starts_with(SESSION_KEY.as_bytes()) || marks.iter().any(|mark| names_same(mark, entry))
    };
    let env = spec.env.iter().filter(|entry| !is_mark(entry)).chain(&marks);
    let mut body = Vec::new();
    for word in [&spec.cwd].into_iter().chain(argv).chain(env) {
        body.extend_from_slice(word);
        body.push(0);
    }
    body
}

/// What a run carries in its environment, so that it can be told from any other.
fn marks(ticket: &Ticket) -> Vec<Vec<u8>> {
    let mut marks = vec![
        format!("{RUN_ID}={}", ticket.run_id).into_bytes(),
        lease_mark(&ticket.lease_id),
        format!("TENURE_INSTANCE_ID={}", ticket.owner_instance_id).into_bytes(),
    ];
    if let Some(session) = &ticket.session_id {
        marks.push(format!("{SESSION_KEY}{session}").into_bytes());
    }
    marks
}

const RUN_ID: &str = "TENURE_RUN_ID";
const SESSION_KEY: &str = "TENURE_SESSION_KEY=";

/// The environment entry that names a lease.
pub(crate) fn lease_mark(lease: &LeaseId) -> Vec<u8> {
    format!("TENURE_LEASE_ID={lease}").into_bytes()
}

fn names_same(a: &[u8], b: &[u8]) -> bool {
    fn name(entry: &[u8]) -> Option<&[u8]> {
        entry.split(|&b| b == b'=').next()
    }
    name(a) == name(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nursery_that_took_a_part_of_a_launch_is_asked_no_more() {
        let (conn, theirs) = Conn::pair().expect("a pair");
        let id = state_root::new_nursery().expect("an id");
        let nursery = Nursery::new(conn, id, 0, InstanceId::from_random([7; 12]));
        let soon = || clock::awake() + Duration::from_secs(5);
        nursery.send(b"whole", &[], soon()).expect("it fits");
        assert!(!nursery.is_gone());
        let error = nursery.send(&vec![0; 8 << 20], &[], clock::awake()).expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(nursery.is_gone(), "its end is open, but of no use");
        // There is room again; but what came now would be taken for the rest.
        while matches!(theirs.read(&mut [0; 8 << 10]), Ok(Got::Bytes(_))) {}
        nursery.send(b"next", &[], soon()).expect_err("it is torn");
        assert_eq!(theirs.read(&mut [0; 9]).expect("a read"), Got::Nothing);
    }
}
