//! Runs on disk for unit tests, made without any process.

use crate::launch::new_ticket;
use crate::rundir::RunDir;
use crate::state_root::StateRoot;
use tenure_core::record::Ticket;
use tenure_core::session::Backend;
use tenure_core::spec::{Argv, OnEscape, Orphan, RunOptions, Spec};

/// Makes a ticket that nobody acts on.
pub(crate) fn ticket(state: &StateRoot) -> Ticket {
    let argv = Argv::new(vec![b"x".to_vec()]).expect("a command");
    let options = RunOptions { on_escape: OnEscape::Allow, orphan: Orphan::Keep, ..RunOptions::default() };
    let spec = Spec { argv, options, ..Spec::default() };
    new_ticket(state.instance().expect("an instance"), Backend::Run, &spec).expect("ids")
}

/// Makes a run with an heir, with or without the heir's ticket; returns both.
pub(crate) fn with_heir(state: &StateRoot, ticketed: bool) -> (RunDir, RunDir) {
    let (old, heir) = (ticket(state), ticket(state));
    let dir = state.make_run(old.run_id.clone()).expect("a directory");
    dir.write_ticket(&old).expect("a ticket");
    dir.name_heir(&heir.run_id).expect("a name");
    let heirs = state.make_run(heir.run_id.clone()).expect("a directory");
    if ticketed {
        heirs.write_ticket(&heir).expect("a ticket");
    }
    (dir, heirs)
}
