//! Runs under a keeper: a warm nursery, and runs that end with this program in any case.

use crate::subject::Subject;
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::defaults::PTY_SIZE;
use tenure_core::limits::Limits;
use tenure_core::output::Keep;
use tenure_core::record::{Ending, KeeperNote};
use tenure_core::spec::{Argv, RunOptions, Spec};
use tenure_core::wire::{KeeperMessage, KeeperRequest, Role};
use tenure_keeper::frames::ConnectionError;
use tenure_keeper::launch::{LaunchedRun, NurseryHandle};
use tenure_keeper::state_root::StateRoot;

/// Time limit of any response.
const RESPONSE_LIMIT: Duration = Duration::from_mins(1);

/// A state root and its nursery.
pub(crate) struct TenureRuns {
    state: StateRoot,
    nursery: NurseryHandle,
}

/// Options of a launch.
#[derive(Clone, Copy)]
pub(crate) struct LaunchOptions {
    pub(crate) cgroup: bool,
    pub(crate) pty: bool,
    pub(crate) grace: Duration,
    pub(crate) keep: Keep,
}

impl LaunchOptions {
    /// Pipes and the defaults.
    pub(crate) fn plain() -> Self {
        Self { cgroup: false, pty: false, grace: Limits::default().grace, keep: Keep::default() }
    }
}

impl TenureRuns {
    pub(crate) fn open(state: &Path) -> io::Result<Self> {
        let state = StateRoot::open(state).map_err(io::Error::other)?;
        let nursery = NurseryHandle::start(&state)?;
        Ok(Self { state, nursery })
    }

    /// The nursery's pid.
    pub(crate) fn nursery(&self) -> i32 {
        self.nursery.pid()
    }

    /// Launches a run without waiting for it.
    pub(crate) fn launch(&self, spec: &Spec) -> io::Result<Run> {
        let role = Role::Holder { epoch: 1 };
        self.nursery.run(&self.state, spec, role).map(Run)
    }
}

/// Builds the spec of a run.
pub(crate) fn spec(subject: &Subject, args: &[&str], how: LaunchOptions) -> io::Result<Spec> {
    // If this program dies, its runs end soon after.
    let limits = Limits { grace: how.grace, orphan_grace: Duration::from_secs(1), ..Limits::default() };
    let mut options = RunOptions { limits, keep: how.keep, ..RunOptions::default() };
    if how.pty {
        options.use_terminal(PTY_SIZE);
    }
    Ok(Spec {
        argv: Argv::new(subject.words(args)).map_err(io::Error::other)?,
        env: subject.env.clone(),
        cgroup: how.cgroup,
        options,
        ..Spec::default()
    })
}

/// A launched run.
pub(crate) struct Run(LaunchedRun);

impl Run {
    /// Waits until the command executes.
    pub(crate) fn started(&mut self) -> io::Result<KeeperNote> {
        loop {
            match self.hear()? {
                KeeperMessage::Started { note } => return Ok(*note),
                KeeperMessage::NotStarted { error } => return Err(io::Error::other(error.detail)),
                KeeperMessage::Refused { why } => return Err(io::Error::other(why)),
                _ => {}
            }
        }
    }

    /// Requests the run's end.
    pub(crate) fn cancel(&mut self) {
        self.0.keeper.send(&KeeperRequest::Cancel { now: false }, &[]);
    }

    /// Waits for the ending.
    pub(crate) fn wait(&mut self) -> io::Result<Ending> {
        loop {
            if let KeeperMessage::Ended { ending } = self.hear()? {
                return Ok(*ending);
            }
        }
    }

    /// Removes the ended run's directory. Not between two latencies: ext4 checks every recently removed file
    /// before it makes a new one.
    pub(crate) fn remove(self) -> io::Result<()> {
        std::fs::remove_dir_all(self.0.dir.path())
    }

    fn hear(&mut self) -> io::Result<KeeperMessage> {
        let heard = self.0.keeper.receive::<KeeperMessage>(RESPONSE_LIMIT);
        heard.map(|(tell, _)| tell).map_err(|broken| match broken {
            ConnectionError::Io(error) => error,
            other => io::Error::other(other.to_string()),
        })
    }
}
