//! What the system says now of a recorded run.

use super::Mode;
use crate::daemon::Daemon;
use crate::link::Link;
use std::io;
use std::path::Path;
use tenure_core::identity::Evidence;
use tenure_core::lease::{Hold, Standing};
use tenure_core::reconcile::{
    Case, EndingEvidence, KeeperEvidence, LeaseView, Leftovers, NurseryEvidence, Recorded, RootEvidence,
};
use tenure_core::record::{BadRecord, KeeperNote, Ticket};
use tenure_core::wire::Role;
use tenure_keeper::forsaken::Forsaken;
use tenure_keeper::nursery;
use tenure_keeper::rundir::{RunDir, Unread};
use tenure_os::{clock, process};
use tenure_store::RunRow;

/// Everything that a verdict depends on, and the connection to the keeper if it is ours and answers.
pub(super) struct Looked {
    pub(super) case: Case,
    pub(super) link: Option<Link>,
}

impl Daemon {
    pub(super) async fn look(&self, row: &RunRow, mode: Mode) -> Looked {
        let (now, wall) = (clock::awake(), clock::unix_ms());
        let expired = row.hold.instance != self.instance && self.is_gone(&row.hold.instance, wall).await;
        let lease = LeaseView::of(&row.hold, &self.instance, expired);
        let case = Case {
            record: Recorded { state: row.state, orphan: row.ticket.orphan },
            us: self.tenancy().standing(now, wall),
            lease,
            ending: EndingEvidence::Missing,
            keeper: KeeperEvidence::LockFree,
            nursery: NurseryEvidence::Disclaims,
            root: RootEvidence::NoIdentity,
            leftovers: Leftovers::Known(0),
        };
        if case.lease == LeaseView::OtherHealthy {
            // It is not touched, so it is not looked at either.
            return Looked { case, link: None };
        }
        match RunDir::open(Path::new(&row.directory)) {
            Ok(dir) => look_into(&dir, row, mode, case).await,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Looked { case: without_directory(row, case), link: None }
            }
            Err(error) => Looked {
                case: Case { keeper: KeeperEvidence::Unreadable(error.to_string()), ..case },
                link: None,
            },
        }
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

async fn look_into(dir: &RunDir, row: &RunRow, mode: Mode, mut case: Case) -> Looked {
    // Whoever comes as the holder and leaves again is missed, so only who may stay does.
    let stays = mode == Mode::Act && case.lease == LeaseView::Mine && case.us == Standing::Holding;
    let (keeper, link) = keeper(dir, stays.then_some(&row.hold)).await;
    case.keeper = keeper;
    // After the keeper: one that left in between has written it.
    case.ending = match dir.ending() {
        Ok(Some(_)) => EndingEvidence::Found,
        Ok(None) | Err(Unread::Bad { source: BadRecord::Torn, .. }) => EndingEvidence::Missing,
        Err(error) => EndingEvidence::Unreadable(error.to_string()),
    };
    let note = match dir.note() {
        Ok(note) => note,
        // A note that was cut off was never finished, so its root never executed.
        Err(Unread::Bad { source: BadRecord::Torn, .. }) => None,
        Err(error) => {
            case.root = RootEvidence::Unreadable(error.to_string());
            return Looked { case, link };
        }
    };
    case.nursery = nursery_of(dir, note.as_ref());
    case.root = root(note.as_ref());
    let nobody_acts = case.keeper == KeeperEvidence::LockFree && case.nursery != NurseryEvidence::LockHeld;
    if nobody_acts && case.ending == EndingEvidence::Missing && case.root != RootEvidence::Rebooted {
        case.leftovers = leftovers(dir, &row.ticket);
    }
    Looked { case, link }
}

/// A keeper that is to be taken on is dialled as its holder; any other is only asked whether it answers.
async fn keeper(dir: &RunDir, hold: Option<&Hold>) -> (KeeperEvidence, Option<Link>) {
    match dir.kept() {
        Ok(false) => return (KeeperEvidence::LockFree, None),
        Ok(true) => {}
        Err(error) => return (KeeperEvidence::Unreadable(error.to_string()), None),
    }
    let role = hold.map_or(Role::Viewer, |hold| Role::Holder { epoch: hold.epoch });
    match Link::dial(dir, role).await {
        Ok(link) => (KeeperEvidence::Answers, hold.map(|_| link)),
        Err(error) => {
            tracing::debug!(run = %dir.id(), %error, "a keeper does not answer");
            (KeeperEvidence::LockHeldButSilent, None)
        }
    }
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
    let Some(note) = note else { return RootEvidence::NoIdentity };
    let (evidence, found) = process::look(&note.root);
    match evidence {
        // It has ended, and whoever inherited it does not bury its dead.
        Evidence::Same(_) if found.is_some_and(|root| !root.is_alive()) => RootEvidence::Gone,
        Evidence::Same(held) => RootEvidence::Same(held),
        Evidence::Other => RootEvidence::Other,
        Evidence::Gone if note.root.place.boot_id != process::here().boot_id => RootEvidence::Rebooted,
        Evidence::Gone => RootEvidence::Gone,
        Evidence::Unreadable(why) => RootEvidence::Unreadable(why),
    }
}

fn leftovers(dir: &RunDir, ticket: &Ticket) -> Leftovers {
    let listed = RunDir::open(dir.path())
        .map_err(|error| error.to_string())
        .and_then(|dir| Forsaken::read(dir, ticket.clone()).map_err(|error| error.to_string()))
        .and_then(|forsaken| forsaken.members().map_err(|error| error.to_string()));
    match listed {
        Ok(members) => Leftovers::Known(u32::try_from(members.len()).unwrap_or(u32::MAX)),
        Err(why) => Leftovers::Unreadable(why),
    }
}
