//! Cases for the decider: the design's table row by row, and every case there is.

mod every_case;
mod table;

use super::*;
use crate::identity::{self, Sighting};

fn held() -> SignalProof {
    let place = Place { machine_id: None, boot_id: "b".into(), pid_namespace: 1 };
    let identity = Identity { place: place.clone(), pid: 40, start_time: 7, pidfs_inode: None };
    match identity::judge(&identity, &place, &Sighting::Found { start_time: 7, pidfs_inode: None }) {
        Evidence::Same(held) => held,
        other => panic!("{other:?}"),
    }
}

fn denied() -> String {
    "permission denied\nby policy".to_owned()
}

/// Ours, running, and nothing of it is left.
fn case() -> Case {
    Case {
        record: Recorded { state: State::Running, orphan: Orphan::Terminate, is_taken_over: false },
        us: Standing::Holding,
        lease: LeaseView::Mine,
        ending: EndingEvidence::Missing,
        keeper: KeeperEvidence::LockFree,
        nursery: NurseryEvidence::LockFree,
        root: RootEvidence::Gone,
        leftovers: Leftovers::Known(0),
    }
}
