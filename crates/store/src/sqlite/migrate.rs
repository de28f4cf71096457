//! The schema versions of the registry's file, and the migration to the present one. A file of another program, or
//! of a later Tenure, is never changed.

use super::open::OpenFailed;
use rusqlite::Connection;
use std::path::Path;
use tenure_core::hash;

/// Each file migrates the previous version to the next. A shipped file is never edited.
const MIGRATIONS: [&str; 7] = [
    include_str!("../../migrations/0001.sql"),
    include_str!("../../migrations/0002.sql"),
    include_str!("../../migrations/0003.sql"),
    include_str!("../../migrations/0004.sql"),
    include_str!("../../migrations/0005.sql"),
    include_str!("../../migrations/0006.sql"),
    include_str!("../../migrations/0007.sql"),
];

/// "Tenu": written in the file's header, so that another program's database is not taken for ours.
const APPLICATION_ID: i64 = 0x5465_6e75;

/// The version that this Tenure writes.
const KNOWN: u32 = 7;
const _: () = assert!(MIGRATIONS.len() == KNOWN as usize);

/// The version that a file claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The file is empty.
    Empty,
    /// The file is a registry of this version, which we can read.
    Version(u32),
}

/// Examines a file without changing it.
pub(super) fn look(db: &Connection, path: &Path) -> Result<Shape, OpenFailed> {
    let (tables, application, version) = marks(db).map_err(|error| OpenFailed::of_sql(path, error))?;
    match (application, version) {
        (0, 0) if tables == 0 => Ok(Shape::Empty),
        (APPLICATION_ID, 1..) => match u32::try_from(version) {
            Ok(version) if version <= KNOWN => Ok(Shape::Version(version)),
            _ => Err(OpenFailed::Newer { path: path.to_owned(), found: version, known: KNOWN }),
        },
        _ => Err(OpenFailed::Foreign { path: path.to_owned() }),
    }
}

/// Returns the number of tables and the two numbers of the header, in one snapshot, because another process may be
/// creating the file right now.
fn marks(db: &Connection) -> rusqlite::Result<(i64, i64, i64)> {
    let number = |sql: &str| db.query_row(sql, [], |row| row.get(0));
    db.execute_batch("SAVEPOINT look")?;
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let marks = (tables, number("PRAGMA application_id")?, number("PRAGMA user_version")?);
    db.execute_batch("RELEASE look")?;
    Ok(marks)
}

/// Migrates a file to the present version, in one exclusive transaction: a process that opens it at the same time
/// waits, and then finds it done.
pub(super) fn migrate(db: &Connection, path: &Path) -> Result<(), OpenFailed> {
    let sql = |error| OpenFailed::of_sql(path, error);
    if look(db, path)? != Shape::Version(KNOWN) {
        db.execute_batch("BEGIN EXCLUSIVE").map_err(sql)?;
        let done = look(db, path).and_then(|shape| {
            verify(db, path, shape)?;
            raise(db, shape).map_err(sql)
        });
        db.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).map_err(sql)?;
        done?;
    }
    verify(db, path, Shape::Version(KNOWN))
}

fn raise(db: &Connection, from: Shape) -> rusqlite::Result<()> {
    let done = match from {
        Shape::Empty => 0,
        Shape::Version(version) => version,
    };
    for (version, text) in (1..).zip(MIGRATIONS).skip(done as usize) {
        db.execute_batch(text)?;
        db.execute("INSERT INTO migrations (version, checksum) VALUES (?1, ?2)", (version, checksum(text)))?;
        db.pragma_update(None, "user_version", version)?;
    }
    db.pragma_update(None, "application_id", APPLICATION_ID)
}

/// Checks the statements that made the schema: a version number means one schema only. A file with other statements
/// is not understood, and not changed.
fn verify(db: &Connection, path: &Path, shape: Shape) -> Result<(), OpenFailed> {
    let Shape::Version(version) = shape else { return Ok(()) };
    let sql = |error| OpenFailed::of_sql(path, error);
    let mut statement =
        db.prepare("SELECT version, checksum FROM migrations ORDER BY version").map_err(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(sql)?;
    let found: Vec<(u32, String)> = rows.collect::<Result<_, _>>().map_err(sql)?;
    let known: Vec<(u32, String)> = (1..=version).zip(MIGRATIONS.map(checksum)).collect();
    if found == known { Ok(()) } else { Err(OpenFailed::Unlike { path: path.to_owned(), version }) }
}

fn checksum(text: &str) -> String {
    format!("{:016x}", hash::fnv64(text.as_bytes()))
}
