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
use tenure_core::ids::{InstanceId, LeaseId, NurseryId};
use tenure_core::record::{Ending, RECORD_BYTES, Ticket, cut_words};
use tenure_core::redact;
use tenure_core::session::Backend;
use tenure_core::spec::{RunOptions, Spec};
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
    /// True if a launch was sent in part: whatever came after it would be taken for its rest.
    torn: Cell<bool>,
}

/// A run that a keeper was asked for.
#[derive(Debug)]
pub struct Launched {
    /// Its directory.
    pub dir: RunDir,
    /// Its ticket.
    pub ticket: Ticket,
    /// The keeper's first connection. It says `Started`, `NotStarted` or `Refused` first.
    pub keeper: Frames,
}

/// A new run's ticket, settled before anything is started, so that a registry can hold it by then (I2).
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

/// A launch whose run has its directory and ticket, and lacks a keeper.
#[derive(Debug)]
pub struct Prepared {
    dir: RunDir,
    frame: Vec<u8>,
    conns: Vec<Conn>,
}

/// The first half of a launch, which needs no nursery: makes the run's directory and writes its ticket.
pub fn prepare(
    state: &StateRoot,
    ticket: &Ticket,
    spec: &Spec,
    peers: Vec<(Role, Conn)>,
) -> io::Result<Prepared> {
    let body = body(spec, ticket);
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
        argc: spec.argv.words().len(),
        cgroup: spec.cgroup,
        passes_stdin: spec.passes_stdin,
    };
    let frame = wire::encode(&launch, &body);
    Ok(Prepared { dir, frame, conns })
}

/// Time limit for a nursery to read a launch. It does nothing but fork, so this is for a machine that
/// swaps.
const READ_LIMIT: Duration = Duration::from_secs(30);

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

    /// Returns true if it has left, was killed, or can be asked for nothing more. It says nothing while it lives.
    pub fn is_gone(&self) -> bool {
        self.torn.get() || matches!(self.passing.conn().read(&mut [0]), Ok(Got::End) | Err(_))
    }

    /// Starts one run of `tenure run` that is nobody's but this process's, which sits on the keeper's first connection. If
    /// the spec passes standard input, this process has to [pass](Frames::pass_stdin) its own there.
    pub fn run(&self, state: &StateRoot, spec: &Spec, role: Role) -> io::Result<Launched> {
        let ticket = new_ticket(self.instance.clone(), Backend::Run, spec)?;
        state.mark_unregistered(&ticket.run_id)?;
        let (mine, theirs) = Conn::pair()?;
        let dir = self.ask(prepare(state, &ticket, spec, vec![(role, theirs)])?)?;
        Ok(Launched { dir, ticket, keeper: Frames::new(mine) })
    }

    /// The second half of a launch: asks for the keeper. It gets the prepared peers as its first connections; each of them
    /// is told `Started`, `NotStarted` or `Refused` first, and one that is closed was left without a keeper. A launch
    /// that fails is the nursery's last: see [`is_gone`](Self::is_gone).
    pub fn ask(&self, prepared: Prepared) -> io::Result<RunDir> {
        let Prepared { dir, frame, conns } = prepared;
        if let Err(error) = self.send(&frame, &conns, clock::awake() + READ_LIMIT) {
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

/// The packed working directory, command and environment, which no record keeps.
fn body(spec: &Spec, ticket: &Ticket) -> Vec<u8> {
    let marks = marks(ticket);
    // Whoever began the run may be in one itself, and of a session that is not this run's.
    let is_mark = |entry: &&Vec<u8>| {
        entry.starts_with(SESSION_KEY.as_bytes()) || marks.iter().any(|mark| names_same(mark, entry))
    };
    let env = spec.env.iter().filter(|entry| !is_mark(entry)).chain(&marks);
    wire::pack(&spec.cwd, spec.argv.words(), env)
}

/// The entries of its environment that tell a run from any other.
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
