//! Those who are connected to a keeper, and what they may ask.

use super::{Keeper, RootState};
use crate::frames::Frames;
use tenure_core::journal::What;
use tenure_core::record::KeeperNote;
use tenure_core::signal::Signal;
use tenure_core::spec::Size;
use tenure_core::state::State;
use tenure_core::watch::Seen;
use tenure_core::wire::{self, Ask, Role, Tell, refusal};
use tenure_os::poll::Ready;
use tenure_os::process::Sent;
use tenure_os::tree;

/// Somebody connected.
pub(super) struct Peer {
    pub(super) frames: Frames,
    /// `None` until it said hello.
    role: Option<Role>,
    /// The version of the wire that it speaks.
    version: u32,
    /// Whether it wants to know of growth and of the ending.
    follows: bool,
    /// Whether it has sent input and wants to know how far that is.
    pub(super) types: bool,
    /// The same for keys.
    pub(super) keys: bool,
    /// Up to where it was told that the output has grown.
    told: u64,
    /// Up to where it has taken the output.
    taken: u64,
}

/// How much may wait to be sent to one peer.
const MOST_UNSENT: usize = 4 << 20;

impl Peer {
    /// Whoever asked for the run.
    pub(super) fn first(frames: Frames, role: Role) -> Self {
        let follows = matches!(role, Role::Caller);
        Self { role: Some(role), version: wire::VERSION, follows, ..Self::unknown(frames) }
    }

    /// Somebody who has not said hello yet.
    pub(super) fn unknown(frames: Frames) -> Self {
        Self { frames, role: None, version: 1, follows: false, types: false, keys: false, told: 0, taken: 0 }
    }

    pub(super) fn stays(&self) -> bool {
        !self.frames.ended()
    }

    pub(super) fn is_holder(&self) -> bool {
        matches!(self.role, Some(Role::Holder { .. }))
    }

    /// Whether bytes that it has not taken must not be dropped.
    pub(super) fn is_required(&self) -> bool {
        matches!(self.role, Some(Role::Caller)) && self.follows && self.stays()
    }

    /// The first byte that it has not taken, if it must not miss any.
    pub(super) fn required_from(&self) -> Option<u64> {
        self.is_required().then_some(self.taken)
    }

    pub(super) fn tell(&mut self, tell: &Tell) {
        self.tell_with(tell, &[]);
    }

    pub(super) fn tell_with(&mut self, tell: &Tell, body: &[u8]) {
        if tell.since() > self.version {
            return;
        }
        self.frames.send(tell, body);
        // One that asks and never listens is let go; a foreground caller is waited for instead.
        if self.frames.unsent() > MOST_UNSENT && !self.is_required() {
            self.frames.end();
        }
    }

    pub(super) fn started(&mut self, note: &KeeperNote) {
        if self.role.is_some() {
            self.tell(&Tell::Started { note: Box::new(note.clone()) });
        }
    }

    /// The run leaves.
    fn leaving(&mut self, leaving: &Tell) {
        if self.follows || self.is_holder() {
            self.tell(leaving);
        }
    }

    /// The output has grown. One hint at a time: a foreground caller gets the next when it has taken the last,
    /// others when there is room.
    pub(super) fn grown(&mut self, to: u64) {
        let behind = self.is_required() && self.taken < self.told;
        if self.follows && to > self.told && !behind && !self.frames.pending() {
            self.told = to;
            self.tell(&Tell::Grown { to });
        }
    }
}

impl Keeper {
    /// Hears what a peer says, or that it is gone.
    pub(super) fn hear(&mut self, at: usize, ready: Ready) {
        let peer = &mut self.peers[at];
        if ready.write {
            peer.frames.flush();
        }
        if ready.read {
            peer.frames.fill();
        }
        loop {
            match self.peers[at].frames.next_frame::<Ask>() {
                Ok(Some((ask, body))) => self.answer(at, &ask, &body),
                Ok(None) => break,
                Err(error) => {
                    self.peers[at].tell(&Tell::Refused { why: error.to_string() });
                    self.peers[at].frames.end();
                    break;
                }
            }
        }
    }

    /// Takes leave of those who are gone, whether that was seen by reading or by writing.
    pub(super) fn part(&mut self) {
        while let Some(at) = self.peers.iter().position(|peer| !peer.stays()) {
            let gone = self.peers.remove(at);
            match gone.role {
                Some(Role::Caller) => self.see(Seen::CallerGone),
                Some(Role::Holder { .. }) if !self.has_holder() => {
                    self.journal.note(What::HolderLost);
                    self.see(Seen::HolderGone);
                }
                Some(Role::Holder { .. } | Role::Viewer) | None => {}
            }
        }
    }

    /// Whether a foreground caller types, and it is somebody else.
    pub(super) fn another_types(&self, at: usize) -> bool {
        let is_caller = |peer: &Peer| peer.types && matches!(peer.role, Some(Role::Caller));
        self.peers.iter().enumerate().any(|(other, peer)| other != at && is_caller(peer))
    }

    /// Whether somebody sits at the run's terminal: watches, and types.
    fn attached(&self) -> bool {
        let sits = |peer: &Peer| match peer.role {
            Some(Role::Caller) => peer.types,
            Some(Role::Viewer | Role::Holder { .. }) | None => peer.keys,
        };
        self.inlet.is_pty() && self.peers.iter().any(|peer| peer.stays() && peer.follows && sits(peer))
    }

    fn has_holder(&self) -> bool {
        self.peers.iter().any(|peer| peer.stays() && matches!(peer.role, Some(Role::Holder { .. })))
    }

    /// Whether a foreground caller has so much to read that the command must wait for it.
    pub(super) fn held_up(&self) -> bool {
        self.peers.iter().any(|peer| peer.is_required() && peer.frames.unsent() > MOST_UNSENT)
    }

