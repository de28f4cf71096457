//! The connections to a keeper and their requests.

use super::{Keeper, RootState};
use crate::frames::Frames;
use std::time::Duration;
use tenure_core::ids::InstanceId;
use tenure_core::journal::JournalEvent;
use tenure_core::lease::{self, Handover, KeptLease, PresentHolder};
use tenure_core::record::KeeperNote;
use tenure_core::signal::Signal;
use tenure_core::spec::Size;
use tenure_core::state::State;
use tenure_core::watch::Sighting;
use tenure_core::wire::{self, Holder, KeeperMessage, KeeperRequest, Role, refusal};
use tenure_os::clock;
use tenure_os::poll::Ready;
use tenure_os::process::Sent;
use tenure_os::tree;

/// A client's connection.
pub(super) struct Peer {
    pub(super) frames: Frames,
    /// `None` until it said hello.
    role: Option<Role>,
    /// The wire version that it speaks.
    version: u32,
    /// True if it wants reports of growth and of the ending.
    follows: bool,
    /// True if it has sent stdin and wants to know how much was taken.
    pub(super) types: bool,
    /// True if it has sent keys.
    pub(super) keys: bool,
    /// The output offset that was last announced to it.
    announced: u64,
    /// The output offset up to which it has read.
    taken: u64,
    /// The holder's instance, if its hello named one.
    instance: Option<InstanceId>,
    /// Set while the peer requests the run and the present holder has not answered.
    waiting: Option<PendingHolder>,
}

/// A daemon that requests the run while another holds it.
struct PendingHolder {
    version: u32,
    epoch: u64,
    holder: Holder,
    /// Deadline after which the run is handed over without an answer.
    until: Duration,
}

/// Maximum number of bytes queued for one peer.
const MOST_UNSENT: usize = 4 << 20;

impl Peer {
    /// Makes the connection of the caller that requested the run.
    pub(super) fn first(frames: Frames, role: Role) -> Self {
        let follows = matches!(role, Role::Caller);
        Self { role: Some(role), version: wire::VERSION, follows, ..Self::anonymous(frames) }
    }

    /// Sets the instance of a first connection: the one that started the run.
    pub(super) fn of(self, instance: &InstanceId) -> Self {
        Self { instance: Some(instance.clone()), ..self }
    }

    /// Makes a connection that has not said hello yet.
    pub(super) fn anonymous(frames: Frames) -> Self {
        Self {
            frames,
            role: None,
            version: 1,
            follows: false,
            types: false,
            keys: false,
            announced: 0,
            taken: 0,
            instance: None,
            waiting: None,
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        !self.frames.ended()
    }

    pub(super) fn is_holder(&self) -> bool {
        matches!(self.role, Some(Role::Holder { .. }))
    }

    /// Returns true if bytes that it has not read must not be dropped.
    pub(super) fn is_required(&self) -> bool {
        matches!(self.role, Some(Role::Caller)) && self.follows && self.is_connected()
    }

    /// Returns the offset of the first byte that it has not read, if it must not miss any.
    pub(super) fn required_from(&self) -> Option<u64> {
        self.is_required().then_some(self.taken)
    }

    pub(super) fn send(&mut self, message: &KeeperMessage) {
        self.send_with_body(message, &[]);
    }

    pub(super) fn send_with_body(&mut self, message: &KeeperMessage, body: &[u8]) {
        if message.since() > self.version {
            return;
        }
        self.frames.send(message, body);
        // A peer that never reads is disconnected; a foreground caller is waited for instead.
        if self.frames.unsent() > MOST_UNSENT && !self.is_required() {
            self.frames.end();
        }
    }

    pub(super) fn started(&mut self, note: &KeeperNote) {
        if self.role.is_some() {
            self.send(&KeeperMessage::Started { note: Box::new(note.clone()) });
        }
    }

    /// Reports that the run is exiting.
    fn leaving(&mut self, leaving: &KeeperMessage) {
        if self.follows || self.is_holder() {
            self.send(leaving);
        }
    }

    /// Announces that the output has grown, one message at a time: a foreground caller gets the next when it has read
    /// up to the last, others when their queue is empty.
    pub(super) fn grown(&mut self, to: u64) {
        let behind = self.is_required() && self.taken < self.announced;
        if self.follows && to > self.announced && !behind && !self.frames.pending() {
            self.announced = to;
            self.send(&KeeperMessage::Grown { to });
        }
    }
}

impl Keeper {
    /// Reads and answers a peer's requests, or notices that it is gone.
    pub(super) fn serve_peer(&mut self, at: usize, ready: Ready) {
        let peer = &mut self.peers[at];
        if ready.write {
            peer.frames.flush();
        }
        if ready.read {
            peer.frames.fill();
        }
        loop {
            match self.peers[at].frames.next_frame::<KeeperRequest>() {
                Ok(Some((ask, body))) => self.answer(at, &ask, &body),
                Ok(None) => break,
                Err(error) => {
                    self.peers[at].send(&KeeperMessage::Refused { why: error.to_string() });
                    self.peers[at].frames.end();
                    break;
                }
            }
        }
    }

