//! The kept way: a warm nursery, and runs that end with this program whatever happens to it.

use crate::subject::Subject;
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::limits::Limits;
use tenure_core::output::Keep;
use tenure_core::record::{Ending, KeeperNote};
use tenure_core::resources::Resources;
use tenure_core::spec::{Argv, OnEscape, Orphan, PtyCommand, Size, Spec, Transport};
use tenure_core::wire::{Ask, Role, Tell};
use tenure_keeper::frames::Broken;
use tenure_keeper::launch::{Launched, Nursery, Terms};
use tenure_keeper::state_root::StateRoot;

/// How long any answer may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A state root and its nursery.
pub(crate) struct Kept {
    state: StateRoot,
    nursery: Nursery,
}

/// How a run is launched.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) cgroup: bool,
    pub(crate) pty: bool,
    pub(crate) grace: Duration,
    pub(crate) keep: Keep,
}

impl How {
    /// With pipes and the defaults.
    pub(crate) fn plain() -> Self {
        Self { cgroup: false, pty: false, grace: Limits::default().grace, keep: Keep::default() }
    }
}

impl Kept {
    pub(crate) fn open(state: &Path) -> io::Result<Self> {
        let state = StateRoot::open(state).map_err(io::Error::other)?;
        let nursery = Nursery::start(&state)?;
        Ok(Self { state, nursery })
    }

    /// The nursery's pid.
    pub(crate) fn nursery(&self) -> i32 {
        self.nursery.pid()
    }

    /// Launches a run and goes on.
    pub(crate) fn launch(&self, spec: &Spec, how: How) -> io::Result<Run> {
        let role = Role::Holder { epoch: 1 };
        let terms = Terms { backend: "run", cgroup: how.cgroup, keep: how.keep };
        self.nursery.run(&self.state, spec, &terms, (role, false)).map(Run)
    }
}

/// What to launch.
pub(crate) fn spec(subject: &Subject, args: &[&str], how: How) -> io::Result<Spec> {
    let command = Argv::new(subject.words(args)).map_err(io::Error::other)?;
    let transport = if how.pty {
        Transport::Pty { command: PtyCommand::Argv(command), size: Size { cols: 120, rows: 30 } }
    } else {
        Transport::Pipes { command, stdin: false }
    };
    // Should this program die, its runs follow it soon.
    let limits = Limits { grace: how.grace, orphan_grace: Duration::from_secs(1), ..Limits::default() };
    Ok(Spec {
        transport,
        cwd: b"/".to_vec(),
        env: subject.env.clone(),
        env_names: Vec::new(),
        nofile: None,
        umask: 0o022,
        session: None,
        scope: None,
        label: None,
        limits,
        resources: Resources::default(),
        on_escape: OnEscape::default(),
        orphan: Orphan::Terminate,
    })
}

/// A launched run.
pub(crate) struct Run(Launched);

impl Run {
    /// Waits until the command executes.
    pub(crate) fn started(&mut self) -> io::Result<KeeperNote> {
        loop {
            match self.hear()? {
                Tell::Started { note } => return Ok(*note),
                Tell::NotStarted { error } => return Err(io::Error::other(error.detail)),
                Tell::Refused { why } => return Err(io::Error::other(why)),
                _ => {}
            }
        }
    }

    /// Asks for the end.
    pub(crate) fn cancel(&mut self) {
        self.0.keeper.send(&Ask::Cancel { now: false }, &[]);
    }

    /// Waits for the end.
    pub(crate) fn wait(&mut self) -> io::Result<Ending> {
        loop {
            if let Tell::Ended { ending } = self.hear()? {
                return Ok(*ending);
            }
        }
    }

    /// Removes the ended run's directory. Not between two latencies: ext4 looks at every recently removed file
    /// before it makes a new one.
    pub(crate) fn remove(self) -> io::Result<()> {
        std::fs::remove_dir_all(self.0.dir.path())
    }

    fn hear(&mut self) -> io::Result<Tell> {
        let heard = self.0.keeper.receive::<Tell>(PATIENCE);
        heard.map(|(tell, _)| tell).map_err(|broken| match broken {
            Broken::Io(error) => error,
            other => io::Error::other(other.to_string()),
        })
    }
}
