//! What the system says now of a recorded run.

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
use tenure_keeper::rundir::{RunDir, Unread};
use tenure_os::{clock, process};
use tenure_store::RunRow;

/// The reason for leaving a run alone whose directory is a copy.
const KEPT_ELSEWHERE: &str = "its keeper lives and keeps another directory: this one is a copy";

/// Everything that a verdict depends on, and the connection to the keeper if it is ours and answers.
pub(super) struct Looked {
    pub(super) case: Case,
    pub(super) link: Option<Link>,
    /// The keeper's epoch, if it is newer than ours. Our record is then older than the lease.
    pub(super) ahead: Option<u64>,
}

pub(super) async fn look(supervisor: &Supervisor, row: &RunRow, mode: Mode) -> Looked {
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
        // It is not touched, so it is not looked at either.
        return Looked { case, link: None, ahead: None };
    }
    match RunDir::open(Path::new(&row.directory)) {
        Ok(dir) => look_into(supervisor, &dir, row, mode, case).await,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Looked { case: without_directory(row, case), link: None, ahead: None }
        }
        Err(error) => Looked {
            case: Case { keeper: KeeperEvidence::Unreadable(error.to_string()), ..case },
            link: None,
            ahead: None,
        },
    }
}

async fn look_into(
    supervisor: &Supervisor,
    dir: &RunDir,
    row: &RunRow,
    mode: Mode,
    mut case: Case,
) -> Looked {
    // A holder that connects and leaves again counts as lost, so we connect as the holder only if we may stay.
    let stays = mode == Mode::Act && case.lease == LeaseView::Mine && case.us == Standing::Holding;
    let Kept { evidence, link, ahead } = keeper(supervisor, dir, stays.then_some(&row.hold)).await;
    case.keeper = evidence;
    // Read after the keeper was asked: a keeper that exits in between has written its ending.
    case.ending = match dir.ending() {
        Ok(Some(_)) => EndingEvidence::Found,
        Ok(None) | Err(Unread::Bad { source: BadRecord::Torn, .. }) => EndingEvidence::Missing,
        Err(error) => EndingEvidence::Unreadable(error.to_string()),
    };
    let note = match dir.note() {
        Ok(note) => note,
        // A truncated note was never finished, so its root never executed.
        Err(Unread::Bad { source: BadRecord::Torn, .. }) => None,
        Err(error) => {
            case.root = RootEvidence::Unreadable(error.to_string());
            return Looked { case, link, ahead };
        }
    };
    case.nursery = nursery_of(dir, note.as_ref());
    case.root = root(note.as_ref());
    let nobody_acts = case.keeper == KeeperEvidence::LockFree && case.nursery != NurseryEvidence::LockHeld;
    if nobody_acts && case.ending == EndingEvidence::Missing && case.root != RootEvidence::Rebooted {
        case.leftovers = leftovers(dir, &row.ticket);
    }
    Looked { case, link, ahead }
}

/// Connects as the holder to a keeper that is to be taken on. Only probes any other.
async fn keeper(supervisor: &Supervisor, dir: &RunDir, hold: Option<&Hold>) -> Kept {
    match dir.kept() {
        // The processes in a copy's records are those of the original.
        Ok(false) if dir.is_kept_elsewhere() => {
            return Kept::new(KeeperEvidence::Unreadable(KEPT_ELSEWHERE.to_owned()));
        }
        Ok(false) => return Kept::new(KeeperEvidence::LockFree),
        Ok(true) => {}
        Err(error) => return Kept::new(KeeperEvidence::Unreadable(error.to_string())),
    }
    let role = hold.map_or(Role::Viewer, |hold| Role::Holder { epoch: hold.epoch });
    match Link::dial(dir, role, hold.map(|_| supervisor.as_holder())).await {
        Ok(link) => Kept { link: hold.map(|_| link), ..Kept::new(KeeperEvidence::Answers) },
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let why = error.to_string();
            tracing::info!(run = %dir.id(), why, "a keeper does not hand its run to us");
            Kept { ahead: refusal::current_epoch(&why), ..Kept::new(KeeperEvidence::Refuses) }
        }
        Err(error) => {
            tracing::debug!(run = %dir.id(), %error, "a keeper does not answer");
            Kept::new(KeeperEvidence::LockHeldButSilent)
        }
    }
}

/// The result of looking at a keeper.
struct Kept {
    evidence: KeeperEvidence,
    link: Option<Link>,
    ahead: Option<u64>,
}

impl Kept {
    fn new(evidence: KeeperEvidence) -> Self {
        Self { evidence, link: None, ahead: None }
    }
}

/// A run whose directory is not there. If the row was written and the directory was not, nothing was started; but one
/// that was removed, or is out of our reach, had a keeper that may live (I6).
fn without_directory(row: &RunRow, case: Case) -> Case {
    let reachable = Path::new(&row.directory).parent().is_some_and(Path::is_dir);
    let root = root(row.note.as_ref());
    let keeper = match &root {
        _ if !reachable => "the state root of its owner is not there",
        RootEvidence::Same(_) => "its directory was removed, and its root lives",
        RootEvidence::Unreadable(_)
        | RootEvidence::Other
        | RootEvidence::Gone
        | RootEvidence::Rebooted
        | RootEvidence::NoIdentity => return Case { root, ..case },
    };
    Case { keeper: KeeperEvidence::Unreadable(keeper.to_owned()), root, ..case }
}

/// Without a note there is no nursery that could write an ending; one that is about to fork a keeper finds the
/// lock or the ending of whoever closes the run.
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
