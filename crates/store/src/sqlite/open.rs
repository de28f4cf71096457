//! Opens the registry's file: it must be private, on a local disk, ours, and not of a later Tenure. A file that
//! cannot be used is refused with advice, and never changed or deleted.

use super::migrate;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_os::file::{close_to_others, privately};

/// Time that opening waits for another process that creates or migrates the same file.
const OPENING: Duration = Duration::from_secs(30);

/// Time that one attempt to write or read waits for another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Number of prepared statements that a connection caches: more than the life of a run with a session and a task
/// takes.
const STATEMENTS: usize = 128;

/// The reason why the registry could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenFailed {
    /// The file is on a network file system.
    #[error(
        "the registry {path} lies on a network file system ({kind}), where locks cannot be relied on: put it on a \
         local disk, with `registry` in the settings"
    )]
    Remote {
        /// The file.
        path: PathBuf,
        /// The kind of file system.
        kind: String,
    },
    /// The file is a database of another program.
    #[error("{path} is the database of another program: name another file as the registry")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A later Tenure wrote the file.
    #[error(
        "the registry {path} has version {found}, this Tenure knows versions up to {known}: use the newer Tenure, or \
         restore a backup that was made before the upgrade"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's version.
        found: i64,
        /// The newest that this Tenure reads.
        known: u32,
    },
    /// A Tenure between releases wrote the file.
    #[error(
        "the registry {path} says it has version {version}, but was not made as that version is: use the Tenure that \
         made it, or restore a backup"
    )]
    Unlike {
        /// The file.
        path: PathBuf,
        /// The version that it claims.
        version: u32,
    },
    /// The file is damaged, or no database at all.
    #[error(
        "{path} is damaged or not a registry ({detail}): stop Tenure, move the file aside, and restore a backup in \
         its place; without one, Tenure starts a new registry when the file is gone"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error of `SQLite`.
        detail: String,
    },
    /// `SQLite` could not use the file.
    #[error("cannot open the registry {path}: {source}")]
    Sql {
        /// The file.
        path: PathBuf,
        /// The error.
        source: rusqlite::Error,
    },
    /// The system refused.
    #[error("cannot open the registry {path}: {source}")]
    System {
        /// The file.
        path: PathBuf,
        /// The error.
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

/// Creates or migrates the file if needed, and opens it for writing.
pub(super) fn writer(path: &Path) -> Result<Connection, OpenFailed> {
    let sql = |error| OpenFailed::of_sql(path, error);
    refuse_remote(path)?;
    create(path).map_err(|error| OpenFailed::of_system(path, error))?;
    // The first look cannot change anything, because the file may be another program's, or a later Tenure's.
    let looking = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, OPENING).map_err(sql)?;
    migrate::look(&looking, path)?;
    drop(looking);
    make_private(path).map_err(|error| OpenFailed::of_system(path, error))?;

    let db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, OPENING).map_err(sql)?;
    migrate::migrate(&db, path)?;
    log_ahead(&db).map_err(sql)?;
    // The log is truncated after a long read (a backup) let it grow. Sorting and savepoints stay in memory: they
    // are small here, and must not need room on a full disk.
    db.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA cache_size = -1024; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = 8388608;",
    )
    .map_err(sql)?;
    db.busy_timeout(BUSY_TIMEOUT).map_err(sql)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(db)
}

/// Opens a file read-only, after a writer has opened it.
pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let db = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, BUSY_TIMEOUT)?;
    db.execute_batch("PRAGMA cache_size = -1024; PRAGMA mmap_size = 0;")?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(db)
}

fn connect(path: &Path, how: OpenFlags, patience: Duration) -> rusqlite::Result<Connection> {
    // There is one thread per connection, so SQLite need not lock. Without the URI flag a path is only ever a path.
    let db = Connection::open_with_flags(path, how | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(patience)?;
    // A plan never depends on a bound value. Otherwise each use of a cached statement would plan it again.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
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
    match privately(OpenOptions::new().write(true).create_new(true)).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Closes the files to others. `SQLite` gives the files beside the database its mode; those that existed before are
/// handled here.
fn make_private(path: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut file = OsString::from(path);
        file.push(suffix);
        match close_to_others(Path::new(&file)) {
            // The file is missing, or another process has just closed the registry and removed its log.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

/// Turns on the write-ahead log, which is a property of the file. This step needs the file exclusively, and
/// `SQLite` does not wait for that, so it is retried until the other process has released the lock.
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

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::StatementStatus;

    #[test]
    fn a_cached_statement_is_planned_once_whatever_it_is_given() {
        let dir = tempfile::tempdir().expect("a directory");
        let db = writer(&dir.path().join("registry.db")).expect("a registry");
        // With these figures, a plan could depend on the value.
        db.execute_batch(
            "CREATE TABLE t (x INTEGER, y INTEGER); CREATE INDEX by_x ON t (x);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
             INSERT INTO t SELECT i / 900, i FROM n; ANALYZE;",
        )
        .expect("a table");
        for value in 0..4 {
            let mut count = db.prepare_cached("SELECT count(*) FROM t WHERE x > ?1").expect("a statement");
            count.query_row([value], |row| row.get::<_, i64>(0)).expect("a count");
            assert_eq!(count.get_status(StatementStatus::RePrepare), 0, "value {value}");
        }
    }
}
