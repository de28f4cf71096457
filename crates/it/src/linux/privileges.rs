//! Privileges under which Tenure is tested: with every right and cgroups, and with less.

use crate::install::Install;

/// Root, with a cgroup for each run.
pub fn as_root_with_cgroup() -> Install {
    Install::new()
}

/// Root with cgroups disabled.
pub fn as_root_without_cgroup() -> Install {
    Install::new().without_cgroup()
}

/// An unprivileged user, with a cgroup only where one was delegated.
pub fn unprivileged_with_cgroup() -> Install {
    Install::new().unprivileged()
}

/// An unprivileged user with cgroups disabled.
pub fn unprivileged_without_cgroup() -> Install {
    Install::new().unprivileged().without_cgroup()
}