    /// Removes the closed connections, however their end was noticed.
    pub(super) fn drop_closed_peers(&mut self) {
        while let Some(at) = self.peers.iter().position(|peer| !peer.is_connected()) {
            let gone = self.peers.remove(at);
            match gone.role {
                Some(Role::Caller) => self.see(Sighting::CallerGone),
                Some(Role::Holder { .. }) if !self.has_holder() => {
                    self.journal.note(JournalEvent::HolderLost);
                    self.see(Sighting::HolderGone);
                }
                Some(Role::Holder { .. } | Role::Viewer) | None => {}
            }
        }
        self.settle_waiting();
    }

    /// Returns true if another peer is a foreground caller that writes stdin.
    pub(super) fn other_caller_types(&self, at: usize) -> bool {
        let is_caller = |peer: &Peer| peer.types && matches!(peer.role, Some(Role::Caller));
        self.peers.iter().enumerate().any(|(other, peer)| other != at && is_caller(peer))
    }

    /// Returns true if a client is attached to the run's terminal: it follows the output, and types.
    fn attached(&self) -> bool {
        let is_typing = |peer: &Peer| match peer.role {
            Some(Role::Caller) => peer.types,
            Some(Role::Viewer | Role::Holder { .. }) | None => peer.keys,
        };
        self.stdin.is_pty()
            && self.peers.iter().any(|peer| peer.is_connected() && peer.follows && is_typing(peer))
    }

    pub(super) fn has_holder(&self) -> bool {
        self.peers.iter().any(|peer| peer.is_connected() && matches!(peer.role, Some(Role::Holder { .. })))
    }

    /// Returns true if a foreground caller's queue is so full that the command must wait.
    pub(super) fn has_slow_caller(&self) -> bool {
        self.peers.iter().any(|peer| peer.is_required() && peer.frames.unsent() > MOST_UNSENT)
    }

    fn answer(&mut self, at: usize, ask: &KeeperRequest, body: &[u8]) {
        if self.peers[at].role.is_none() && !matches!(ask, KeeperRequest::Hello { .. }) {
            return self.refuse(at, "say hello first".to_owned());
        }
        match *ask {
            KeeperRequest::Hello { version, role, ref holder } => {
                self.greet(at, version, role, holder.clone());
            }
            KeeperRequest::Mine => {
                if self.peers[at].is_holder() {
                    self.refuse_waiting();
                }
            }
            KeeperRequest::Yield => {
                if self.peers[at].is_holder() {
                    self.yield_run(at);
                }
            }
            KeeperRequest::Status => self.send_status(at),
            KeeperRequest::Cancel { now } => {
                self.see(Sighting::Cancel { now });
                self.peers[at].send(&KeeperMessage::Done);
            }
            KeeperRequest::Stdin { offset, eof } => self.take_input(at, offset, body, eof),
            KeeperRequest::Type => self.take_keys(at, body),
            KeeperRequest::Resize(size) => self.done_or_refused(at, |keeper| keeper.resize(size)),
            KeeperRequest::Signal { signal } => {
                self.done_or_refused(at, |keeper| keeper.signal_group(signal));
            }
            KeeperRequest::Follow => self.peers[at].follows = true,
            KeeperRequest::Unfollow => self.peers[at].follows = false,
            KeeperRequest::Taken { to } => self.peers[at].taken = self.peers[at].taken.max(to),
            KeeperRequest::Tree => {
                let root = self.note.root.pid;
                let processes = self.living().iter().map(|member| member.view(root)).collect();
                self.peers[at].send(&KeeperMessage::Tree { processes });
            }
            KeeperRequest::Blocked => {
                let (processes, waiting_for_input) = tree::blocked(&self.living(), self.stdin.input_end());
                self.peers[at].send(&KeeperMessage::Blocked { processes, waiting_for_input });
            }
            KeeperRequest::Release if matches!(self.peers[at].role, Some(Role::Holder { .. })) => {
                self.journal.note(JournalEvent::HolderReleased);
                self.see(Sighting::HolderReleased);
                self.peers[at].send(&KeeperMessage::Done);
            }
            KeeperRequest::Abandon if matches!(self.peers[at].role, Some(Role::Holder { .. })) => {
                self.see(Sighting::Abandoned);
                self.peers[at].send(&KeeperMessage::Done);
            }
            KeeperRequest::Abandon => {
                self.refuse(at, "only the holder of the lease can abandon the run".to_owned());
            }
            KeeperRequest::Release => {
                self.refuse(at, "only the holder of the lease can release the run".to_owned());
            }
        }
    }

