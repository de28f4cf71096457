//! Where Tenure is tested: with every right and cgroups, and with less.

use crate::install::Install;

/// Root, whose runs get a cgroup each.
pub fn as_root_with_cgroup() -> Install {
    Install::new()
}

/// Root with cgroups switched off.
pub fn as_root_without_cgroup() -> Install {
    Install::new().without_cgroup()
}

/// A user who gets a cgroup only where one was delegated to him.
pub fn unprivileged_with_cgroup() -> Install {
    Install::new().unprivileged()
}

/// A user without rights, with cgroups switched off.
pub fn unprivileged_without_cgroup() -> Install {
    Install::new().unprivileged().without_cgroup()
}
