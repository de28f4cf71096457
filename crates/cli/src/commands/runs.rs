//! Access to runs for the verbs: through the daemon, or through the files and keepers if no daemon answers. Each verb is
//! written once, over [`Runs`].

use super::progress::Progress;
use super::{NO_LIMIT, ask, dial, find, list_runs, refuse_foreign, unexpected, view};
use crate::failure::Failure;
use crate::{daemon_client, settings};
use std::time::Duration;
use tenure_client::{Client, Filter};
use tenure_core::api::Selector;
use tenure_core::ending::Termination;
use tenure_core::ids;
use tenure_core::record::Ending;
use tenure_core::run_json::{RunJson, RunView};
use tenure_core::state::State;
use tenure_core::wire::{KeeperMessage, KeeperRequest};
use tenure_keeper::frames::ConnectionError;
use tenure_keeper::nursery;
use tenure_keeper::rundir::RunDir;
use tenure_keeper::state_root::StateRoot;
use tenure_os::clock;
use tenure_os::stderr::complain;
use tenure_settings::Settings;

/// Number of runs in one page of the daemon's list.
const PAGE: usize = 500;
/// Time limit for a requested run to get its keeper.
const START_MS: u64 = 10_000;
/// Interval for polling a run whose keeper is gone.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// All runs of a state root.
pub(super) enum Runs {
    /// Known from the daemon.
    Daemon(Client),
    /// Known from their files and keepers.
    Files(StateRoot),
}

/// A run that was found. Verbs find every run before they touch any.
pub(super) enum FoundRun<'a> {
    Daemon { client: &'a Client, run: Box<RunJson> },
    Files { state: &'a StateRoot, dir: RunDir },
}

impl Runs {
    /// Connects to the daemon, and starts it if needed. Without a daemon, opens the files.
    pub(super) fn connect(settings: &Settings) -> Result<Self, Failure> {
        match daemon_client::connect_or_start(settings)? {
            Some(client) => Ok(Self::Daemon(client)),
            None => Self::files(settings),
        }
    }

    /// Opens the files.
    pub(super) fn files(settings: &Settings) -> Result<Self, Failure> {
        settings::open(settings).map(Self::Files)
    }

    /// Runs a verb, with the files if the daemon does not answer. If the daemon goes away during the call (hung and replaced),
    /// repeats the call once with the next one: only for verbs that may be repeated.
    pub(super) fn with<T>(
        settings: &Settings,
        verb: impl Fn(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let ask = || Self::connect(settings).and_then(|runs| verb(&runs));
        let answer = match ask() {
            Err(failure) if failure.is_lost() => ask(),
            answer => answer,
        };
        match answer {
            Err(failure) if failure.is_silent() => {
                complain(format_args!("{}; the files are read instead", failure.text()));
                verb(&Self::files(settings)?)
            }
            answer => answer,
        }
    }

    /// Finds a run by its id or a unique prefix of it.
    pub(super) fn find(&self, id: &str) -> Result<FoundRun<'_>, Failure> {
        Ok(match self {
            Self::Daemon(client) => {
                FoundRun::Daemon { client, run: Box::new(daemon_client::call(client.run(id))?) }
            }
            Self::Files(state) => FoundRun::Files { state, dir: find(state, id)? },
        })
    }

    /// Finds all runs to end or remove, before any of them is touched. Refuses short prefixes.
    pub(super) fn find_to_end(&self, ids: &[String]) -> Result<Vec<FoundRun<'_>>, Failure> {
        ids.iter().try_for_each(|id| ids::check_prefix(id)).map_err(Failure::refused)?;
        ids.iter().map(|id| self.find(id)).collect()
    }

    /// Lists runs, the newest last. `limit` only saves requests for older runs: the caller cuts the list.
    pub(super) fn list(&self, mut filter: Filter, limit: Option<usize>) -> Result<Vec<RunJson>, Failure> {
        let client = match self {
            Self::Daemon(client) => client,
            Self::Files(state) => return from_files(state, &filter),
        };
        filter.limit = Some(limit.unwrap_or(PAGE).clamp(1, PAGE));
        let mut runs = Vec::new();
        loop {
            let page = daemon_client::call(client.runs(&filter))?;
            runs.extend(page.runs);
            filter.after = page.next;
            if filter.after.is_none() || limit.is_some_and(|limit| runs.len() >= limit) {
                runs.reverse();
                return Ok(runs);
            }
        }
    }

    /// Cancels every live run of a scope, session or agent; returns their ids.
    pub(super) fn cancel_many(&self, which: Selector, now: bool) -> Result<Vec<String>, Failure> {
        match self {
            Self::Daemon(client) => daemon_client::call(client.cancel_many(which, now)),
            Self::Files(_) => Err(Failure::refused(
                "the daemon does not answer, and without it runs can only be cancelled by id: use `tenure cancel ID`",
            )),
        }
    }
}

fn from_files(state: &StateRoot, filter: &Filter) -> Result<Vec<RunJson>, Failure> {
    let recorded = |view: &RunView| {
        let is = |asked: &Option<String>, its: &Option<String>| asked.is_none() || asked == its;
        (filter.all || view.state != State::Exited)
            && is(&filter.session, &view.ticket.options.session_id)
            && is(&filter.scope, &view.ticket.options.scope)
    };
    Ok(list_runs(state, recorded)?.into_iter().map(|(_, view)| view.json()).collect())
}