    fn refuse(&mut self, at: usize, why: String) {
        self.peers[at].send(&KeeperMessage::Refused { why });
    }

    fn done_or_refused(&mut self, at: usize, act: impl FnOnce(&mut Self) -> Result<(), String>) {
        match act(self) {
            Ok(()) => self.peers[at].send(&KeeperMessage::Done),
            Err(why) => self.refuse(at, why),
        }
    }

    /// Handles the hello of a new connection.
    fn greet(&mut self, at: usize, version: u32, role: Role, holder: Option<Holder>) {
        if self.peers[at].role.is_some() || self.peers[at].waiting.is_some() {
            return self.refuse(at, "hello was said already".to_owned());
        }
        if version > wire::VERSION {
            return self.refuse(at, refusal::other_version(version));
        }
        match role {
            Role::Holder { epoch } => self.request_handover(at, version, epoch, holder),
            Role::Caller | Role::Viewer => self.welcome(at, version, role),
        }
    }

    /// Handles a daemon's request for the run.
    fn request_handover(&mut self, at: usize, version: u32, epoch: u64, holder: Option<Holder>) {
        let present = self.peers.iter().find(|peer| peer.is_connected() && peer.is_holder());
        let lease = KeptLease {
            owner: &self.ticket.owner_instance_id,
            registry: self.ticket.registry_id.as_ref(),
            epoch: self.epoch,
            present: present.map(|peer| PresentHolder {
                instance: peer.instance.as_ref(),
                can_answer: peer.version >= (KeeperMessage::StillYours { epoch }).since(),
            }),
        };
        match (lease::handover(&lease, epoch, holder.as_ref()), holder) {
            (Handover::Now, holder) => {
                // A run that was started without a daemon belongs to the first registry that its own instance brings.
                if let Some(holder) = &holder
                    && holder.instance_id == self.ticket.owner_instance_id
                {
                    self.ticket.registry_id.get_or_insert_with(|| holder.registry_id.clone());
                }
                self.hand_over(at, version, epoch, holder.map(|holder| holder.instance_id));
            }
            (Handover::AskHolder, Some(holder)) => {
                self.journal.note(JournalEvent::HolderAsked { epoch });
                let until = clock::awake() + Duration::from_millis(holder.lease_ttl_ms);
                self.peers[at].waiting = Some(PendingHolder { version, epoch, holder, until });
                let asked = KeeperMessage::StillYours { epoch };
                self.peers.iter_mut().filter(|peer| peer.is_holder()).for_each(|peer| peer.send(&asked));
            }
            (Handover::EpochOver, _) => {
                self.journal.note(JournalEvent::EpochRefused { epoch, current: self.epoch });
                self.refuse(at, refusal::epoch_over(epoch, self.epoch));
            }
            (Handover::NotEntitled, _) => {
                self.journal.note(JournalEvent::HolderRefused { epoch });
                self.refuse(at, refusal::not_entitled());
            }
            (Handover::StillHeld | Handover::AskHolder, _) => self.refuse(at, refusal::still_held()),
        }
    }

    /// Hands over the run. Holders of an older epoch, or of another instance, lose their lease (I5).
    fn hand_over(&mut self, at: usize, version: u32, epoch: u64, instance: Option<InstanceId>) {
        self.epoch = epoch;
        self.journal.note(JournalEvent::HolderBack { epoch });
        for peer in &mut self.peers {
            let Some(Role::Holder { epoch: older }) = peer.role else { continue };
            if lease::loses_its_lease(older, epoch, peer.instance == instance) {
                peer.send(&KeeperMessage::Refused { why: refusal::taken_over(epoch) });
                // Without a role, its disconnect does not count as a lost holder.
                peer.role = None;
                peer.frames.end();
            }
        }
        self.peers[at].instance = instance;
        self.welcome(at, version, Role::Holder { epoch });
    }

