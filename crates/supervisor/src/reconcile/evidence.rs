//! The evidence about a recorded run: its files, its locks, its keeper and its processes.

use super::Mode;
use crate::lease;
use crate::link::Link;
use crate::supervisor::Supervisor;
use std::io;
use std::path::Path;
use tenure_core::lease::{Hold, Standing};
use tenure_core::reconcile::{
    Case, EndingEvidence, KeeperEvidence, LeaseView, Leftovers, NurseryEvidence, Recorded, RootEvidence,
};
use tenure_core::record::{BadRecord, KeeperNote, Ticket};
use tenure_core::wire::{Role, refusal};
use tenure_keeper::nursery;
use tenure_keeper::orphaned::by_daemon::OrphanedRun;
use tenure_keeper::rundir::{RecordError, RunDir};
use tenure_os::{clock, process};
use tenure_store::RunRow;

/// The reason for leaving a run alone whose directory is a copy.
const KEPT_ELSEWHERE: &str = "its keeper lives and uses another directory: this one is a copy";

/// The evidence for a verdict, and the connection to the keeper if we hold the run and it answers.
pub(super) struct Findings {
    pub(super) case: Case,
    pub(super) link: Option<Link>,
    /// The keeper's epoch, if it is newer than ours. Our record is then older than the lease.
    pub(super) ahead: Option<u64>,
}

pub(super) async fn gather(supervisor: &Supervisor, row: &RunRow, mode: Mode) -> Findings {
    let (now, wall) = (clock::awake(), clock::unix_ms());
    let expired = row.hold.instance != supervisor.instance
        && lease::is_gone(supervisor, &row.hold.instance, wall).await;
    let lease = if row.foreign {
        LeaseView::Foreign
    } else {
        LeaseView::of(&row.hold, &supervisor.instance, expired)
    };
    let case = Case {
        record: Recorded {
            state: row.state,
            orphan: row.ticket.options.orphan,
            is_taken_over: row.ticket.owner_instance_id != supervisor.instance,
        },
        us: supervisor.leases.tenancy().standing(now, wall),
        lease,
        ending: EndingEvidence::Missing,
        keeper: KeeperEvidence::LockFree,
        nursery: NurseryEvidence::Disclaims,
        root: RootEvidence::NoIdentity,
        leftovers: Leftovers::Known(0),
    };
    if matches!(case.lease, LeaseView::OtherHealthy | LeaseView::Foreign) {
        // We do not act on it, so we do not look at it either.
        return Findings { case, link: None, ahead: None };
    }
    match RunDir::open(Path::new(&row.directory)) {
        Ok(dir) => gather_from(supervisor, &dir, row, mode, case).await,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Findings { case: without_directory(row, case), link: None, ahead: None }
        }
        Err(error) => Findings {
            case: Case { keeper: KeeperEvidence::Unreadable(error.to_string()), ..case },
            link: None,
            ahead: None,
        },
    }
}

async fn gather_from(
    supervisor: &Supervisor,
    dir: &RunDir,
    row: &RunRow,
    mode: Mode,
    mut case: Case,
) -> Findings {
    // A holder that connects and leaves again counts as lost, so we connect as the holder only if we may stay.
    let stays = mode == Mode::Act && case.lease == LeaseView::Mine && case.us == Standing::Holding;
    let KeeperFinding { evidence, link, ahead } = keeper(supervisor, dir, stays.then_some(&row.hold)).await;
    case.keeper = evidence;
    // Read after the keeper was asked: a keeper that exits in between has written its ending.
    case.ending = match dir.ending() {
        Ok(Some(_)) => EndingEvidence::Found,
        Ok(None) | Err(RecordError::Bad { source: BadRecord::Torn, .. }) => EndingEvidence::Missing,
        Err(error) => EndingEvidence::Unreadable(error.to_string()),
    };
    let note = match dir.note() {
        Ok(note) => note,
        // A truncated note was never finished, so its root never executed.
        Err(RecordError::Bad { source: BadRecord::Torn, .. }) => None,
        Err(error) => {
            case.root = RootEvidence::Unreadable(error.to_string());
            return Findings { case, link, ahead };
        }
    };
    case.nursery = nursery_of(dir, note.as_ref());
    case.root = root(note.as_ref());
    let nobody_acts = case.keeper == KeeperEvidence::LockFree && case.nursery != NurseryEvidence::LockHeld;
    if nobody_acts && case.ending == EndingEvidence::Missing && case.root != RootEvidence::Rebooted {
        case.leftovers = leftovers(dir, &row.ticket);
    }
    Findings { case, link, ahead }
}