impl FoundRun<'_> {
    /// Returns the run's record.
    pub(super) fn json(self) -> Result<RunJson, Failure> {
        match self {
            Self::Daemon { run, .. } => Ok(*run),
            Self::Files { dir, .. } => Ok(view(&dir).map_err(Failure::refused)?.json()),
        }
    }

    /// Waits for the run's end; `None` if the deadline came first.
    pub(super) fn wait(
        &mut self,
        deadline: Option<Duration>,
        progress: &mut Progress,
    ) -> Result<Option<Termination>, Failure> {
        let (client, run) = match self {
            Self::Daemon { client, run } => (client, run),
            Self::Files { state, dir } => {
                return Ok(ending_of(state, dir, deadline)?.map(|ending| ending.termination));
            }
        };
        while run.termination.is_none() {
            progress.show(run);
            let left = deadline.map(|deadline| deadline.saturating_sub(clock::awake()));
            let slice = progress.next_wait(left);
            let left_ms = slice.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
            **run = daemon_client::call(client.wait(&run.run_id, left_ms))?;
            if run.termination.is_none() && left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
        }
        Ok(run.termination.clone())
    }

    /// Cancels the run.
    pub(super) fn cancel(&self, now: bool) -> Result<(), Failure> {
        match self {
            Self::Daemon { client, run } => daemon_client::call(client.cancel(&run.run_id, now)),
            Self::Files { state, dir } => cancel(state, dir, now),
        }
    }

    /// Removes the run's records and output; cancels a live one first.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        let (state, dir) = match self {
            Self::Daemon { client, run } => return daemon_client::call(client.remove(&run.run_id)),
            Self::Files { state, dir } => (state, dir),
        };
        let view = dir.view().map_err(Failure::refused)?;
        if view.ending.is_none() {
            refuse_foreign(dir)?;
        }
        // Wait for a run that is about to get a keeper or an ending. A lost run has no process to wait for.
        if view.ending.is_none() && (view.has_keeper || ending_expected(state, dir)?) {
            cancel(state, dir, false)?;
            ending_of(state, dir, None)?;
        }
        std::fs::remove_dir_all(dir.path())
            .map_err(|error| Failure::refused(format!("{}: {error}", dir.path().display())))
    }
}

/// Asks a run's keeper to end it. A run that has ended needs no cancel.
pub(super) fn cancel(state: &StateRoot, dir: &RunDir, now: bool) -> Result<(), Failure> {
    let Some(mut keeper) = dial(dir)? else {
        let ended = dir.ending().map_err(Failure::refused)?.is_some() || ending_expected(state, dir)?;
        let lost = || Failure::refused(format!("run {} is lost: its keeper and nursery are gone", dir.id()));
        return if ended { Ok(()) } else { Err(lost()) };
    };
    match ask(&mut keeper, &KeeperRequest::Cancel { now }, &[])? {
        // The run may end before the keeper replies.
        KeeperMessage::Done | KeeperMessage::Ended { .. } => Ok(()),
        other => Err(unexpected(&other)),
    }
}

/// Waits for a run's ending; `None` if the deadline came first.
pub(super) fn ending_of(
    state: &StateRoot,
    dir: &RunDir,
    deadline: Option<Duration>,
) -> Result<Option<Ending>, Failure> {
    if dir.ending().map_err(Failure::refused)?.is_none() {
        refuse_foreign(dir)?;
    }
    loop {
        let kept = dir.has_keeper().map_err(Failure::refused)?;
        if let Some(ending) = dir.ending().map_err(Failure::refused)? {
            return Ok(Some(ending));
        }
        let left = deadline.map_or(NO_LIMIT, |deadline| deadline.saturating_sub(clock::awake()));
        if left.is_zero() {
            return Ok(None);
        }
        // A keeper that does not answer is not dead (I6): poll for its ending.
        if let Some(mut keeper) = if kept { dial(dir).ok().flatten() } else { None } {
            keeper.send(&KeeperRequest::Follow, &[]);
            loop {
                let left = deadline.map_or(NO_LIMIT, |deadline| deadline.saturating_sub(clock::awake()));
                match keeper.receive::<KeeperMessage>(left) {
                    Ok((KeeperMessage::Ended { ending }, _)) => return Ok(Some(*ending)),
                    Ok(_) => {}
                    Err(ConnectionError::TimedOut(_)) => return Ok(None),
                    Err(_) => break,
                }
            }
        } else {
            if !kept && !ending_expected(state, dir)? {
                return Err(Failure::unknown(format!(
                    "the ending of run {} is unknown: its keeper and nursery are gone",
                    dir.id()
                )));
            }
            // The keeper is gone and the ending is not written yet: the nursery will write it.
            tenure_os::poll::wait(&[], Some(left.min(POLL_INTERVAL))).map_err(Failure::refused)?;
        }
    }
}

/// Returns true if a run without a keeper will get an ending, because its nursery lives. A run without a note waits for its
/// keeper, or was never given one.
fn ending_expected(state: &StateRoot, dir: &RunDir) -> Result<bool, Failure> {
    let Some(note) = dir.note().map_err(Failure::refused)? else {
        let asked_at = dir.ticket().map_err(Failure::refused)?.created_at_ms;
        return Ok(clock::unix_ms().saturating_sub(asked_at) < START_MS);
    };
    let lives = nursery::lives(state.path(), &note.nursery_id).map_err(Failure::refused)?;
    // The nursery writes the ending before it exits.
    Ok(lives || dir.ending().map_err(Failure::refused)?.is_some())
}
