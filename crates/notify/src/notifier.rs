//! Delivers the notices in the registry's outbox: to the channels of owners, and as the event `exec-ended`. Each is claimed,
//! delivered and settled. If the daemon is killed in between, the next one delivers it again, under the same key.

use crate::{BadChannel, Channel, Command, Delivered, Target, Webhooks};
use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ending::Reason;
use tenure_core::session::Backend;
use tenure_core::spec::Argv;
use tenure_core::task::{Notice, Purpose, Schedule, exec_ended_channel};
use tenure_os::{clock, pause, random};
use tenure_store::{Claim, Claimed, NewEvent, Tracked, Tried, kind};
use tenure_supervisor::DRAIN_TIMEOUT;
use tenure_supervisor::Phase;
use tenure_supervisor::Refusal;
use tenure_supervisor::exec_notice;
use tenure_supervisor::run_output::last_output;
use tenure_supervisor::start_request::{StartRequest, set_variable};
use tenure_supervisor::sync::until;
use tenure_supervisor::{StartRun, Supervisor};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The most notices on their way to a channel at once.
const AT_ONCE: usize = 16;
/// The same for `exec-ended`: each waits there for those who are about to see the end, and needs nothing else.
const EXEC_ENDED_AT_ONCE: usize = 256;
/// The longest pause between two looks at the outbox.
const IDLE_PAUSE: Duration = Duration::from_secs(30);
/// The pause after the registry could not be read, or while a channel is busy.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest wait for witnesses of an end.
const WITNESS_WAIT: Duration = Duration::from_secs(10);

/// The channels that there are, and what reaches them. Each has places of its own: one that hangs holds up no other.
struct Post {
    channels: BTreeMap<String, (Result<Channel, BadChannel>, Arc<Semaphore>)>,
    /// The places of the channels that there are not.
    nowhere: Arc<Semaphore>,
    /// The places of `exec-ended`.
    exec_ended: Arc<Semaphore>,
    webhooks: Webhooks,
}

impl Post {
    fn new(channels: BTreeMap<String, Result<Channel, BadChannel>>) -> Self {
        let places = || Arc::new(Semaphore::new(AT_ONCE));
        let channels = channels.into_iter().map(|(name, channel)| (name, (channel, places()))).collect();
        let exec_ended = Arc::new(Semaphore::new(EXEC_ENDED_AT_ONCE));
        Self { channels, nowhere: places(), exec_ended, webhooks: Webhooks::default() }
    }

    fn places(&self, channel: &str) -> &Arc<Semaphore> {
        match self.channels.get(channel) {
            Some((_, places)) => places,
            None if is_exec_ended(channel) => &self.exec_ended,
            None => &self.nowhere,
        }
    }
}

/// Delivers notices until the daemon leaves.
pub struct Notifier {
    /// The supervisor, whose registry has the outbox.
    pub supervisor: Arc<Supervisor>,
    /// Starts the commands of channels.
    starts: Arc<dyn StartRun>,
}

impl Notifier {
    /// A notifier that delivers nothing yet.
    pub fn new(supervisor: Arc<Supervisor>, starts: Arc<dyn StartRun>) -> Self {
        Self { supervisor, starts }
    }

    /// Delivers what is due, until the daemon leaves.
    pub async fn notify_forever(self: Arc<Self>) {
        let file = self.supervisor.settings.config().unwrap_or(Path::new("config.toml"));
        let channels = crate::channels(file, self.supervisor.settings.channels());
        for (name, error) in
            channels.iter().filter_map(|(name, channel)| Some((name, channel.as_ref().err()?)))
        {
            tracing::error!(%name, %error, "a channel cannot be used");
        }
        let post = Arc::new(Post::new(channels));
        if let Err(error) =
            self.supervisor.registry.release_notices(self.supervisor.instance.clone(), clock::unix_ms()).await
        {
            tracing::error!(%error, "what an earlier daemon was delivering waits for its time");
        }
        let (mut changes, mut phase) =
            (self.supervisor.events.changes(), self.supervisor.lifecycle.phase.subscribe());
        let mut under_way = JoinSet::new();
        // Callers who waited for the daemon before this one come back first.
        let _leaving =
            timeout(defaults::NOTICE_HOLD, until(&mut phase, |phase| *phase != Phase::Serving)).await;
        loop {
            changes.borrow_and_update();
            let next = self.deliver_due(&post, &mut under_way).await;
            tokio::select! {
                () = sleep(next) => {}
                _ = changes.changed() => {}
                Some(_) = under_way.join_next() => {}
                () = until(&mut phase, |phase| *phase != Phase::Serving) => break,
            }
        }
        // What is on its way arrives, so that the next daemon need not tell it again.
        let arriving = async { while under_way.join_next().await.is_some() {} };
        let _ = timeout(DRAIN_TIMEOUT, arriving).await;
    }

