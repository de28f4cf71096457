//! A control group around one run, in addition to the walk. It finds processes that the walk cannot find after the
//! keeper's death, and kills all at once. It is not the whole boundary, because a process of the superuser can move
//! itself out of it.

use super::control;
use super::mountinfo;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tenure_core::ids::{InstanceId, RunId};
use tenure_core::journal::{Proof, Target};
use tenure_core::record::Boundary;
use tenure_core::resources::Resources;
use tenure_core::wire::Via;

/// The control group of one run.
#[derive(Debug)]
pub struct Enclosure {
    dir: OwnedFd,
    path: PathBuf,
    /// The group's name, as `/proc/<pid>/cgroup` spells it.
    name: String,
}

/// Returns the boundary of a run without a control group.
pub fn without(why: String) -> Boundary {
    Boundary::Subreaper { why: Some(why) }
}

/// Finds the mount of control groups, if there is one; processes forked from here inherit the result.
pub fn cache_facts() {
    // If there are none now, each run looks again and reports it.
    let _ = mountinfo::unified_mount();
}

/// Returns the run whose group a process is in, and the run's instance, by the group's name; `None` if it is in
/// none, or its group cannot be read.
pub fn run_of(pid: i32) -> Option<(InstanceId, RunId)> {
    named_in(&fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?)
}

/// Returns the groups of an instance's runs below this process's own, occupied or not.
pub fn all_of(instance: &InstanceId) -> Vec<(RunId, Enclosure)> {
    let Ok(base) = mountinfo::own_cgroup() else { return Vec::new() };
    let found = subdirectories(&base.directory.join(format!("tenure-{instance}"))).unwrap_or_default();
    let group = |path: PathBuf| {
        let run = path.file_name()?.to_str()?.parse().ok()?;
        Some((run, Enclosure::at(&path).ok().flatten()?))
    };
    found.into_iter().filter_map(group).collect()
}

/// Parses the instance and the run from the name of a group.
fn named_in(cgroups: &str) -> Option<(InstanceId, RunId)> {
    let name = cgroups.lines().find_map(|line| line.strip_prefix("0::"))?;
    // The kernel marks a group that was removed while a process died in it.
    let name = name.strip_suffix(" (deleted)").unwrap_or(name);
    let parts: Vec<&str> = name.split('/').collect();
    parts.windows(2).find_map(|pair| {
        let instance = pair[0].strip_prefix("tenure-")?.parse().ok()?;
        Some((instance, pair[1].parse().ok()?))
    })
}

impl Enclosure {
    /// The detail of a run that needed more memory than its limit.
    pub const OUT_OF_MEMORY: &'static str = "killed by the OOM killer";

    /// Makes a group for a run below this process's own, if one is wanted. The error says, for people, why there is
    /// none.
    pub fn make(wanted: bool, instance: &InstanceId, run: &RunId) -> Result<Self, String> {
        if !wanted {
            return Err("switched off".to_owned());
        }
        let (path, name) = place(instance, run).map_err(|error| error.to_string())?;
        make_both(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let dir = openat(rustix::fs::CWD, &path, flags, Mode::empty())
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { dir, path, name })
    }

    /// Finds the group that a run would have below this process's own; `None` if there is none.
    pub fn find(instance: &InstanceId, run: &RunId) -> io::Result<Option<Self>> {
        Self::at(&place(instance, run)?.0)
    }

    /// Opens the recorded group; `None` if none is recorded, or it is gone.
    pub fn open(recorded: &Boundary) -> io::Result<Option<Self>> {
        match recorded {
            Boundary::Cgroup { path } => Self::at(Path::new(path)),
            Boundary::Subreaper { .. } | Boundary::Group | Boundary::Job { .. } => Ok(None),
        }
    }

