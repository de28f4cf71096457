//! The directory of a run: its records, its lock, its socket, its output. The records are the truth (I4).

use serde::de::DeserializeOwned;
use std::io;
use std::path::{Path, PathBuf};
use tenure_core::identity::Evidence;
use tenure_core::ids::RunId;
use tenure_core::journal::{self, JournalEntry};
use tenure_core::output::Totals;
use tenure_core::record::{self, BadRecord, Ending, KeeperNote, Ticket};
use tenure_core::run_json::RunView;
use tenure_core::state::State;
use tenure_os::file::{Dir, Reserved};
use tenure_os::lock::{self, Holder, Lock};
use tenure_os::process;
use tenure_os::socket::{Conn, Listener};

const TICKET: &str = "ticket";
const KEEPER: &str = "keeper";
const SOCKET: &str = "ctl.sock";
const OUTPUT: &str = "output";
const ENDING: &str = "ending";
const HEIR: &str = "heir";
const JOURNAL: &str = "journal";
const SCREEN: &str = "screen";

/// Maximum number of processes in each list of an ending.
pub(crate) const MOST_NAMED: usize = 32;

/// Space for an ending with the longest lists of processes that it may have.
const ENDING_SPACE: usize = 24 << 10;

/// The directory of a run.
#[derive(Debug)]
pub struct RunDir {
    dir: Dir,
    id: RunId,
}

/// Why a record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file holds no valid record.
    #[error("{}: {source}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: BadRecord,
    },
    /// A file that must exist does not.
    #[error("{} is missing", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
}

impl RunDir {
    /// Makes the directory of a new run.
    pub fn make(path: &Path, id: RunId) -> io::Result<Self> {
        Ok(Self { dir: Dir::make(path)?, id })
    }

