//! The registry's own id. A copy of the file, however it was made, gets another one when it is first opened: the
//! keepers of the original's runs refuse it, and its undelivered notices are left to the original.

use super::columns::{parsed, stored};
use super::{Trouble, open::OpenFailed};
use rusqlite::{Connection, OptionalExtension};
use std::path::Path;
use tenure_core::ids::RegistryId;
use tenure_core::location::{FileLocation, Origin};
use tenure_os::{clock, file, random};

/// The reason recorded for a notice that was due when the copy was made.
const LEFT_TO_ORIGINAL: &str = "this registry is a copy: the original may have delivered the notice; `tenure tasks retry` sends it from here";

/// The change that a registry needs before it may be used.
enum Due {
    Nothing(RegistryId),
    Location(RegistryId),
    Id { is_copy: bool },
}

/// Returns the id of the open registry, and makes or changes it where that is due.
pub(super) fn identify(db: &Connection, path: &Path) -> Result<RegistryId, OpenFailed> {
    let now = file::location(path).map_err(|error| OpenFailed::of_system(path, error))?;
    let failed = |trouble: Trouble| match trouble {
        Trouble::Sql(error) => OpenFailed::of_sql(path, error),
        Trouble::Answer(failed) => OpenFailed::of_system(path, std::io::Error::other(failed)),
    };
    if let Due::Nothing(id) = look(db, &now).map_err(failed)? {
        return Ok(id);
    }
    // Two processes that open a copy at once give it one id.
    db.execute_batch("BEGIN IMMEDIATE").map_err(|error| failed(error.into()))?;
    let done = look(db, &now).and_then(|due| write(db, &now, due));
    db.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })
        .map_err(|error| failed(error.into()))?;
    done.map_err(failed)
}

fn look(db: &Connection, now: &FileLocation) -> Result<Due, Trouble> {
    let row: Option<(String, String)> = db
        .query_row("SELECT id, location FROM registry", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((id, location)) = row else { return Ok(Due::Id { is_copy: false }) };
    let id = parsed(&id)?;
    Ok(match serde_json::from_str::<FileLocation>(&location) {
        Ok(location) if location == *now => Due::Nothing(id),
        Ok(location) if location.origin(now) == Origin::Original => Due::Location(id),
        // An unreadable location proves nothing, so the file is taken for a copy.
        Ok(_) | Err(_) => Due::Id { is_copy: true },
    })
}

fn write(db: &Connection, now: &FileLocation, due: Due) -> Result<RegistryId, Trouble> {
    let id = match due {
        Due::Nothing(id) => return Ok(id),
        Due::Location(id) => id,
        Due::Id { is_copy } => {
            if is_copy {
                leave_notices(db)?;
            }
            let unavailable = |error: std::io::Error| {
                Trouble::Answer(crate::Failed::Unavailable(format!("there is no random number: {error}")))
            };
            RegistryId::from_random(random::bytes().map_err(unavailable)?)
        }
    };
    let location = serde_json::to_string(now).expect("a location has no map with keys that are not strings");
    db.execute(
        "INSERT INTO registry (only, id, location) VALUES (1, ?1, ?2)
         ON CONFLICT (only) DO UPDATE SET id = excluded.id, location = excluded.location",
        (id.as_str(), location),
    )?;
    Ok(id)
}

/// Leaves due notices to the original: sent from here as well, they would arrive twice.
fn leave_notices(db: &Connection) -> Result<(), Trouble> {
    db.execute(
        "UPDATE outbox SET state = iif(purpose = 'exec-ended', 'dropped', 'failed'), claimed_by = NULL,
             settled_at_ms = ?1, last_error = ?2
         WHERE state = 'due'",
        (stored(clock::unix_ms()), LEFT_TO_ORIGINAL),
    )?;
    Ok(())
}
