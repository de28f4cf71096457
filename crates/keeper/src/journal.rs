//! Writing a run's journal. It is written late and in one piece where nobody waits for it, costs a quiet run one
//! small file after its start, and what the disk will not take is lost: the run goes on.

use crate::rundir::RunDir;
use std::collections::HashSet;
use std::time::Duration;
use tenure_core::ending::Kills;
use tenure_core::journal::{self, Entry, MOST, Proof, Target, What};
use tenure_core::signal::Signal;
use tenure_os::clock;
use tenure_os::enclosure::Enclosure;
use tenure_os::process::Sent;
use tenure_os::root::Root;
use tenure_os::tree::Member;

/// How long an entry that nobody waits for may wait for others.
const LATER: Duration = Duration::from_millis(50);

/// The journal of one run, and the count of the kills in it.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    waiting: Vec<u8>,
    /// When what waits is due.
    write_at: Option<Duration>,
    /// How many entries there are, on disk or on their way.
    count: usize,
    /// True if an entry that waits is an event.
    has_event: bool,
    said: HashSet<(Signal, Target)>,
    kills: Kills,
}

impl Journal {
    /// Goes on with the journal of a keeper that fell.
    pub(crate) fn go_on(dir: &RunDir) -> Self {
        Self { count: dir.journal().map_or(MOST, |entries| entries.len()), ..Self::default() }
    }

    /// How many kills it took so far.
    pub(crate) fn kills(&self) -> Kills {
        self.kills
    }

    /// Something that is to be on disk soon, whatever happens next.
    pub(crate) fn note(&mut self, what: What) {
        self.push(what);
        self.write_at = Some(Duration::ZERO);
    }

    /// Something that may wait.
    pub(crate) fn note_later(&mut self, what: What) {
        self.push(what);
        self.write_at.get_or_insert(clock::awake() + LATER);
    }

    fn push(&mut self, what: What) {
        let what = match self.count {
            0..MOST => what,
            MOST => What::MoreNotWritten,
            _ => return,
        };
        self.count += 1;
        self.has_event |= what.is_event();
        self.waiting.extend(journal::line(&Entry { at_ms: clock::unix_ms(), what }));
    }

    /// A member was signalled.
    pub(crate) fn signalled(&mut self, member: &Member, signal: Signal, sent: Sent) {
        self.signalled_as(member, signal, sent, member.via().into());
    }

    /// A member was signalled whose membership was proven in this way.
    pub(crate) fn signalled_as(&mut self, member: &Member, signal: Signal, sent: Sent, proof: Proof) {
        let identity = member.identity();
        let target = Target::Process { pid: identity.pid, start_time: identity.start_time };
        if sent == Sent::Yes && self.say(signal, target, proof) && signal == Signal::KILL {
            self.kills.pid += 1;
        }
    }

    /// The root's group was signalled in one stroke.
    pub(crate) fn group_signalled(&mut self, root: &Root, signal: Signal, sent: Sent) {
        if sent == Sent::Yes {
            self.say(signal, Target::Group { pgid: root.group() }, Proof::UnreapedRoot);
            self.kills.pgid += u32::from(signal == Signal::KILL);
        }
    }

    /// The root's group was signalled because somebody asked for it, which may be as often as they like.
    pub(crate) fn asked_to_signal(&mut self, root: &Root, signal: Signal, sent: Sent) {
        if sent == Sent::Yes {
            let target = Target::Group { pgid: root.group() };
            self.note(What::Signalled { signal, target, proof: Proof::UnreapedRoot });
        }
    }

    /// Kills everybody in the run's enclosure in one stroke. A kernel that cannot is served by the lists.
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
            self.say(Signal::KILL, target, proof);
        }
    }

    /// Says it unless it was said; returns whether it was news.
    fn say(&mut self, signal: Signal, target: Target, proof: Proof) -> bool {
        let news = self.said.insert((signal, target.clone()));
        if news {
            self.note(What::Signalled { signal, target, proof });
        }
        news
    }

    /// When something is due to be written.
    pub(crate) fn wake_at(&self) -> Option<Duration> {
        self.write_at
    }

    /// Writes what is due. Returns true if an event is on disk now.
    pub(crate) fn write_due(&mut self, dir: &RunDir) -> bool {
        self.write_at.is_some_and(|at| at <= clock::awake()) && self.write(dir)
    }

    /// Writes what waits, and returns true if an event is on disk now. After a failure there are no more entries: the
    /// next would be glued to a torn one.
    pub(crate) fn write(&mut self, dir: &RunDir) -> bool {
        let waiting = std::mem::take(&mut self.waiting);
        let has_event = std::mem::take(&mut self.has_event);
        self.write_at = None;
        if !waiting.is_empty() && dir.append_journal(&waiting).is_err() {
            self.count = MOST + 1;
            return false;
        }
        has_event
    }
}
