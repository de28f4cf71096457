//! The processes of a run: everything in its job. A list only provides targets; the run is empty only when the job
//! says that it has no process.

use super::enclosure::used;
use super::{children as started, listed_children};
use crate::enclosure::Enclosure;
use crate::process::{self, Process, Sent};
use crate::root::Root;
use crate::run_marks::RunMarks;
use crate::tree::{InputEnd, Member, Usage};
use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::wire::{BlockedView, ProcessView, Via};

impl Member {
    /// Its parent's pid; 0 if that is not known.
    pub fn parent(&self) -> i32 {
        super::parent_of(self.pid()).unwrap_or(0)
    }

    /// Returns its own pid, because its group cannot be read.
    pub fn group(&self) -> i32 {
        self.pid()
    }

    /// Returns its own pid, as for the group.
    pub fn session(&self) -> i32 {
        self.pid()
    }

    /// Returns true: no process leaves a job.
    pub fn is_of(&self, _: i32) -> bool {
        true
    }

    /// Returns false: the environment of a process cannot be read here.
    pub fn carries(&self, _: &[u8]) -> bool {
        false
    }

    /// Returns the command line, for people.
    pub fn command(&self) -> String {
        super::command_line_of(&self.process.handle)
            .or_else(|| self.process.exe())
            .unwrap_or_else(|| self.pid().to_string())
    }

    /// Returns `None`: orphans are not reparented here, so none becomes the root of another run.
    pub fn into_root(self) -> Option<Root> {
        None
    }

    /// Does nothing: a process started meanwhile is in the job, and ends with it.
    pub fn forbid_forking(&self) {}

    /// Returns all facts to show.
    pub fn view(&self, root: i32) -> ProcessView {
        let used = super::process_use(&self.process.handle);
        ProcessView {
            note: self.note(),
            ppid: self.parent(),
            pgid: root,
            sid: root,
            command: self.command(),
            started_at_ms: self.process.started_at_ms(),
            cpu_ms: used.cpu_ms,
            rss_bytes: used.rss_bytes,
            via: self.via,
        }
    }
}

/// Returns the live processes in a run's job. Processes started here that belong to no run are not among them.
pub fn members(spared: &HashSet<i32>, marks: &RunMarks<'_>) -> Vec<Member> {
    marks.enclosure.map(|enclosure| in_enclosure(enclosure, spared)).unwrap_or_default()
}

/// Returns true if no process of a run is left except perhaps `kept`. A job whose processes cannot be counted is
/// not bare (I6).
pub fn is_bare(kept: Option<i32>, marks: &RunMarks<'_>) -> bool {
    marks.enclosure.is_none_or(|enclosure| {
        enclosure.pids().is_ok_and(|pids| pids.into_iter().all(|pid| Some(pid) == kept))
    })
}

/// Returns the children of this process, dead or alive.
pub fn own_children() -> Vec<i32> {
    started::pids()
}

/// Returns true: a process that loses its parent is still in its job.
pub fn orphans_come_back() -> bool {
    true
}

/// Does nothing: a job is killed in one call, which nothing outruns.
pub fn freeze(
    _: &HashSet<i32>,
    _: &[RunMarks<'_>],
    _: Duration,
    _: &mut dyn FnMut(&Member, Sent),
) -> Vec<Member> {
    Vec::new()
}

/// Returns no processes: none leaves a job.
pub fn strays(_: &RunMarks<'_>, _: &HashSet<i32>) -> io::Result<Vec<Member>> {
    Ok(Vec::new())
}

/// Returns false if there is a job to ask. When a keeper dies, its job's name goes at once, and the processes in it
/// soon after: as long as the root is not gone, or that is unknown (I6), the others may not be either.
pub fn may_have_strayed(marks: &RunMarks<'_>) -> bool {
    let lives = |root: &Identity| match process::look(root) {
        (Evidence::Same(_), Some(process)) => process.is_alive(),
        (Evidence::Same(_) | Evidence::Other | Evidence::Gone, _) => false,
        (Evidence::Unreadable(_), _) => true,
    };
    marks.enclosure.is_none() && marks.root.is_some_and(lives)
}

/// Returns a recorded process, if it is alive and the same, and the live processes below it: a descendant of a
/// proven member by living parents is a member. `None` if it is not the same, or gone; an error if that is unknown
/// (I6).
pub fn below(recorded: &Identity) -> io::Result<Option<Vec<Member>>> {
    let process = match process::look(recorded) {
        (Evidence::Same(_), Some(process)) => process,
        (Evidence::Unreadable(why), _) => return Err(io::Error::other(why)),
        (Evidence::Same(_) | Evidence::Other | Evidence::Gone, _) => return Ok(None),
    };
    let mut found = vec![Member { process, via: Via::Child, job: None }];
    let mut at = 0;
    while let Some(parent) = found.get(at) {
        let (pid, born) = (parent.pid(), parent.identity().start_time);
        for child in listed_children(pid)? {
            // A child that is older than its parent is a stranger, whose dead parent had the same pid.
            if let Some(process) = Process::open(child)?
                && process.identity().start_time >= born
                && process.is_alive()
                && !found.iter().any(|member| member.pid() == child)
            {
                found.push(Member { process, via: Via::Child, job: None });
            }
        }
        at += 1;
    }
    // The process was still the same at the end, so its children were its own all the time.
    let still = found[0].process.is_alive();
    Ok(still.then_some(found))
}

/// Returns the live processes in a job, except those that were seen already.
pub fn in_enclosure(enclosure: &Enclosure, seen: &HashSet<i32>) -> Vec<Member> {
    let own = std::process::id().cast_signed();
    let mut found = Vec::new();
    let listed = enclosure.pids().unwrap_or_default();
    for pid in listed.into_iter().filter(|&pid| pid != own && !seen.contains(&pid)) {
        if let Ok(Some(process)) = Process::open(pid)
            && enclosure.holds_this(&process)
            && process.is_alive()
        {
            found.push(Member { process, via: enclosure.via(), job: Some(Arc::clone(&enclosure.job)) });
        }
    }
    found
}

/// Returns no processes: environments cannot be read here, and no process leaves a job.
pub fn carriers(_: &[u8], _: u64) -> io::Result<Vec<Member>> {
    Ok(Vec::new())
}

/// Returns the direct children of a process, as far as they can be listed.
pub fn children(pid: i32) -> Vec<i32> {
    listed_children(pid).unwrap_or_default()
}

/// Returns the resources used by all processes that were ever in the job of these.
pub fn usage(members: &[Member]) -> Usage {
    let job = members.iter().find_map(|member| member.job.as_deref());
    let (cpu, io_bytes) = job.map(used).unwrap_or_default();
    Usage { cpu, io_bytes }
}

/// Returns nothing: the calls that a process is blocked in cannot be read here.
pub fn blocked(_: &[Member], _: Option<InputEnd<'_>>) -> (Vec<BlockedView>, Option<bool>) {
    (Vec::new(), None)
}

/// Does nothing: nothing has to be outrun here.
pub fn hurry() {}