    /// Takes what is due on each channel; how long until there is more.
    async fn deliver_due(self: &Arc<Self>, post: &Arc<Post>, under_way: &mut JoinSet<()>) -> Duration {
        let due = match self.supervisor.registry.next_notices().await {
            Ok(due) => due,
            Err(error) => {
                tracing::error!(%error, "what is due cannot be read");
                return PAUSE;
            }
        };
        let mut soonest = IDLE_PAUSE;
        for (channel, at_ms) in due {
            let now_ms = clock::unix_ms();
            if is_exec_ended(&channel) && channel != exec_ended_channel(&self.supervisor.instance) {
                continue;
            }
            // What became due just now is left to those who see it by themselves.
            let due_ms = now_ms.saturating_sub(millis(defaults::NOTICE_HOLD));
            if at_ms > due_ms {
                soonest = soonest.min(Duration::from_millis(at_ms - due_ms));
                continue;
            }
            soonest = soonest.min(PAUSE);
            // Only here places are taken, so these stay free.
            let places = Arc::clone(post.places(&channel));
            let free = places.available_permits();
            if free == 0 || !self.supervisor.leases.may_act() {
                continue;
            }
            let until_ms = now_ms.saturating_add(millis(defaults::NOTICE_LEASE));
            match self
                .supervisor
                .registry
                .claim_notices(channel, self.supervisor.instance.clone(), due_ms, until_ms, free)
                .await
            {
                Ok(claimed) => {
                    for one in claimed {
                        let (notifier, post) = (Arc::clone(self), Arc::clone(post));
                        let place = Arc::clone(&places).try_acquire_owned();
                        under_way.spawn(async move {
                            notifier.deliver(&post, one).await;
                            drop(place);
                        });
                    }
                }
                Err(error) => tracing::error!(%error, "what is due cannot be taken"),
            }
        }
        soonest
    }

    /// Delivers one notice, and says how that went.
    async fn deliver(self: &Arc<Self>, post: &Post, claimed: Claimed) {
        let Claimed { claim, notice, tries } = claimed;
        self.let_witnesses_see(&notice).await;
        // If not, it need not be told any more, or somebody else has it.
        if !self.keep(&claim).await {
            return;
        }
        let tried = if notice.purpose == Purpose::ExecEnded.word() {
            self.exec_event(&notice).await
        } else {
            tried(self.hand_over_and_keep(post, &notice, &claim).await, tries)
        };
        let event = if let Tried::Told(event) = &tried { Some(event.clone()) } else { None };
        match self.supervisor.registry.settle_notice(claim, tried, clock::unix_ms()).await {
            Ok(true) => {
                if let Some(event) = event {
                    // Nobody may listen: the event is there for whoever comes.
                    let _ = self.supervisor.events.ended_execs.send(event);
                }
            }
            Ok(false) => {}
            Err(error) => {
                tracing::error!(key = %notice.key, %error, "how a delivery went is not recorded: it is tried again");
            }
        }
        self.supervisor.events.notify_followers();
    }

    /// The event for the end of a background command: recorded when the notice is settled.
    async fn exec_event(&self, notice: &Notice) -> Tried {
        let event = match &notice.run_id {
            Some(run) => exec_notice::exec_ended(&self.supervisor, run).await,
            None => Ok(None),
        };
        match event {
            Ok(Some(event)) => Tried::Told(event),
            Ok(None) => Tried::GivenUp { error: "its run is forgotten".to_owned() },
            Err(error) => {
                let at_ms = clock::unix_ms().saturating_add(millis(PAUSE));
                Tried::Again { error: error.to_string(), at_ms }
            }
        }
    }

    /// Gives a notice to its channel, and keeps it meanwhile: however long that takes, nobody begins it anew.
    async fn hand_over_and_keep(self: &Arc<Self>, post: &Post, notice: &Notice, claim: &Claim) -> Delivered {
        pause::point("daemon-before-delivery");
        let mut under_way = pin!(self.hand_over(post, notice));
        let delivered = loop {
            match timeout(defaults::NOTICE_LEASE / 3, &mut under_way).await {
                Ok(delivered) => break delivered,
                Err(_) => self.keep(claim).await,
            };
        };
        pause::point("daemon-after-delivery");
        delivered
    }

    /// Waits for those who are about to see the end, unless they do not take their answer.
    async fn let_witnesses_see(&self, notice: &Notice) {
        let task = self.supervisor.registry.task(Tracked::Task(notice.task_id.clone())).await.ok().flatten();
        let turn = task.and_then(|task| task.turn).map(Tracked::Turn);
        for what in turn.into_iter().chain(notice.run_id.clone().map(Tracked::Run)) {
            let _gone = timeout(WITNESS_WAIT, self.supervisor.witnesses.gone(&what)).await;
        }
    }

    /// Keeps a notice for a while more; whether it is still to be told.
    async fn keep(&self, claim: &Claim) -> bool {
        let until_ms = clock::unix_ms().saturating_add(millis(defaults::NOTICE_LEASE));
        self.supervisor.registry.renew_notice(claim.clone(), until_ms).await.unwrap_or_else(|error| {
            tracing::error!(key = %claim.key, %error, "a notice cannot be kept");
            false
        })
    }

