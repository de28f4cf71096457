//! The writer of a run's journal. Entries that nobody waits for are written later and in one piece, so a quiet run
//! costs one small file after its start. If the disk refuses an entry, the entry is lost and the run continues.

use crate::rundir::RunDir;
use std::collections::HashSet;
use std::time::Duration;
use tenure_core::ending::Kills;
use tenure_core::journal::{self, JournalEntry, JournalEvent, MAX_ENTRIES, Proof, Target};
use tenure_core::signal::Signal;
use tenure_os::clock;
use tenure_os::enclosure::Enclosure;
use tenure_os::process::Sent;
use tenure_os::root::Root;
use tenure_os::tree::Member;

/// Maximum delay of an entry that nobody waits for.
const WRITE_DELAY: Duration = Duration::from_millis(50);

/// The journal of one run, and the count of the kills in it.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    waiting: Vec<u8>,
    /// The time when the queued entries are due.
    write_at: Option<Duration>,
    /// The number of entries, on disk or queued.
    count: usize,
    /// True if a queued entry is an event.
    has_event: bool,
    recorded: HashSet<(Signal, Target)>,
    kills: Kills,
}

impl Journal {
    /// Continues the journal of a keeper that died.
    pub(crate) fn resume(dir: &RunDir) -> Self {
        Self { count: dir.journal().map_or(MAX_ENTRIES, |entries| entries.len()), ..Self::default() }
    }

    /// Returns the number of kills so far.
    pub(crate) fn kills(&self) -> Kills {
        self.kills
    }

    /// Adds an entry that must be on disk soon.
    pub(crate) fn note(&mut self, what: JournalEvent) {
        self.push(what);
        self.write_at = Some(Duration::ZERO);
    }

    /// Adds an entry that may wait.
    pub(crate) fn note_later(&mut self, what: JournalEvent) {
        self.push(what);
        self.write_at.get_or_insert(clock::awake() + WRITE_DELAY);
    }

    fn push(&mut self, what: JournalEvent) {
        let what = match self.count {
            0..MAX_ENTRIES => what,
            MAX_ENTRIES => JournalEvent::MoreNotWritten,
            _ => return,
        };
        self.count += 1;
        self.has_event |= what.is_event();
        self.waiting.extend(journal::line(&JournalEntry { at_ms: clock::unix_ms(), what }));
    }

    /// Records that a member was signalled.
    pub(crate) fn signalled(&mut self, member: &Member, signal: Signal, sent: Sent) {
        self.signalled_as(member, signal, sent, member.via().into());
    }

    /// Records that a member was signalled, with the proof of its membership.
    pub(crate) fn signalled_as(&mut self, member: &Member, signal: Signal, sent: Sent, proof: Proof) {
        let identity = member.identity();
        let target = Target::Process { pid: identity.pid, start_time: identity.start_time };
        if sent == Sent::Yes && self.record_signal(signal, target, proof) && signal == Signal::KILL {
            self.kills.pid += 1;
        }
    }

    /// Records that the root's group was signalled in one call.
    pub(crate) fn group_signalled(&mut self, root: &Root, signal: Signal, sent: Sent) {
        if sent == Sent::Yes {
            self.record_signal(signal, Target::Group { pgid: root.group() }, Proof::UnreapedRoot);
            self.kills.pgid += u32::from(signal == Signal::KILL);
        }
    }

    /// Records a signal to the root's group that a client requested. Each request is recorded, even a repeat.
    pub(crate) fn signalled_on_request(&mut self, root: &Root, signal: Signal, sent: Sent) {
        if sent == Sent::Yes {
            let target = Target::Group { pgid: root.group() };
            self.note(JournalEvent::Signalled { signal, target, proof: Proof::UnreapedRoot });
        }
    }

    /// Kills everything in the run's enclosure in one call. If the kernel cannot do that, the caller's lists do the
    /// work.
    pub(crate) fn kill_enclosure(&mut self, enclosure: &Enclosure) {
        let occupied = enclosure.is_occupied();
        if enclosure.kill().is_ok() && occupied {
            let (target, proof) = enclosure.target();
            match target {
                Target::Job { .. } => self.kills.job += 1,
                Target::Cgroup { .. } | Target::Group { .. } | Target::Process { .. } => {
                    self.kills.cgroup += 1;
                }
            }
            self.record_signal(Signal::KILL, target, proof);
        }
    }

    /// Records a signal once per target; returns true if it is new.
    fn record_signal(&mut self, signal: Signal, target: Target, proof: Proof) -> bool {
        let news = self.recorded.insert((signal, target.clone()));
        if news {
            self.note(JournalEvent::Signalled { signal, target, proof });
        }
        news
    }

    /// Returns the time when queued entries are due.
    pub(crate) fn wake_at(&self) -> Option<Duration> {
        self.write_at
    }

    /// Writes the entries that are due. Returns true if an event is on disk now.
    pub(crate) fn write_due(&mut self, dir: &RunDir) -> bool {
        self.write_at.is_some_and(|at| at <= clock::awake()) && self.write(dir)
    }

    /// Writes the queued entries; returns true if an event is on disk now. After a failure no more entries are
    /// written: the next one would be appended to a torn one.
    pub(crate) fn write(&mut self, dir: &RunDir) -> bool {
        let waiting = std::mem::take(&mut self.waiting);
        let has_event = std::mem::take(&mut self.has_event);
        self.write_at = None;
        if !waiting.is_empty() && dir.append_journal(&waiting).is_err() {
            self.count = MAX_ENTRIES + 1;
            return false;
        }
        has_event
    }
}
