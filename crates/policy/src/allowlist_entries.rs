//! The operator's calls on the allowlist: list, add and remove entries.

use crate::Approvals;
use crate::allowlist::{Allowlist, Entry};
use crate::executable::resolve;
use crate::shell::{not_covered, runs_others};
use std::ffi::OsStr;
use std::path::Path;
use tenure_core::api::{AllowRequest, Allowed};
use tenure_os::clock;
use tenure_store::AllowRow;
use tenure_supervisor::Refusal;
use tenure_supervisor::Requester;

/// Lists the allowlist.
pub async fn allowed(approvals: &Approvals) -> Result<Vec<Allowed>, Refusal> {
    Ok(approvals.supervisor.registry.allowlist().await?.into_iter().map(json_of).collect())
}

/// Adds an entry, if it is valid.
pub async fn allow(
    approvals: &Approvals,
    request: AllowRequest,
    who: &Requester,
) -> Result<Allowed, Refusal> {
    let AllowRequest { program, args, agent } = request;
    // Stores the path under which commands are shown and matched: `/bin` is `/usr/bin` on many systems.
    let program = match resolve(&program, Path::new(tenure_os::place::top()), OsStr::new("")) {
        Ok(found) if Path::new(&program).is_absolute() => found.called.to_string_lossy().into_owned(),
        _ => program,
    };
    let entry = Entry { program, args, exact: None, agent };
    Allowlist::new(vec![entry.clone()]).map_err(|error| Refusal::invalid(error.why))?;
    if entry.args.is_none() {
        // Refuses an entry that would allow nothing. A glob is checked only when it is used.
        runs_others(std::slice::from_ref(&entry.program)).map_err(Refusal::invalid)?;
    }
    let value = serde_json::to_value(&entry).map_err(Refusal::internal)?;
    let id = approvals.supervisor.registry.allow(value, who.to_string(), clock::unix_ms()).await?;
    let row = approvals.supervisor.registry.allowlist().await?.into_iter().find(|row| row.id == id);
    let note = meaning(&entry);
    let allowed = row
        .map(json_of)
        .ok_or_else(|| Refusal::internal("internal error: the new entry is not in the allowlist"))?;
    Ok(Allowed { note, ..allowed })
}

/// Removes an entry.
pub async fn disallow(approvals: &Approvals, id: &str) -> Result<(), Refusal> {
    let unknown = || {
        Refusal::no_such_entry(format!("no entry has the number {id}: list entries with `tenure allowlist`"))
    };
    let number = id.parse().map_err(|_| unknown())?;
    if approvals.supervisor.registry.disallow(number).await? { Ok(()) } else { Err(unknown()) }
}

/// Returns an explanation of an entry without a pattern of arguments, for the person who adds it.
fn meaning(entry: &Entry) -> Option<String> {
    const SHOWN: usize = 8;
    if entry.args.is_some() {
        return None;
    }
    let program = &entry.program;
    let known = not_covered(program);
    let more = if known.len() > SHOWN { ", …" } else { "" };
    let known = match &known[..known.len().min(SHOWN)] {
        [] => String::new(),
        some => format!(" ({}{more})", some.join(", ")),
    };
    Some(format!(
        "{program} now runs without approval, with any arguments and in any directory, and also does what files there tell it \
         to do. Only arguments that are known to run other programs, to write to files, or to read instructions from \
         elsewhere still need an approval{known}. To allow less, give a pattern of its arguments (--args)"
    ))
}

fn json_of(row: AllowRow) -> Allowed {
    let AllowRow { id, added_at_ms, added_by, last_used_at_ms, uses, entry } = row;
    Allowed { id, entry, added_at_ms, added_by, last_used_at_ms, uses, note: None }
}