    /// Opens the directory of a run; its name is the run's id.
    pub fn open(path: &Path) -> io::Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let id = name.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Self { dir: Dir::open(path)?, id })
    }

    /// Returns the run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Returns the directory's path.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the directory's current path, which differs once the state root was moved.
    pub(crate) fn current_path(&self) -> PathBuf {
        self.dir.current_path()
    }

    /// Returns true if the directory was deleted since it was opened. If that cannot be checked, it counts as present
    /// (I6).
    pub(crate) fn is_deleted(&self) -> bool {
        self.dir.is_deleted().unwrap_or(false)
    }

    /// Returns the output's path.
    pub fn output(&self) -> PathBuf {
        self.dir.path().join(OUTPUT)
    }

    /// Returns the output's path for the keeper, which stays valid if the directory is moved.
    pub(crate) fn stable_output_path(&self) -> PathBuf {
        self.dir.lasting_path().join(OUTPUT)
    }

    /// Returns the path of a pty run's last screen checkpoint, which may not exist.
    pub fn screen(&self) -> PathBuf {
        self.dir.path().join(SCREEN)
    }

    /// Writes the ticket, before anything is started (I2).
    pub fn write_ticket(&self, ticket: &Ticket) -> io::Result<()> {
        self.dir.write_new(TICKET, &record::encode(ticket))
    }

    /// Writes the ticket again if its launcher died before it was complete.
    pub fn repair_ticket(&self, ticket: &Ticket) -> io::Result<()> {
        match self.ticket() {
            Ok(_) => return Ok(()),
            // An empty file counts as missing, but is in the way.
            Err(RecordError::Missing { .. } | RecordError::Bad { source: BadRecord::Torn, .. }) => {
                self.dir.remove(TICKET)?;
            }
            Err(other) => return Err(io::Error::other(other)),
        }
        self.write_ticket(ticket)
    }

    /// Reads the ticket.
    pub fn ticket(&self) -> Result<Ticket, RecordError> {
        self.record(TICKET)?.ok_or_else(|| RecordError::Missing { path: self.path().join(TICKET) })
    }

    /// Reads the keeper's note; `None` if no root was ever forked.
    pub fn note(&self) -> Result<Option<KeeperNote>, RecordError> {
        self.record(KEEPER)
    }

    /// Reads the ending; `None` while there is none.
    pub fn ending(&self) -> Result<Option<Ending>, RecordError> {
        self.record(ENDING)
    }

    fn record<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, RecordError> {
        let path = || self.path().join(name);
        let bytes = self.dir.read(name).map_err(|source| RecordError::Io { path: path(), source })?;
        match bytes {
            // The keeper's lock file is empty until it has a root to note.
            None => Ok(None),
            Some(bytes) if bytes.is_empty() => Ok(None),
            Some(bytes) => {
                record::decode(&bytes).map(Some).map_err(|source| RecordError::Bad { path: path(), source })
            }
        }
    }

    /// Reads the journal, as far as it is written.
    pub fn journal(&self) -> io::Result<Vec<JournalEntry>> {
        Ok(self.dir.read(JOURNAL)?.map(|bytes| journal::read(&bytes)).unwrap_or_default())
    }

    /// Adds whole lines to the journal.
    pub(crate) fn append_journal(&self, lines: &[u8]) -> io::Result<()> {
        self.dir.append(JOURNAL, lines)
    }

    /// Records the id of the heir, the run that takes over the escapees of this one.
    pub(crate) fn name_heir(&self, heir: &RunId) -> io::Result<()> {
        self.dir.write_new(HEIR, heir.as_str().as_bytes())
    }

    /// Returns the heir's directory.
    pub(crate) fn heir(&self) -> Option<PathBuf> {
        let bytes = self.dir.read(HEIR).ok()??;
        let id: RunId = std::str::from_utf8(&bytes).ok()?.parse().ok()?;
        Some(self.path().with_file_name(id.as_str()))
    }

    /// Removes the directory of an heir that never became a run.
    pub(crate) fn discard_unticketed_heir(&self) {
        if let Some(Ok(heir)) = self.heir().as_deref().map(Self::open) {
            heir.discard_unticketed();
        }
    }

    /// Removes a directory that never became a run: without a ticket nothing is known of it.
    pub(crate) fn discard_unticketed(&self) {
        if matches!(self.ticket(), Err(RecordError::Missing { .. })) {
            // If it cannot be removed, it stays empty.
            let _ = std::fs::remove_dir_all(self.path());
        }
    }

    /// Takes the keeper's lock, which is held until the keeper dies; `None` if there is a keeper already.
    pub(crate) fn lock(&self) -> io::Result<Option<Lock>> {
        Lock::take(&self.dir, KEEPER)
    }

    /// Returns true if a keeper lives. The keeper itself must not call this: closing the file would drop its lock.
    pub fn has_keeper(&self) -> io::Result<bool> {
        Ok(lock::holder(&self.dir, KEEPER)? == Holder::Somebody)
    }

    /// Returns true if the run's keeper lives and keeps another directory, so that this one is a copy. A keeper holds
    /// its lock until it dies, or has written the ending. The keeper itself must not call this.
    pub fn is_kept_elsewhere(&self) -> bool {
        let Ok(Some(note)) = self.note() else { return false };
        let lives =
            || matches!(process::look(&note.keeper), (Evidence::Same(_), Some(keeper)) if keeper.is_alive());
        matches!(self.has_keeper(), Ok(false))
            && lives()
            && matches!(self.ending(), Ok(None))
            && self.heir().is_none()
    }

    /// Makes the control socket.
    pub(crate) fn listen(&self) -> io::Result<Listener> {
        Listener::bind(&self.dir, SOCKET)
    }

    /// Removes the control socket.
    pub(crate) fn remove_socket(&self) {
        // A leftover socket refuses connections, which has the same effect.
        let _ = self.dir.remove(SOCKET);
    }

    /// Connects to the keeper.
    pub fn connect(&self) -> io::Result<Conn> {
        Conn::connect(&self.dir, SOCKET)
    }

    /// Reserves disk space for the ending.
    pub(crate) fn reserve_ending(&self) -> io::Result<Reserved> {
        self.dir.reserve(&draft_name(), ENDING_SPACE)
    }

    /// Writes the ending once; returns false if there is one already.
    pub(crate) fn write_ending(&self, ending: &Ending, space: Option<Reserved>) -> io::Result<bool> {
        let bytes = record::encode(ending);
        let draft = if let Some(space) = space {
            space.fill(&bytes)?
        } else {
            let name = draft_name();
            self.dir.remove(&name)?;
            self.dir.write_new(&name, &bytes)?;
            name
        };
        let first = self.dir.publish(&draft, ENDING)?;
        self.dir.remove(&draft)?;
        Ok(first)
    }

    /// Removes an old socket and old drafts beside an ending.
    pub(crate) fn sweep(&self, is_old: impl Fn(&Path) -> bool) {
        let is_draft = |name: &str| {
            let number = name.strip_prefix(ENDING).and_then(|rest| rest.strip_prefix('.'));
            number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
        };
        let Ok(entries) = std::fs::read_dir(self.path()) else { return };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut left =
            names.filter(|name| (name == SOCKET || is_draft(name)) && is_old(&self.path().join(name)));
        let Some(first) = left.next() else { return };
        if !matches!(self.has_keeper(), Ok(false)) || !matches!(self.ending(), Ok(Some(_))) {
            return;
        }
        for name in [first].into_iter().chain(left) {
            // The next sweep tries again.
            let _ = self.dir.remove(&name);
        }
    }

    /// Removes an ending that a power failure tore. Endings are linked when complete, so waiting would not complete
    /// it.
    pub(crate) fn discard_torn_ending(&self) -> io::Result<()> {
        match self.ending() {
            Err(RecordError::Bad { source: BadRecord::Torn, .. }) => self.dir.remove(ENDING),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Reads the records into a view of the run.
    pub fn view(&self) -> Result<RunView, RecordError> {
        let ticket = self.ticket()?;
        let note = self.note()?;
        let io = |source| RecordError::Io { path: self.path().join(KEEPER), source };
        let foreign = !crate::state_root::is_in_own_root(self).map_err(io)?;
        // Check the keeper before the ending: a keeper that exits in between has written it. A foreign run's keeper
        // is never checked.
        let has_keeper = !foreign && self.has_keeper().map_err(io)?;
        let ending = self.ending()?;
        let state = match (&ending, &note) {
            (Some(_), _) => State::Exited,
            (None, Some(_)) => State::Running,
            (None, None) => State::Starting,
        };
        let (output, last_output_at_ms) = match &ending {
            Some(ending) => (ending.output, ending.last_output_at_ms),
            None => (self.totals(), self.last_output_at_ms()),
        };
        let pty_size = ticket.options.pty_size.and_then(|_| tenure_output::present_size(&self.output()));
        let directory = self.path().to_string_lossy().into_owned();
        Ok(RunView {
            pty_size,
            note,
            ending,
            state,
            has_keeper,
            output,
            last_output_at_ms,
            foreign,
            ..RunView::new(ticket, directory)
        })
    }

    /// Returns the time of the last output, according to the files.
    pub(crate) fn last_output_at_ms(&self) -> Option<u64> {
        tenure_output::last_at_ms(&self.output()).ok().flatten()
    }

    /// Returns the size of the output, according to the files.
    pub(crate) fn totals(&self) -> Totals {
        tenure_output::totals(&self.output()).unwrap_or_default()
    }
}

/// Returns the draft's name, which differs for each process so that two writers never share one.
pub(crate) fn draft_name() -> String {
    format!("{ENDING}.{}", std::process::id())
}
