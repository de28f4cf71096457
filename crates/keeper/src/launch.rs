//! The client side of a launch. A nursery is started once; each launch makes a run's directory, writes its ticket and
//! requests a keeper from the nursery. The keeper's first connection is made before the keeper, so each side sees at
//! once when the other dies.

use crate::frames::Frames;
use crate::rundir::RunDir;
use crate::state_root::{self, StateRoot};
use std::cell::Cell;
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::hash::command_hash;
use tenure_core::ids::{InstanceId, LeaseId, NurseryId};
use tenure_core::record::{Ending, RECORD_BYTES, Ticket, cut_words};
use tenure_core::redact;
use tenure_core::session::Backend;
use tenure_core::spec::{RunOptions, Spec};
use tenure_core::wire::{self, Launch, Role};
use tenure_os::poll::{self, Interest, Pollable, Waitable};
use tenure_os::socket::{Conn, Got, Passing};
use tenure_os::{clock, descriptors, pause, program};

/// A nursery that this process launches runs through. It never sends anything, so its connection becomes readable
/// only when it is gone.
#[derive(Debug)]
pub struct NurseryHandle {
    passing: Passing,
    id: NurseryId,
    pid: i32,
    instance: InstanceId,
    /// True if a launch was sent only in part: the nursery would take the next bytes for its rest.
    is_broken: Cell<bool>,
}

/// A run whose keeper was requested.
#[derive(Debug)]
pub struct LaunchedRun {
    /// The run's directory.
    pub dir: RunDir,
    /// The run's ticket.
    pub ticket: Ticket,
    /// The keeper's first connection. Its first message is `Started`, `NotStarted` or `Refused`.
    pub keeper: Frames,
}

/// Makes the ticket of a new run. It is complete before anything is started, so the registry can record it first
/// (I2).
pub fn new_ticket(owner: InstanceId, backend: Backend, spec: &Spec) -> io::Result<Ticket> {
    let given = spec.argv.given();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let words: Vec<String> = given.iter().map(|word| text(word)).collect();
    let env_names = cut_words(spec.options.env_names.clone(), RECORD_BYTES);
    Ok(Ticket {
        run_id: state_root::new_run_id()?,
        lease_id: state_root::new_lease()?,
        lease_epoch: 1,
        owner_instance_id: owner,
        backend_id: backend.word().to_owned(),
        command: cut_words(redact::command(&words), RECORD_BYTES),
        command_hash: command_hash(&given),
        cwd: text(&spec.cwd),
        options: RunOptions { env_names, ..spec.options.clone() },
        created_at_ms: clock::unix_ms(),
        escaped_from: None,
        registry_id: None,
    })
}

/// A launch whose run has a directory and a ticket, but no keeper yet.
#[derive(Debug)]
pub struct PreparedLaunch {
    dir: RunDir,
    frame: Vec<u8>,
    conns: Vec<Conn>,
}

/// Makes the run's directory and writes its ticket: the first half of a launch, which needs no nursery.
pub fn prepare(
    state: &StateRoot,
    ticket: &Ticket,
    spec: &Spec,
    peers: Vec<(Role, Conn)>,
) -> io::Result<PreparedLaunch> {
    let body = pack_body(spec, ticket);
    if body.len() > wire::MAX_BODY {
        // The nursery would drop the connection, and could launch nothing more.
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
        argc: spec.argv.words().len(),
        cgroup: spec.cgroup,
        passes_stdin: spec.passes_stdin,
    };
    let frame = wire::encode(&launch, &body);
    Ok(PreparedLaunch { dir, frame, conns })
}

/// Time limit for a nursery to read a launch. It does nothing but fork, so this is for a machine that
/// swaps.
const READ_LIMIT: Duration = Duration::from_secs(30);

impl NurseryHandle {
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

    /// Wraps a nursery that something else started, at the other end of this connection.
    pub fn new(conn: Conn, id: NurseryId, pid: i32, instance: InstanceId) -> Self {
        Self { passing: Passing::to(conn, pid), id, pid, instance, is_broken: Cell::new(false) }
    }

    /// Returns the nursery's id.
    pub fn id(&self) -> &NurseryId {
        &self.id
    }

    /// Returns the nursery's pid; it is a child of the process that started it.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns true if the nursery exited, was killed, or can take no more launches.
    pub fn is_gone(&self) -> bool {
        self.is_broken.get() || matches!(self.passing.conn().read(&mut [0]), Ok(Got::End) | Err(_))
    }