    fn at(path: &Path) -> io::Result<Option<Self>> {
        let base = mountinfo::unified_mount()?;
        let Ok(below) = path.strip_prefix(base) else { return Ok(None) };
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        match openat(rustix::fs::CWD, path, flags, Mode::empty()) {
            Ok(dir) => Ok(Some(Self { dir, path: path.to_owned(), name: format!("/{}", below.display()) })),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Limits the processes that will be in the group. The error says, for people, why that is impossible.
    pub fn bound(&self, resources: &Resources) -> Result<(), String> {
        control::bound(&self.path, resources)
    }

    /// Returns true if the kernel killed a process in the group for lack of memory.
    pub fn ran_out_of_memory(&self) -> bool {
        control::oom_kills(&self.path) > 0
    }

    /// Returns the boundary to record.
    pub fn boundary(&self) -> Boundary {
        Boundary::Cgroup { path: self.path.to_string_lossy().into_owned() }
    }

    /// Returns the group as the target of a signal, and the proof that it may be signalled.
    pub fn target(&self) -> (Target, Proof) {
        (Target::Cgroup { path: self.path.to_string_lossy().into_owned() }, Proof::RunCgroup)
    }

    /// Returns the processes in the group and in those below it, as far as they can be read.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        let mut pids = Vec::new();
        collect_pids(&self.path, &mut pids)?;
        Ok(pids)
    }

    /// Returns the way in which a process in the group belongs to the run.
    pub fn via(&self) -> Via {
        Via::Cgroup
    }

    /// Returns true if a process is in the group or below.
    pub fn holds(&self, pid: i32) -> bool {
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/cgroup")) else { return false };
        text.lines().filter_map(|line| line.strip_prefix("0::")).any(|name| {
            name.strip_prefix(&self.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Returns true if any process is in the group or below, or if that is unknown (I6). A removed group was empty.
    pub fn is_occupied(&self) -> bool {
        match fs::read_to_string(self.path.join("cgroup.events")) {
            Ok(text) => !text.lines().any(|line| line == "populated 0"),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Kills all processes in the group at once; no fork escapes that.
    pub fn kill(&self) -> io::Result<()> {
        let file = openat(&self.dir, "cgroup.kill", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(file, b"1").map(drop).map_err(Into::into)
    }

    /// Removes the group, and those that the run made below it. All must be empty.
    pub fn remove(&self) -> io::Result<()> {
        remove_below(&self.path)?;
        if let Some(instance) = self.path.parent() {
            // The group around it is removed with its last run; if it has other runs, it stays.
            let _ = fs::remove_dir(instance);
        }
        Ok(())
    }
}

impl std::fmt::Display for Enclosure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.display().fmt(f)
    }
}

impl AsFd for Enclosure {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// Returns the directory and the name of a run's group.
fn place(instance: &InstanceId, run: &RunId) -> io::Result<(PathBuf, String)> {
    let base = mountinfo::own_cgroup()?;
    let below = format!("tenure-{instance}/{run}");
    Ok((base.directory.join(&below), format!("{}/{below}", base.name.trim_end_matches('/'))))
}

/// Creates the run's directory and the instance's around it, which another process may remove while it is empty.
fn make_both(path: &Path) -> io::Result<()> {
    const TRIES: usize = 16;
    for _ in 0..TRIES {
        match fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        match path.parent().map(fs::create_dir) {
            Some(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    fs::create_dir(path)
}

fn collect_pids(dir: &Path, pids: &mut Vec<i32>) -> io::Result<()> {
    match fs::read_to_string(dir.join("cgroup.procs")) {
        // A zero means a process of a namespace that we cannot see into.
        Ok(text) => {
            pids.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|&pid| pid > 1));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    for below in subdirectories(dir)? {
        collect_pids(&below, pids)?;
    }
    Ok(())
}

fn remove_below(dir: &Path) -> io::Result<()> {
    match fs::remove_dir(dir) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(_) => {}
    }
    for below in subdirectories(dir)? {
        remove_below(&below)?;
    }
    fs::remove_dir(dir)
}

fn subdirectories(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    match fs::read_dir(dir) {
        Ok(entries) => {
            for entry in entries {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    found.push(entry.path());
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_known_by_the_name_of_its_group() {
        let (instance, run) = ("0123456789abcdef01234567", "89abcdef0123456789abcdef");
        let group = format!("0::/user.slice/tenure-{instance}/{run}");
        let found = Some((instance.parse().unwrap(), run.parse().unwrap()));
        for below in ["", "/below/it", " (deleted)"] {
            assert_eq!(named_in(&format!("3:pids:/elsewhere\n{group}{below}\n")), found, "{below:?}");
        }
        for name in [
            "0::/".to_owned(),
            "0::/system.slice/tenure-daemon.service".to_owned(),
            format!("0::/tenure-{instance}"),
            format!("0::/tenure-{instance}/build"),
            format!("3:pids:/tenure-{instance}/{run}"),
        ] {
            assert_eq!(named_in(&name), None, "{name}");
        }
    }
}