    fn welcome(&mut self, at: usize, version: u32, role: Role) {
        self.peers[at].role = Some(role);
        self.peers[at].version = version.max(1);
        let run_id = self.dir.id().clone();
        self.peers[at].send(&KeeperMessage::Welcome { version, run_id, takes_stdin: false });
        self.owner_connected(role);
    }

    /// Hands over the run after the present holder gave it up.
    fn yield_run(&mut self, at: usize) {
        let Some(epoch) =
            self.peers.iter().filter_map(|peer| peer.waiting.as_ref()).map(|one| one.epoch).max()
        else {
            return;
        };
        let peer = &mut self.peers[at];
        peer.send(&KeeperMessage::Refused { why: refusal::taken_over(epoch) });
        // Without a role, its disconnect does not count as a lost holder: the next one is here.
        peer.role = None;
        peer.frames.end();
        self.settle_waiting();
    }

    /// Refuses all waiting daemons: the present holder keeps the run.
    fn refuse_waiting(&mut self) {
        for peer in &mut self.peers {
            if peer.waiting.take().is_some() {
                peer.send(&KeeperMessage::Refused { why: refusal::still_held() });
            }
        }
    }

    /// Returns the time at which the next waiting daemon gets the run without an answer.
    pub(super) fn hands_over_at(&self) -> Option<Duration> {
        self.peers.iter().filter_map(|peer| peer.waiting.as_ref()).map(|waiting| waiting.until).min()
    }

    /// Hands over the run if nobody holds it any more, or the holder has not answered in time. The waiting daemon with
    /// the newest epoch gets it; the others are judged anew.
    fn settle_waiting(&mut self) {
        let now = clock::awake();
        let held = self.has_holder();
        let due = |peer: &Peer| peer.waiting.as_ref().is_some_and(|one| !held || one.until <= now);
        if !self.peers.iter().any(due) {
            return;
        }
        let mut waiting: Vec<(usize, PendingHolder)> = Vec::new();
        for (at, peer) in self.peers.iter_mut().enumerate() {
            waiting.extend(peer.waiting.take().map(|one| (at, one)));
        }
        let epochs: Vec<u64> = waiting.iter().map(|(_, one)| one.epoch).collect();
        if let Some(next) = lease::next_holder(self.epoch, &epochs) {
            let (at, PendingHolder { version, epoch, holder, .. }) = waiting.remove(next);
            self.hand_over(at, version, epoch, Some(holder.instance_id));
        }
        for (at, PendingHolder { version, epoch, holder, .. }) in waiting {
            self.request_handover(at, version, epoch, Some(holder));
        }
    }

    /// Reports that a possible owner connected.
    pub(super) fn owner_connected(&mut self, role: Role) {
        match role {
            Role::Caller => self.see(Sighting::CallerHere),
            Role::Holder { .. } => self.see(Sighting::HolderBack),
            Role::Viewer => {}
        }
    }

    /// Tells followers that the run is `exiting`, if it is. The report of the start comes first.
    pub(super) fn send_leaving(&mut self) {
        if self.state() == State::Exiting && self.start.is_none() {
            let detail = self.watch.detail().map(str::to_owned);
            let leaving = KeeperMessage::Leaving { cause: self.watch.cause(), detail };
            self.peers.iter_mut().for_each(|peer| peer.leaving(&leaving));
        }
    }

    fn send_status(&mut self, at: usize) {
        let status = KeeperMessage::Status {
            state: self.state(),
            output: self.output.totals(),
            last_output_at_ms: self.output.last_at_ms(),
            stdin_offset: self.stdin.next(),
            stdin_open: self.stdin.is_open(),
            cause: self.watch.cause(),
            epoch: Some(self.epoch),
            attached: self.attached(),
        };
        self.peers[at].send(&status);
    }

    /// Resizes the terminal. The size is recorded before anything can be written for it.
    fn resize(&self, size: Size) -> Result<(), String> {
        if self.stdin.is_pty() {
            self.output.resized(size);
        }
        self.stdin.resize(size)
    }

    fn signal_group(&mut self, signal: Signal) -> Result<(), String> {
        match &self.root {
            RootState::Alive(root) if self.state() == State::Running => {
                let sent = root.signal_group(signal);
                self.journal.signalled_on_request(root, signal, sent);
                match sent {
                    Sent::Yes | Sent::Gone => Ok(()),
                    Sent::Denied => Err(format!("the system does not let {signal} be sent to this run")),
                }
            }
            RootState::Alive(_) | RootState::Unreaped(_) | RootState::Reaped => {
                Err(format!("the run is {}", self.state()))
            }
        }
    }
}