    /// Starts a run for `tenure run` that belongs to this process alone, through the keeper's first connection. If
    /// the spec passes standard input, this process must [pass](Frames::pass_stdin) its own on that connection.
    pub fn run(&self, state: &StateRoot, spec: &Spec, role: Role) -> io::Result<LaunchedRun> {
        let ticket = new_ticket(self.instance.clone(), Backend::Run, spec)?;
        state.mark_unregistered(&ticket.run_id)?;
        let (mine, theirs) = Conn::pair()?;
        let dir = self.request_keeper(prepare(state, &ticket, spec, vec![(role, theirs)])?)?;
        Ok(LaunchedRun { dir, ticket, keeper: Frames::new(mine) })
    }

    /// Requests the keeper: the second half of a launch. The prepared peers become the keeper's first connections.
    /// Each of them first receives `Started`, `NotStarted` or `Refused`; a connection that closes before that means
    /// there is no keeper. After a failed launch the nursery takes no more: see [`is_gone`](Self::is_gone).
    pub fn request_keeper(&self, prepared: PreparedLaunch) -> io::Result<RunDir> {
        let PreparedLaunch { dir, frame, conns } = prepared;
        if let Err(error) = self.send(&frame, &conns, clock::awake() + READ_LIMIT) {
            // The nursery has no whole launch and will not get one, so no keeper can write this ending.
            let why = format!("the launch cannot be sent to the nursery: {error}");
            let ending = Ending::never_started(dir.id().clone(), why.clone(), clock::unix_ms());
            dir.write_ending(&ending, None)?;
            return Err(io::Error::new(error.kind(), why));
        }
        Ok(dir)
    }

    /// Sends a whole frame. After a failure, nothing more is ever sent.
    fn send(&self, frame: &[u8], passed: &[Conn], deadline: Duration) -> io::Result<()> {
        if self.is_broken.get() {
            return Err(io::Error::other("an earlier launch was sent only in part"));
        }
        self.send_all(frame, passed, deadline).inspect_err(|_| self.is_broken.set(true))
    }

    /// Sends one connection with each of the first bytes, and the rest of the frame with the last connection.
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
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the nursery did not read the launch in time",
                ));
            }
            poll::wait(&[Interest::writing(self.passing.conn())], Some(left))?;
        }
        Ok(())
    }
}

impl Pollable for NurseryHandle {
    fn waitable(&self) -> Waitable<'_> {
        self.passing.conn().waitable()
    }
}

fn path_text(path: &Path) -> io::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the state root's path is not UTF-8"))
}

/// Packs the working directory, command and environment, which no record stores.
fn pack_body(spec: &Spec, ticket: &Ticket) -> Vec<u8> {
    let marks = marks(ticket);
    // The caller may itself be inside a run, of another session.
    let is_mark = |entry: &&Vec<u8>| {
        entry.starts_with(SESSION_KEY.as_bytes()) || marks.iter().any(|mark| names_same(mark, entry))
    };
    let env = spec.env.iter().filter(|entry| !is_mark(entry)).chain(&marks);
    wire::pack(&spec.cwd, spec.argv.words(), env)
}

/// Returns the environment entries that identify the run.
fn marks(ticket: &Ticket) -> Vec<Vec<u8>> {
    let mut marks = vec![
        format!("{RUN_ID}={}", ticket.run_id).into_bytes(),
        lease_mark(&ticket.lease_id),
        format!("TENURE_INSTANCE_ID={}", ticket.owner_instance_id).into_bytes(),
    ];
    if let Some(session) = &ticket.options.session_id {
        marks.push(format!("{SESSION_KEY}{session}").into_bytes());
    }
    marks
}

const RUN_ID: &str = "TENURE_RUN_ID";
const SESSION_KEY: &str = "TENURE_SESSION_KEY=";

/// Returns the environment entry that names a lease.
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
    fn a_nursery_that_read_only_part_of_a_launch_gets_no_more() {
        let (conn, theirs) = Conn::pair().expect("a pair");
        let id = state_root::new_nursery().expect("an id");
        let nursery = NurseryHandle::new(conn, id, 0, InstanceId::from_random([7; 12]));
        let soon = || clock::awake() + Duration::from_secs(5);
        nursery.send(b"whole", &[], soon()).expect("it fits");
        assert!(!nursery.is_gone());
        let error = nursery.send(&vec![0; 8 << 20], &[], clock::awake()).expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(nursery.is_gone(), "its end is open, but of no use");
        // There is room again; but the nursery would take new bytes for the rest.
        while matches!(theirs.read(&mut [0; 8 << 10]), Ok(Got::Bytes(_))) {}
        nursery.send(b"next", &[], soon()).expect_err("it is broken");
        assert_eq!(theirs.read(&mut [0; 9]).expect("a read"), Got::Nothing);
    }
}
