//! Declared daemons (`--on-escape allow`): the escapees become a run of their own, the heir, with a directory, a
//! lease and a ticket, kept by the same keeper. The first of them is its root; when the root exits, the others are
//! stopped.

use super::accept::listen;
use super::stdin::StdinQueue;
use super::{Keeper, RootState};
use crate::journal::Journal;
use crate::rundir::RunDir;
use crate::state_root::{self, StateRoot};
use std::io;
use tenure_core::hash::command_hash;
use tenure_core::ids::RunId;
use tenure_core::limits::Limits;
use tenure_core::record::{self, Ending, KeeperNote, RECORD_BYTES, Ticket, cut_words};
use tenure_core::redact;
use tenure_core::spec::{OnEscape, Orphan, RunOptions};
use tenure_core::watch::{Sighting, StopScope, Watch};
use tenure_os::clock;
use tenure_os::lock::Lock;
use tenure_os::root::Root;
use tenure_os::socket::Listener;
use tenure_output::Writer;

/// The run that takes over the escapees.
pub(super) struct Heir {
    dir: RunDir,
    ticket: Ticket,
    note: KeeperNote,
    lock: Lock,
    log: Writer,
    root: Root,
    session: i32,
    /// Open before any client learns of this run; early clients wait in the backlog.
    listener: Option<Listener>,
}

impl Heir {
    pub(super) fn id(&self) -> &RunId {
        self.dir.id()
    }
}

impl Keeper {
    /// Makes a run of the escapees, if they may live on; `None` if there are none. The old run records the heir's id
    /// before the heir exists, so a recovery of the old run finds the heir.
    pub(super) fn find_heir(&mut self) -> io::Result<Option<Heir>> {
        if self.watch.scope() != StopScope::Session {
            return Ok(None);
        }
        let mut living = self.living().into_iter();
        let Some((session, command, exe, root)) = living.find_map(|member| {
            Some((member.session(), member.words(), member.note().exe, member.into_root()?))
        }) else {
            return Ok(None);
        };
        // A moved state root must not be created again at its old path.
        let path = self.dir.current_path();
        let state = path.ancestors().nth(2).ok_or_else(|| io::Error::other("no state root"))?;
        let state = StateRoot::open(state).map_err(io::Error::other)?;
        let id = state_root::new_run_id()?;
        self.dir.name_heir(&id)?;
        // The daemon that gets the ending registers the heir; if none does, the next daemon finds it by this mark.
        state.mark_unregistered(&id)?;
        let dir = state.make_run(id)?;
        let note = KeeperNote {
            root: root.identity().clone(),
            started_at_ms: clock::unix_ms(),
            exe,
            process_group: Some(root.group()),
            instance_id: Some(self.ticket.owner_instance_id.clone()),
            registry_id: self.ticket.registry_id.clone(),
            ..self.note.clone()
        };
        match self.write_records(&dir, &command, &note) {
            Ok((ticket, lock)) => {
                let log = Writer::create(&dir.stable_output_path(), ticket.options.keep);
                let listener = listen(&dir);
                Ok(Some(Heir { dir, ticket, note, lock, log, root, session, listener }))
            }
            Err(error) => {
                discard_heir(&dir, &error);
                Err(error)
            }
        }
    }

    /// Writes the heir's records in the required order.
    fn write_records(
        &self,
        dir: &RunDir,
        command: &[String],
        note: &KeeperNote,
    ) -> io::Result<(Ticket, Lock)> {
        let ticket = self.heir_ticket(dir, command)?;
        dir.write_ticket(&ticket)?;
        let lock = dir.lock()?.ok_or_else(|| io::Error::other("a new run already has a keeper"))?;
        lock.write(&record::encode(note))?;
        Ok((ticket, lock))
    }

    /// Makes the heir's ticket. A declared daemon has no limits and no owner to lose; when its root exits, the rest
    /// is stopped.
    fn heir_ticket(&self, dir: &RunDir, command: &[String]) -> io::Result<Ticket> {
        let Limits { grace, give_up, .. } = self.ticket.options.limits;
        let words: Vec<Vec<u8>> = command.iter().map(|word| word.clone().into_bytes()).collect();
        Ok(Ticket {
            run_id: dir.id().clone(),
            lease_id: state_root::new_lease()?,
            command_hash: command_hash(&words),
            command: cut_words(redact::command(command), RECORD_BYTES),
            options: RunOptions {
                scope: None,
                pty_size: None,
                stdin: false,
                limits: Limits { grace, give_up, ..Limits::default() },
                on_escape: OnEscape::Reap,
                orphan: Orphan::Keep,
                ..self.ticket.options.clone()
            },
            created_at_ms: clock::unix_ms(),
            escaped_from: Some(self.dir.id().clone()),
            ..self.ticket.clone()
        })
    }

    /// Becomes the keeper of the heir.
    pub(super) fn become_keeper_of(self, heir: Heir) -> Keeper {
        let Heir { dir, ticket, note, lock, log, root, session, listener } = heir;
        let mut next = Keeper {
            watch: Watch::new(ticket.options.clone()),
            epoch: ticket.lease_epoch,
            root: RootState::Alive(root),
            session,
            output: self.output.with_log(log),
            stdin: StdinQueue::closed(),
            peers: Vec::new(),
            listener,
            accept_again_at: None,
            check_directory_at: None,
            ending_space: dir.reserve_ending().ok(),
            start: None,
            stop_rounds: None,
            seen_members: Vec::new(),
            journal: Journal::default(),
            may_have_unlisted: false,
            draining: None,
            unrecorded: self.unrecorded,
            signals: self.signals,
            enclosure: self.enclosure,
            mark: self.mark,
            _lock: lock,
            note,
            ticket,
            dir,
        };
        next.note_start();
        next.see(Sighting::Started);
        // The heir may have exited during the handover.
        next.check_children();
        next
    }
}

/// Closes an heir that could not be made; otherwise it would look like a run about to start.
fn discard_heir(dir: &RunDir, error: &io::Error) {
    let why = format!("the escaped processes could not be taken over: {error}");
    // If this write fails too, recovery finds that the run has no keeper.
    let _ = dir.write_ending(&Ending::never_started(dir.id().clone(), why, clock::unix_ms()), None);
    dir.discard_unticketed();
}
