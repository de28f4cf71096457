//! Runs on disk for unit tests, made without any process.

use crate::launch::{Lease, Terms};
use crate::rundir::RunDir;
use crate::state_root::StateRoot;
use tenure_core::limits::Limits;
use tenure_core::output::Keep;
use tenure_core::record::Ticket;
use tenure_core::resources::Resources;
use tenure_core::spec::{Argv, OnEscape, Orphan, Spec, Transport};

/// A ticket that nobody ever acted on.
pub(crate) fn ticket(state: &StateRoot) -> Ticket {
    let spec = Spec {
        transport: Transport::Pipes {
            command: Argv::new(vec![b"x".to_vec()]).expect("a command"),
            stdin: false,
        },
        cwd: b"/".to_vec(),
        env: Vec::new(),
        env_names: Vec::new(),
        nofile: None,
        umask: 0o022,
        session: None,
        scope: None,
        label: None,
        limits: Limits::default(),
        resources: Resources::default(),
        on_escape: OnEscape::Allow,
        orphan: Orphan::Keep,
    };
    let terms = Terms { backend: "run", cgroup: false, keep: Keep::default() };
    Lease::new(state.instance().expect("an instance")).expect("a lease").ticket(&spec, &terms)
}

/// A run that has an heir with or without a ticket; returns both.
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
