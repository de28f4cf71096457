//! Opening the registry's file: for its owner alone, on a local disk, ours, and not of a later Tenure. A file that
//! cannot be used is refused with what to do about it, and is never changed or deleted.

use super::migrate;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::ffi::OsString;
use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long opening waits for another process that is making or migrating the same file.
const OPENING: Duration = Duration::from_secs(30);

/// How long one try to write or read waits for another process.
const BUSY: Duration = Duration::from_secs(5);

/// How many statements a connection keeps understood: more than the life of a run with a session and a task takes.
const STATEMENTS: usize = 128;

/// Private to the user who runs Tenure.
const MODE: u32 = 0o600;

/// Why the registry could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenFailed {
    /// Its file lies on a file system of the network.
    #[error(
        "the registry {path} lies on a network file system ({kind}), where locks cannot be relied on: put it on a \
         local disk, with `registry` in the settings"
    )]
    Remote {
        /// The file.
        path: PathBuf,
        /// What it lies on.
        kind: String,
    },
    /// It is a database of another program.
    #[error("{path} is the database of another program: name another file as the registry")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It was written by a later Tenure.
    #[error(
        "the registry {path} has version {found}, this Tenure knows versions up to {known}: use the newer Tenure, or \
         restore a backup that was made before the upgrade"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest that this Tenure reads.
        known: u32,
    },
    /// It was written by a Tenure between releases.
    #[error(
        "the registry {path} says it has version {version}, but was not made as that version is: use the Tenure that \
         made it, or restore a backup"
    )]
    Unlike {
        /// The file.
        path: PathBuf,
        /// What it says.
        version: u32,
    },
    /// It is damaged, or no database at all.
    #[error(
        "{path} is damaged or not a registry ({detail}): stop Tenure, move the file aside, and restore a backup in \
         its place; without one, Tenure starts a new registry when the file is gone"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What `SQLite` says.
        detail: String,
    },
    /// `SQLite` could not use it.
    #[error("cannot open the registry {path}: {source}")]
    Sql {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The system would not let us.
    #[error("cannot open the registry {path}: {source}")]
    System {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl OpenFailed {
    pub(super) fn of_sql(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Self::Damaged { path, detail: source.to_string() }
            }
            _ => Self::Sql { path, source },
        }
    }

    pub(super) fn of_system(path: &Path, source: io::Error) -> Self {
        Self::System { path: path.to_owned(), source }
    }
}

/// Makes or migrates the file where that is needed, and opens it for writing.
pub(super) fn writer(path: &Path) -> Result<Connection, OpenFailed> {
    let sql = |error| OpenFailed::of_sql(path, error);
    refuse_remote(path)?;
    create(path).map_err(|error| OpenFailed::of_system(path, error))?;
    // The first look cannot change anything: the file may be somebody else's, or of a later Tenure.
    let looking = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, OPENING).map_err(sql)?;
    migrate::look(&looking, path)?;
    drop(looking);
    make_private(path).map_err(|error| OpenFailed::of_system(path, error))?;

    let db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, OPENING).map_err(sql)?;
    migrate::migrate(&db, path)?;
    log_ahead(&db).map_err(sql)?;
    // The log is cut back after a long read (a backup) let it grow. Sorting and savepoints stay in memory: they
    // are small here, and need no room on a full disk.
    db.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA cache_size = -1024; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = 8388608;",
    )
    .map_err(sql)?;
    db.busy_timeout(BUSY).map_err(sql)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(db)
}

/// Opens a file that a writer has opened already for reading alone.
pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let db = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, BUSY)?;
    db.execute_batch("PRAGMA cache_size = -1024; PRAGMA mmap_size = 0;")?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(db)
}

fn connect(path: &Path, how: OpenFlags, patience: Duration) -> rusqlite::Result<Connection> {
    // One thread per connection: SQLite need not lock. Without the URI flag a path is only ever a path.
    let db = Connection::open_with_flags(path, how | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(patience)?;
    Ok(db)
}

fn refuse_remote(path: &Path) -> Result<(), OpenFailed> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // The file itself may be a link to elsewhere.
    for place in [path, directory] {
        match tenure_os::filesystem::remote(place) {
            Ok(None) => {}
            Ok(Some(kind)) => return Err(OpenFailed::Remote { path: path.to_owned(), kind }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && place == path => {}
            Err(error) => return Err(OpenFailed::of_system(path, error)),
        }
    }
    Ok(())
}

fn create(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(MODE).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// `SQLite` gives the files beside the database its mode; those that were there before are seen to here.
fn make_private(path: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut file = OsString::from(path);
        file.push(suffix);
        let mode = match std::fs::metadata(&file) {
            Ok(about) => about.permissions().mode(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if mode & 0o077 != 0 {
            match std::fs::set_permissions(&file, Permissions::from_mode(MODE)) {
                // Another process has just closed the registry and taken its log away.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
    }
    Ok(())
}

/// Turns on the write-ahead log, which is a property of the file. The step needs the file for itself, and `SQLite`
/// does not wait for that; so it is tried again after whoever was in the way has let go of the lock.
fn log_ahead(db: &Connection) -> rusqlite::Result<()> {
    const TRIES: u32 = 100;
    let switch = || db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
    let mut mode = switch();
    for _ in 0..TRIES {
        match &mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => {}
            Err(error) if super::is_busy(error) => {}
            Err(_) => break,
        }
        db.execute_batch("BEGIN EXCLUSIVE; COMMIT")?;
        mode = switch();
    }
    mode.and_then(|mode| if mode == "wal" { Ok(()) } else { Err(rusqlite::Error::InvalidQuery) })
}