    /// Gives a notice to its channel.
    async fn hand_over(self: &Arc<Self>, post: &Post, notice: &Notice) -> Delivered {
        let Some(origin) = &notice.origin else { return Delivered::given_up("it has no channel") };
        let Some((channel, _)) = post.channels.get(origin.channel.as_str()) else {
            let name = &origin.channel;
            return Delivered::given_up(format!(
                "there is no channel {name}: describe it in config.toml as [channels.{name}]"
            ));
        };
        let channel = match channel {
            Ok(channel) => channel,
            Err(error) => return Delivered::given_up(error.to_string()),
        };
        let message = message(notice).addressed(origin.to.as_deref(), origin.thread.as_deref());
        match &channel.target {
            Target::Webhook(webhook) => post.webhooks.deliver(webhook, &message, clock::unix_ms()).await,
            Target::Command(command) => match self.run_command(command, &message).await {
                Ok(delivered) => delivered,
                Err(refusal) => Delivered::try_again(refusal.detail),
            },
            Target::Events(listeners) => match self.tell_listeners(notice).await {
                // It is overtaken soon, and not acknowledged.
                Ok(()) if notice.purpose == Purpose::Change(0).word() => Delivered::Accepted,
                // Once somebody has said so, it is not tried again.
                Ok(()) => Delivered::TryAgain {
                    why: "nobody who listens to the events has acknowledged it".to_owned(),
                    after: Some(listeners.timeout),
                },
                Err(error) => Delivered::try_again(error.to_string()),
            },
        }
    }

    /// Tells a notice as an event.
    pub async fn tell_listeners(&self, notice: &Notice) -> Result<(), tenure_store::Failed> {
        let event = NewEvent {
            at_ms: clock::unix_ms(),
            kind: kind::TASK_NOTICE.to_owned(),
            instance: self.supervisor.instance.clone(),
            run_id: notice.run_id.clone(),
            session: notice.owner_session_key.as_ref().map(ToString::to_string),
            detail: serde_json::to_value(notice).unwrap_or_default(),
        };
        self.supervisor.registry.tell(event).await.map(drop)
    }

    /// Has a command take a notice: as a run, so that its whole tree is held.
    async fn run_command(
        self: &Arc<Self>,
        command: &Command,
        message: &crate::Message,
    ) -> Result<Delivered, Refusal> {
        let plan = match crate::plan(command, message) {
            Ok(plan) => plan,
            Err(error) => return Ok(Delivered::given_up(error.to_string())),
        };
        let stdin = plan.stdin.clone();
        let row = self.starts.run_to_end(self.asked_of(plan)?, "the notifier", &stdin).await?;
        let dir = Path::new(&row.directory).join("output");
        let last = last_output(dir, crate::OUTPUT_BYTES).await;
        let Some(ending) = row.ending else { return Ok(Delivered::try_again("how it ended is not known")) };
        let how = &ending.termination;
        if how.reason == Reason::SpawnError {
            let why = how.detail.as_deref().unwrap_or("it is not known why");
            return Ok(Delivered::given_up(format!("the command could not be started: {why}")));
        }
        let timed_out = how.reason == Reason::OverallTimeout;
        Ok(crate::judge(how.exit_code, how.signal, timed_out, &last))
    }

    fn asked_of(&self, plan: crate::Plan) -> Result<StartRequest, Refusal> {
        let mut spec = self.supervisor.inherited_spec();
        for (name, value) in &plan.env {
            set_variable(&mut spec.env, name, value)?;
        }
        if let Some(cwd) = &plan.cwd {
            spec.cwd = tenure_os::text::bytes(cwd);
        }
        let words = plan.argv.into_iter().map(String::into_bytes).collect();
        spec.argv = Argv::new(words).map_err(Refusal::invalid)?;
        spec.options.limits.overall = Some(plan.timeout);
        spec.options.label = Some("a notice".to_owned());
        spec.options.stdin = true;
        Ok(StartRequest::new(spec, Backend::Run))
    }
}

/// The notice as channels get it.
fn message(notice: &Notice) -> crate::Message {
    crate::Message {
        key: notice.key.as_str().to_owned(),
        created_at_ms: notice.at_ms,
        kind: format!("task.{}", notice.purpose),
        text: notice.text.clone(),
        payload: serde_json::to_value(notice).unwrap_or_default(),
    }
}

/// What comes of a try.
fn tried(delivered: Delivered, tries: u32) -> Tried {
    match delivered {
        Delivered::Accepted => Tried::Delivered,
        Delivered::GivenUp { why } => Tried::GivenUp { error: why },
        Delivered::TryAgain { why, after } => {
            let random = random::bytes().map_or(0, u64::from_ne_bytes);
            match Schedule::default().pause_after(tries, random) {
                Some(pause) => {
                    let pause = after.map_or(pause, |after| after.max(pause));
                    Tried::Again { error: why, at_ms: clock::unix_ms().saturating_add(millis(pause)) }
                }
                None => Tried::GivenUp { error: format!("{why}; tried {tries} times") },
            }
        }
    }
}

/// Whether a channel is that of an installation's `exec-ended` notices.
fn is_exec_ended(channel: &str) -> bool {
    channel.split_once(':').is_some_and(|(purpose, _)| purpose == Purpose::ExecEnded.word())
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
