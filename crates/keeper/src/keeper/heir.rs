//! Declared daemons (`--on-escape allow`): what escaped becomes a run of its own, with a directory, a lease and a
//! ticket, kept by the same keeper. The first process of them is its root; when that ends, so do the others.

use super::door::listen;
use super::inlet::Inlet;
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
use tenure_core::watch::{Seen, Watch, Whom};
use tenure_os::clock;
use tenure_os::lock::Lock;
use tenure_os::root::Root;
use tenure_os::socket::Listener;
use tenure_output::Writer;

/// The run that takes over.
pub(super) struct Heir {
    dir: RunDir,
    ticket: Ticket,
    note: KeeperNote,
    lock: Lock,
    log: Writer,
    root: Root,
    session: i32,
    /// Open before anybody is told of this run; who comes early waits at the door.
    listener: Option<Listener>,
}

impl Heir {
    pub(super) fn id(&self) -> &RunId {
        self.dir.id()
    }
}

impl Keeper {
    /// Makes a run of what was allowed to escape; `None` if there is nothing like that. The old run names it
    /// before it is made, so that whoever closes the one finds the other.
    pub(super) fn find_heir(&mut self) -> io::Result<Option<Heir>> {
        if self.watch.whom() != Whom::Session {
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
        // Whoever takes the ending registers it; should nobody come to that, the next daemon finds it by this.
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
        match self.furnish(&dir, &command, &note) {
            Ok((ticket, lock)) => {
                let log = Writer::create(&dir.lasting_output(), ticket.options.keep);
                let listener = listen(&dir);
                Ok(Some(Heir { dir, ticket, note, lock, log, root, session, listener }))
            }
            Err(error) => {
                unmake(&dir, &error);
                Err(error)
            }
        }
    }

    /// Gives the heir its records, in the order that must hold.
    fn furnish(&self, dir: &RunDir, command: &[String], note: &KeeperNote) -> io::Result<(Ticket, Lock)> {
        let ticket = self.heirs_ticket(dir, command)?;
        dir.write_ticket(&ticket)?;
        let lock = dir.lock()?.ok_or_else(|| io::Error::other("a new run has a keeper already"))?;
        lock.write(&record::encode(note))?;
        Ok((ticket, lock))
    }

    /// A daemon has no limits and no owner to lose; when its first process ends, so does the rest.
    fn heirs_ticket(&self, dir: &RunDir, command: &[String]) -> io::Result<Ticket> {
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

    /// Goes on as the keeper of the heir.
    pub(super) fn turn_into(self, heir: Heir) -> Keeper {
        let Heir { dir, ticket, note, lock, log, root, session, listener } = heir;
        let mut next = Keeper {
            watch: Watch::new(ticket.options.clone()),
            epoch: ticket.lease_epoch,
            root: RootState::Alive(root),
            session,
            outlet: self.outlet.go_on(log),
            inlet: Inlet::closed(),
            peers: Vec::new(),
            listener,
            door_opens_at: None,
            check_directory_at: None,
            ending_space: dir.reserve_ending().ok(),
            start: None,
            hunt: None,
            known: Vec::new(),
            journal: Journal::default(),
            unsure: false,
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
        next.see(Seen::Started);
        // It may have ended while it was handed over.
        next.mind_children();
        next
    }
}

/// A run that could not be made is not left as one that is about to start.
fn unmake(dir: &RunDir, error: &io::Error) {
    let why = format!("what escaped could not be taken over: {error}");
    // A disk that took no record takes no ending either; then whoever looks finds no keeper.
    let _ = dir.write_ending(&Ending::never_started(dir.id().clone(), why, clock::unix_ms()), None);
    dir.discard_unticketed();
}
