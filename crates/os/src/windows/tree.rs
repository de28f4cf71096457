//! The processes of a run: everything in its job. A list is only ever a list of targets: that nobody is left is known when
//! the job says that nobody is in it.

use super::enclosure::used;
use super::{JobObject, children as started, listed_children};
use crate::enclosure::Enclosure;
use crate::kin::Kin;
use crate::process::{self, Process, Sent};
use crate::pty::Pty;
use crate::root::Root;
use crate::stdio::Sink;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::ending::ProcessNote;
use tenure_core::identity::{Evidence, Identity};
use tenure_core::signal::Signal;
use tenure_core::wire::{BlockedView, ProcessView, Via};

/// A live process of the run, held open.
#[derive(Debug)]
pub struct Member {
    process: Process,
    via: Via,
    job: Option<Arc<JobObject>>,
}

impl Member {
    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.process.identity().pid
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        self.process.identity()
    }

    /// How it belongs to its run.
    pub fn via(&self) -> Via {
        self.via
    }

    /// Its own number: whose group it is in cannot be asked.
    pub fn group(&self) -> i32 {
        self.pid()
    }

    /// Its own number, as with its group.
    pub fn session(&self) -> i32 {
        self.pid()
    }

    /// Whether it has stayed in this session: nobody leaves a job.
    pub fn is_of(&self, _: i32) -> bool {
        true
    }

    /// What a process was started with is nobody's to read here.
    pub fn carries(&self, _: &[u8]) -> bool {
        false
    }

    /// Its command line, for people.
    pub fn command(&self) -> String {
        super::command_line_of(&self.process.handle)
            .or_else(|| self.process.exe())
            .unwrap_or_else(|| self.pid().to_string())
    }

    /// The words of its command line; all of it as one word where they cannot be told apart.
    pub fn words(&self) -> Vec<String> {
        self.process.words().unwrap_or_else(|_| vec![self.command()])
    }

    /// Its pid and executable, for people.
    pub fn note(&self) -> ProcessNote {
        self.process.note()
    }

    /// Signals it. Membership was proven when it was listed; this proves that it is still the same process.
    pub fn signal(&self, signal: Signal) -> Sent {
        match self.process.judge(self.process.identity()) {
            Evidence::Same(held) => self.process.signal(&held, signal),
            Evidence::Other | Evidence::Gone => Sent::Gone,
            Evidence::Unreadable(_) => Sent::Denied,
        }
    }

    /// Nobody comes back to a keeper here, so nobody becomes the root of another run.
    pub fn into_root(self) -> Option<Root> {
        None
    }

    /// Whatever it starts meanwhile is in the job, and ends with it.
    pub fn forbid_forking(&self) {}

    /// All there is to show of it.
    pub fn view(&self, root: i32) -> ProcessView {
        let pid = self.pid();
        let used = super::process_use(&self.process.handle);
        ProcessView {
            note: self.note(),
            ppid: super::parent_of(pid).unwrap_or(0),
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

/// The live processes in a run's job. What is started here, and is no run's, is not among them.
pub fn members(spared: &HashSet<i32>, kin: &Kin<'_>) -> Vec<Member> {
    kin.enclosure.map(|enclosure| in_enclosure(enclosure, spared)).unwrap_or_default()
}

/// Whether nobody is left of a run but perhaps `kept`. A job whose processes cannot be counted is not bare (I6).
pub fn is_bare(kept: Option<i32>, kin: &Kin<'_>) -> bool {
    kin.enclosure.is_none_or(|enclosure| {
        enclosure.pids().is_ok_and(|pids| pids.into_iter().all(|pid| Some(pid) == kept))
    })
}

/// The children that this process has started, dead or alive.
pub fn own_children() -> Vec<i32> {
    started::pids()
}

/// Whoever loses its parent is still found: it is in its job.
pub fn orphans_come_back() -> bool {
    true
}

/// Nothing has to be stopped first: a job is killed in one stroke, which nothing outruns.
pub fn freeze(_: &HashSet<i32>, _: &[Kin<'_>], _: Duration, _: &mut dyn FnMut(&Member, Sent)) -> Vec<Member> {
    Vec::new()
}

/// Nobody: nobody leaves a job.
pub fn strays(_: &Kin<'_>, _: &HashSet<i32>) -> io::Result<Vec<Member>> {
    Ok(Vec::new())
}

/// Nobody can have, where there is a job to be asked. With a keeper's death its job's name goes at once, and those in it soon
/// after: as long as the root is not gone, or that cannot be told (I6), the others may not be either.
pub fn may_have_strayed(kin: &Kin<'_>) -> bool {
    let lives = |root: &Identity| match process::look(root) {
        (Evidence::Same(_), Some(process)) => process.is_alive(),
        (Evidence::Same(_) | Evidence::Other | Evidence::Gone, _) => false,
        (Evidence::Unreadable(_), _) => true,
    };
    kin.enclosure.is_none() && kin.root.is_some_and(lives)
}

/// A recorded process, if it is alive and the same, and the live processes below it: who descends from a proven
/// member by living parents is one. `None` if it is not the same, or gone; an error means that it cannot be told (I6).
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
            // One that is older than its parent is a stranger whose dead parent had the same number.
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
    // While it was the same at the end, its children were its own all the time.
    let still = found[0].process.is_alive();
    Ok(still.then_some(found))
}

/// The live processes in a job, but for those that were seen already.
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

/// Nobody: what a process was started with is nobody's to read here, and nobody leaves a job.
pub fn carriers(_: &[u8], _: u64) -> io::Result<Vec<Member>> {
    Ok(Vec::new())
}

/// The direct children of a process, as far as they can be listed.
pub fn children(pid: i32) -> Vec<i32> {
    listed_children(pid).unwrap_or_default()
}

/// What a tree has used of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time, of the living and of those that are gone.
    pub cpu: Duration,
    /// Bytes read and written, by any call.
    pub io_bytes: u64,
}

/// What all that were ever in the job of these processes have used.
pub fn usage(members: &[Member]) -> Usage {
    let job = members.iter().find_map(|member| member.job.as_deref());
    let (cpu, io_bytes) = job.map(used).unwrap_or_default();
    Usage { cpu, io_bytes }
}

/// Where a run's input comes from.
#[derive(Debug, Clone, Copy)]
pub enum InputEnd<'a> {
    /// The end of a pipe that we write to.
    Pipe(&'a Sink),
    /// A terminal.
    Pty(&'a Pty),
}

/// What a process is blocked in is nobody's to read here.
pub fn blocked(_: &[Member], _: Option<InputEnd<'_>>) -> (Vec<BlockedView>, Option<bool>) {
    (Vec::new(), None)
}

/// Nothing here has to be outrun.
pub fn hurry() {}
