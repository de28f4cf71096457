//! Settings from the environment.

use crate::failure::Failure;
use std::env;
use std::path::PathBuf;
use tenure_core::output::Keep;
use tenure_keeper::state_root::StateRoot;

/// Opens the state root: `TENURE_STATE`, or `tenure` in the XDG state home.
pub(crate) fn state_root() -> Result<StateRoot, Failure> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = set("TENURE_STATE")
        .or_else(|| set("XDG_STATE_HOME").map(|home| home.join("tenure")))
        .or_else(|| set("HOME").map(|home| home.join(".local/state/tenure")))
        .ok_or_else(|| {
            Failure::refused("there is no state root: set TENURE_STATE to a directory of your own")
        })?;
    StateRoot::open(&path).map_err(Failure::refused)
}

/// Whether cgroups may be used: `TENURE_CGROUP=off` switches them off.
pub(crate) fn cgroup() -> bool {
    env::var_os("TENURE_CGROUP").is_none_or(|value| value != "off")
}

/// How much of a run's output is kept: `TENURE_OUTPUT_HEAD` and `TENURE_OUTPUT_TAIL`, in bytes.
pub(crate) fn keep() -> Result<Keep, Failure> {
    let Keep { head, tail } = Keep::default();
    Ok(Keep { head: bytes("TENURE_OUTPUT_HEAD", head)?, tail: bytes("TENURE_OUTPUT_TAIL", tail)? })
}

fn bytes(name: &str, default: u64) -> Result<u64, Failure> {
    let Some(value) = env::var_os(name) else { return Ok(default) };
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Failure::ours(format!("{name} is {}: write a number of bytes", value.display())))
}
