//! One run's directory: its records, its lock, its socket, its output. The records are the truth (I4).

use serde::de::DeserializeOwned;
use std::io;
use std::path::{Path, PathBuf};
use tenure_core::identity::Evidence;
use tenure_core::ids::RunId;
use tenure_core::journal::{self, Entry};
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

/// One run's directory.
#[derive(Debug)]
pub struct RunDir {
    dir: Dir,
    id: RunId,
}

/// A record that could not be had.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no record.
    #[error("{}: {source}", path.display())]
    Bad {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: BadRecord,
    },
    /// There is no such file, though there must be one.
    #[error("{} is missing", path.display())]
    Missing {
        /// Which file.
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

    /// The run.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The directory's path.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the directory's current path, which differs once the state root was moved.
    pub(crate) fn current_path(&self) -> PathBuf {
        self.dir.current_path()
    }

    /// Returns true if the directory was deleted since it was opened. One that cannot be looked at is there (I6).
    pub(crate) fn is_deleted(&self) -> bool {
        self.dir.is_deleted().unwrap_or(false)
    }

    /// Where the output is.
    pub fn output(&self) -> PathBuf {
        self.dir.path().join(OUTPUT)
    }

    /// Returns the output's path for the keeper, which stays valid if the directory is moved.
    pub(crate) fn lasting_output(&self) -> PathBuf {
        self.dir.lasting_path().join(OUTPUT)
    }

    /// Where the last checkpoint of a pty run's screen is, if there is one.
    pub fn screen(&self) -> PathBuf {
        self.dir.path().join(SCREEN)
    }

    /// Writes what was asked for; before anything is started (I2).
    pub fn write_ticket(&self, ticket: &Ticket) -> io::Result<()> {
        self.dir.write_new(TICKET, &record::encode(ticket))
    }

    /// Writes the ticket of a run whose launcher died before it had written it, or all of it.
    pub fn mend_ticket(&self, ticket: &Ticket) -> io::Result<()> {
        match self.ticket() {
            Ok(_) => return Ok(()),
            // An empty file is as good as none, and in the way like any other.
            Err(Unread::Missing { .. } | Unread::Bad { source: BadRecord::Torn, .. }) => {
                self.dir.remove(TICKET)?;
            }
            Err(other) => return Err(io::Error::other(other)),
        }
        self.write_ticket(ticket)
    }

    /// What was asked for.
    pub fn ticket(&self) -> Result<Ticket, Unread> {
        self.record(TICKET)?.ok_or_else(|| Unread::Missing { path: self.path().join(TICKET) })
    }

    /// Who was alive, if a root was ever forked.
    pub fn note(&self) -> Result<Option<KeeperNote>, Unread> {
        self.record(KEEPER)
    }

    /// How it ended, if it has.
    pub fn ending(&self) -> Result<Option<Ending>, Unread> {
        self.record(ENDING)
    }

    fn record<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Unread> {
        let path = || self.path().join(name);
        let bytes = self.dir.read(name).map_err(|source| Unread::Io { path: path(), source })?;
        match bytes {
            // The keeper's lock file is empty until it has a root to note.
            None => Ok(None),
            Some(bytes) if bytes.is_empty() => Ok(None),
            Some(bytes) => {
                record::decode(&bytes).map(Some).map_err(|source| Unread::Bad { path: path(), source })
            }
        }
    }

    /// What its keeper did and why, as far as it is written.
    pub fn journal(&self) -> io::Result<Vec<Entry>> {
        Ok(self.dir.read(JOURNAL)?.map(|bytes| journal::read(&bytes)).unwrap_or_default())
    }

    /// Adds whole lines to the journal.
    pub(crate) fn append_journal(&self, lines: &[u8]) -> io::Result<()> {
        self.dir.append(JOURNAL, lines)
    }

    /// Names the run that takes over what escaped from this one.
    pub(crate) fn name_heir(&self, heir: &RunId) -> io::Result<()> {
        self.dir.write_new(HEIR, heir.as_str().as_bytes())
    }

    /// The directory of the run that took over what escaped from this one.
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

    /// Removes a directory that was made and never became a run: without a ticket nothing can be said of it.
    pub(crate) fn discard_unticketed(&self) {
        if matches!(self.ticket(), Err(Unread::Missing { .. })) {
            // One that cannot be removed is as empty as before.
            let _ = std::fs::remove_dir_all(self.path());
        }
    }

    /// Takes the keeper's lock, to be held until death; `None` if there is a keeper already.
    pub(crate) fn lock(&self) -> io::Result<Option<Lock>> {
        Lock::take(&self.dir, KEEPER)
    }

    /// Whether a keeper lives. Never ask in the keeper itself.
    pub fn kept(&self) -> io::Result<bool> {
        Ok(lock::holder(&self.dir, KEEPER)? == Holder::Somebody)
    }

    /// Returns true if the run's keeper lives and keeps another directory, so that this one is a copy. A keeper holds
    /// its lock until it dies, or has written the ending. The keeper itself must not call this.
    pub fn is_kept_elsewhere(&self) -> bool {
        let Ok(Some(note)) = self.note() else { return false };
        let lives =
            || matches!(process::look(&note.keeper), (Evidence::Same(_), Some(keeper)) if keeper.is_alive());
        matches!(self.kept(), Ok(false))
            && lives()
            && matches!(self.ending(), Ok(None))
            && self.heir().is_none()
    }

    /// Makes the control socket.
    pub(crate) fn listen(&self) -> io::Result<Listener> {
        Listener::bind(&self.dir, SOCKET)
    }

    /// Removes the control socket.
    pub(crate) fn unlisten(&self) {
        // What is left of it refuses connections, which says the same.
        let _ = self.dir.remove(SOCKET);
    }

    /// Connects to the keeper.
    pub fn dial(&self) -> io::Result<Conn> {
        Conn::connect(&self.dir, SOCKET)
    }

    /// Sets the space for the ending aside.
    pub(crate) fn reserve_ending(&self) -> io::Result<Reserved> {
        self.dir.reserve(&draft_name(), ENDING_SPACE)
    }

    /// Writes the ending, once: `false` if there is one already.
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

    /// Removes the old socket and drafts that were left beside an ending.
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
        if !matches!(self.kept(), Ok(false)) || !matches!(self.ending(), Ok(Some(_))) {
            return;
        }
        for name in [first].into_iter().chain(left) {
            // The next sweep tries again.
            let _ = self.dir.remove(&name);
        }
    }

    /// Removes an ending that a power failure tore: it is linked whole, so it will not become whole by waiting.
    pub(crate) fn discard_torn_ending(&self) -> io::Result<()> {
        match self.ending() {
            Err(Unread::Bad { source: BadRecord::Torn, .. }) => self.dir.remove(ENDING),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// What the records say of the run now.
    pub fn view(&self) -> Result<RunView, Unread> {
        let ticket = self.ticket()?;
        let note = self.note()?;
        let io = |source| Unread::Io { path: self.path().join(KEEPER), source };
        let foreign = !crate::state_root::is_at_home(self).map_err(io)?;
        // Look for the keeper before the ending: a keeper that left in between has written it. A foreign run's keeper
        // is not looked for at all.
        let kept = !foreign && self.kept().map_err(io)?;
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
            kept,
            output,
            last_output_at_ms,
            foreign,
            ..RunView::new(ticket, directory)
        })
    }

    /// When the last output came, by the files.
    pub(crate) fn last_output_at_ms(&self) -> Option<u64> {
        tenure_output::last_at_ms(&self.output()).ok().flatten()
    }

    /// How much output the files hold.
    pub(crate) fn totals(&self) -> Totals {
        tenure_output::totals(&self.output()).unwrap_or_default()
    }
}

/// Each writer drafts under a name of its own, so that two never share one.
pub(crate) fn draft_name() -> String {
    format!("{ENDING}.{}", std::process::id())
}