    fn answer(&mut self, at: usize, ask: &Ask, body: &[u8]) {
        if self.peers[at].role.is_none() && !matches!(ask, Ask::Hello { .. }) {
            return self.refuse(at, "say hello first".to_owned());
        }
        match *ask {
            Ask::Hello { version, role } => self.welcome(at, version, role),
            Ask::Status => self.tell_status(at),
            Ask::Cancel { now } => {
                self.see(Seen::Cancel { now });
                self.peers[at].tell(&Tell::Done);
            }
            Ask::Stdin { offset, eof } => self.take_input(at, offset, body, eof),
            Ask::Type => self.take_keys(at, body),
            Ask::Resize(size) => self.done_or_refused(at, |keeper| keeper.resize(size)),
            Ask::Signal { signal } => self.done_or_refused(at, |keeper| keeper.signal_group(signal)),
            Ask::Follow => self.peers[at].follows = true,
            Ask::Unfollow => self.peers[at].follows = false,
            Ask::Taken { to } => self.peers[at].taken = self.peers[at].taken.max(to),
            Ask::Tree => {
                let root = self.note.root.pid;
                let processes = self.living().iter().map(|member| member.view(root)).collect();
                self.peers[at].tell(&Tell::Tree { processes });
            }
            Ask::Blocked => {
                let (processes, waiting_for_input) = tree::blocked(&self.living(), self.inlet.as_seen());
                self.peers[at].tell(&Tell::Blocked { processes, waiting_for_input });
            }
            Ask::Release if matches!(self.peers[at].role, Some(Role::Holder { .. })) => {
                self.journal.note(What::HolderReleased);
                self.see(Seen::HolderReleased);
                self.peers[at].tell(&Tell::Done);
            }
            Ask::Abandon if matches!(self.peers[at].role, Some(Role::Holder { .. })) => {
                self.see(Seen::Abandoned);
                self.peers[at].tell(&Tell::Done);
            }
            Ask::Abandon => self.refuse(at, "only the holder of the lease can abandon the run".to_owned()),
            Ask::Release => self.refuse(at, "only the holder of the lease can release the run".to_owned()),
        }
    }

    fn refuse(&mut self, at: usize, why: String) {
        self.peers[at].tell(&Tell::Refused { why });
    }

    fn done_or_refused(&mut self, at: usize, act: impl FnOnce(&mut Self) -> Result<(), String>) {
        match act(self) {
            Ok(()) => self.peers[at].tell(&Tell::Done),
            Err(why) => self.refuse(at, why),
        }
    }

    /// A new connection says who it is. The holder of an older epoch has lost its lease (I5).
    fn welcome(&mut self, at: usize, version: u32, role: Role) {
        if self.peers[at].role.is_some() {
            return self.refuse(at, "hello was said already".to_owned());
        }
        if version > wire::VERSION {
            return self.refuse(at, refusal::other_version(version));
        }
        if let Role::Holder { epoch } = role {
            if epoch < self.epoch {
                self.journal.note(What::EpochRefused { epoch, current: self.epoch });
                return self.refuse(at, refusal::epoch_over(epoch, self.epoch));
            }
            self.epoch = epoch;
            self.journal.note(What::HolderBack { epoch });
            for peer in &mut self.peers {
                if matches!(peer.role, Some(Role::Holder { epoch: older }) if older < epoch) {
                    peer.tell(&Tell::Refused { why: refusal::taken_over(epoch) });
                    // It is let go, and not missed.
                    peer.role = None;
                    peer.frames.end();
                }
            }
        }
        self.peers[at].role = Some(role);
        self.peers[at].version = version.max(1);
        let run_id = self.dir.id().clone();
        self.peers[at].tell(&Tell::Welcome { version, run_id });
        self.take_in(role);
    }

    /// Somebody is there who may own the run.
    pub(super) fn take_in(&mut self, role: Role) {
        match role {
            Role::Caller => self.see(Seen::CallerHere),
            Role::Holder { .. } => self.see(Seen::HolderBack),
            Role::Viewer => {}
        }
    }

    /// Says that the run is `exiting`, if it is. Whether the command was executed is said first.
    pub(super) fn tell_leaving(&mut self) {
        if self.state() == State::Exiting && self.start.is_none() {
            let detail = self.watch.detail().map(str::to_owned);
            let leaving = Tell::Leaving { cause: self.watch.cause(), detail };
            self.peers.iter_mut().for_each(|peer| peer.leaving(&leaving));
        }
    }

    fn tell_status(&mut self, at: usize) {
        let status = Tell::Status {
            state: self.state(),
            output: self.outlet.totals(),
            last_output_at_ms: self.outlet.last_at_ms(),
            stdin_offset: self.inlet.next(),
            stdin_open: self.inlet.is_open(),
            cause: self.watch.cause(),
            epoch: Some(self.epoch),
            attached: self.attached(),
        };
        self.peers[at].tell(&status);
    }

    /// The size is on record before anything can be written for it.
    fn resize(&self, size: Size) -> Result<(), String> {
        if self.inlet.is_pty() {
            self.outlet.resized(size);
        }
        self.inlet.resize(size)
    }

    fn signal_group(&mut self, signal: Signal) -> Result<(), String> {
        match &self.root {
            RootState::Alive(root) if self.state() == State::Running => {
                let sent = root.signal_group(signal);
                self.journal.asked_to_signal(root, signal, sent);
                match sent {
                    Sent::Yes | Sent::Gone => Ok(()),
                    Sent::Denied => Err(format!("the system does not let {signal} be sent to this run")),
                }
            }
            RootState::Alive(_) | RootState::Held(_) | RootState::Reaped => {
                Err(format!("the run is {}", self.state()))
            }
        }
    }
}
