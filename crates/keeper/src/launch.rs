//! Having a run kept: a nursery is started once, and each launch makes a run's directory, writes its ticket and
//! asks the nursery for a keeper. The keeper's first connection is made before it is, so that the death of
//! either side shows at once, whenever it comes.

use crate::frames::Frames;
use crate::rundir::RunDir;
use crate::state_root::{self, StateRoot};
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::ending::SpawnError;
use tenure_core::hash::command_hash;
use tenure_core::ids::{InstanceId, LeaseId, NurseryId, RunId};
use tenure_core::output::Keep;
use tenure_core::record::{Ending, Ticket};
use tenure_core::spec::{Spec, Transport};
use tenure_core::wire::{self, Launch, Role};
use tenure_os::poll::{self, Interest};
use tenure_os::socket::Conn;
use tenure_os::{clock, descriptors, pause, program};

/// A nursery that this process started.
#[derive(Debug)]
pub struct Nursery {
    conn: Conn,
    id: NurseryId,
    pid: i32,
    instance: InstanceId,
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
    /// Who sits on the first connection.
    pub role: Role,
    /// Which face asks.
    pub backend: &'static str,
    /// Whether to use a cgroup where one can be had.
    pub cgroup: bool,
    /// How much output to keep.
    pub keep: Keep,
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
        Ok(Self { conn, id, pid, instance })
    }

    /// Its id.
    pub fn id(&self) -> &NurseryId {
        &self.id
    }

    /// Its pid; it is a child of this process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Starts one run.
    pub fn launch(&self, state: &StateRoot, spec: &Spec, terms: &Terms) -> io::Result<Launched> {
        let dir = state.make_run(state_root::new_run_id()?)?;
        let ticket = ticket(dir.id().clone(), self.instance.clone(), spec, terms)?;
        dir.write_ticket(&ticket)?;
        pause::point("caller-before-launch");
        let (mine, theirs) = Conn::pair()?;
        let argv = spec.transport.argv();
        let launch = Launch {
            directory: path_text(dir.path())?,
            role: terms.role,
            umask: spec.umask,
            nofile: descriptors::limit(),
            argc: argv.words().len(),
            cgroup: terms.cgroup,
        };
        let body = body(spec, argv.words(), &ticket);
        if let Err(error) = self.send(&wire::encode(&launch, &body), &theirs) {
            // The nursery has no whole launch, so there will be no keeper to say this.
            let why =
                SpawnError { detail: format!("the nursery cannot be asked: {error}"), not_found: false };
            dir.write_ending(&Ending::not_started(dir.id().clone(), &why, clock::unix_ms()), None)?;
            return Err(io::Error::new(error.kind(), why.detail));
        }
        Ok(Launched { dir, ticket, keeper: Frames::new(mine) })
    }

    /// Sends a whole frame, the descriptor with its first byte.
    fn send(&self, frame: &[u8], descriptor: &Conn) -> io::Result<()> {
        use std::os::fd::AsFd;
        let deadline = clock::awake() + PATIENCE;
        let mut sent = 0;
        while sent < frame.len() {
            let rest = &frame[sent..];
            let n = match sent {
                0 => self.conn.write_with_fd(rest, descriptor.as_fd())?,
                _ => self.conn.write(rest)?,
            };
            sent += n;
            if n == 0 {
                let left = deadline.saturating_sub(clock::awake());
                if left.is_zero() {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "the nursery does not take the launch",
                    ));
                }
                poll::wait(&[Interest { on: self.conn.as_fd(), read: false, write: true }], Some(left))?;
            }
        }
        Ok(())
    }
}

fn path_text(path: &Path) -> io::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the state root's path is not UTF-8"))
}

/// The parts that no record keeps: working directory, command and environment, each ended by a NUL.
fn body(spec: &Spec, argv: &[Vec<u8>], ticket: &Ticket) -> Vec<u8> {
    let marks = marks(ticket);
    let is_mark = |entry: &&Vec<u8>| marks.iter().any(|mark| names_same(mark, entry));
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
        marks.push(format!("TENURE_SESSION_KEY={session}").into_bytes());
    }
    marks
}

const RUN_ID: &str = "TENURE_RUN_ID";

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

fn ticket(run_id: RunId, instance: InstanceId, spec: &Spec, terms: &Terms) -> io::Result<Ticket> {
    let argv = spec.transport.argv();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Ticket {
        run_id,
        lease_id: state_root::new_lease()?,
        lease_epoch: 1,
        owner_instance_id: instance,
        backend_id: terms.backend.to_owned(),
        session_id: spec.session.clone(),
        scope: spec.scope.clone(),
        label: spec.label.clone(),
        command: argv.words().iter().map(|word| text(word)).collect(),
        command_hash: command_hash(argv.words()),
        cwd: text(&spec.cwd),
        env_names: spec.env_names.clone(),
        pty_size: spec.transport.size(),
        stdin: matches!(spec.transport, Transport::Pty { .. } | Transport::Pipes { stdin: true, .. }),
        limits: spec.limits.clone(),
        on_escape: spec.on_escape,
        orphan: spec.orphan,
        keep: terms.keep,
        created_at_ms: clock::unix_ms(),
        escaped_from: None,
    })
}
