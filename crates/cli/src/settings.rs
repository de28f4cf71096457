//! Settings from the environment.

use crate::failure::Failure;
use std::env;
use std::path::PathBuf;
use tenure_keeper::state_root::StateRoot;

/// Opens the state root: `TENURE_STATE`, or `tenure` in the XDG state home.
pub(crate) fn state_root() -> Result<StateRoot, Failure> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = set("TENURE_STATE")
        .or_else(|| set("XDG_STATE_HOME").map(|home| home.join("tenure")))
        .or_else(|| set("HOME").map(|home| home.join(".local/state/tenure")))
        .ok_or_else(|| {
            Failure::ours("there is no state root: set TENURE_STATE to a directory of your own")
        })?;
    StateRoot::open(&path).map_err(Failure::ours)
}

/// Whether cgroups may be used: `TENURE_CGROUP=off` switches them off.
pub(crate) fn cgroup() -> bool {
    env::var_os("TENURE_CGROUP").is_none_or(|value| value != "off")
}