/// Connects to the keeper: as the holder if the run is to be resumed, otherwise only as a probe.
async fn keeper(supervisor: &Supervisor, dir: &RunDir, hold: Option<&Hold>) -> KeeperFinding {
    match dir.has_keeper() {
        // The processes in a copy's records are those of the original.
        Ok(false) if dir.is_kept_elsewhere() => {
            return KeeperFinding::new(KeeperEvidence::Unreadable(KEPT_ELSEWHERE.to_owned()));
        }
        Ok(false) => return KeeperFinding::new(KeeperEvidence::LockFree),
        Ok(true) => {}
        Err(error) => return KeeperFinding::new(KeeperEvidence::Unreadable(error.to_string())),
    }
    let role = hold.map_or(Role::Viewer, |hold| Role::Holder { epoch: hold.epoch });
    match Link::connect(dir, role, hold.map(|_| supervisor.as_holder())).await {
        Ok(link) => KeeperFinding { link: hold.map(|_| link), ..KeeperFinding::new(KeeperEvidence::Answers) },
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let why = error.to_string();
            tracing::info!(run = %dir.id(), why, "a keeper does not hand its run over to us");
            KeeperFinding {
                ahead: refusal::current_epoch(&why),
                ..KeeperFinding::new(KeeperEvidence::Refuses)
            }
        }
        Err(error) => {
            tracing::debug!(run = %dir.id(), %error, "a keeper does not answer");
            KeeperFinding::new(KeeperEvidence::LockHeldButSilent)
        }
    }
}

/// The result of probing a keeper.
struct KeeperFinding {
    evidence: KeeperEvidence,
    link: Option<Link>,
    ahead: Option<u64>,
}

impl KeeperFinding {
    fn new(evidence: KeeperEvidence) -> Self {
        Self { evidence, link: None, ahead: None }
    }
}

/// Completes the case of a run without a directory. If the row was written and the directory was not, nothing was
/// started; but a directory that was removed, or is out of reach, had a keeper that may be alive (I6).
fn without_directory(row: &RunRow, case: Case) -> Case {
    let reachable = Path::new(&row.directory).parent().is_some_and(Path::is_dir);
    let root = root(row.note.as_ref());
    let keeper = match &root {
        _ if !reachable => "the state root of its owner does not exist",
        RootEvidence::Same(_) => "its directory was removed, and its root lives",
        RootEvidence::Unreadable(_)
        | RootEvidence::Other
        | RootEvidence::Gone
        | RootEvidence::Rebooted
        | RootEvidence::NoIdentity => return Case { root, ..case },
    };
    Case { keeper: KeeperEvidence::Unreadable(keeper.to_owned()), root, ..case }
}

/// Checks the run's nursery. Without a note no nursery can write an ending; a nursery that is about to fork a keeper
/// finds the lock or the ending of the process that closes the run.
fn nursery_of(dir: &RunDir, note: Option<&KeeperNote>) -> NurseryEvidence {
    let Some(note) = note else { return NurseryEvidence::Disclaims };
    let Some(state) = dir.path().parent().and_then(Path::parent) else { return NurseryEvidence::LockFree };
    match nursery::lives(state, &note.nursery_id) {
        Ok(true) => NurseryEvidence::LockHeld,
        Ok(false) => NurseryEvidence::LockFree,
        Err(error) => NurseryEvidence::Unreadable(error.to_string()),
    }
}

fn root(note: Option<&KeeperNote>) -> RootEvidence {
    RootEvidence::of(note.map(|note| &note.root), process::here(), |root| {
        let (evidence, process) = process::look(root);
        (evidence, process.is_some_and(|process| process.is_alive()))
    })
}

fn leftovers(dir: &RunDir, ticket: &Ticket) -> Leftovers {
    let listed = RunDir::open(dir.path())
        .map_err(|error| error.to_string())
        .and_then(|dir| OrphanedRun::read(dir, ticket).map_err(|error| error.to_string()))
        .and_then(|run| run.members().map_err(|error| error.to_string()));
    match listed {
        Ok(members) => Leftovers::Known(u32::try_from(members.len()).unwrap_or(u32::MAX)),
        Err(why) => Leftovers::Unreadable(why),
    }
}
