//! Tells owners how their tasks ended, on their channels. What is to be told is in the registry's outbox; here it is taken
//! from there, delivered, and settled. A daemon that is killed in between has it delivered again, under the same key.

use crate::asked::{self, Asked};
use crate::daemon::{Daemon, Phase, until};
use crate::refusal::Refusal;
use crate::serve::FAREWELL;
use crate::tools::last_output;
use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::defaults;
use tenure_core::ending::Reason;
use tenure_core::limits::Limits;
use tenure_core::session::Backend;
use tenure_core::spec::{Argv, Spec, Transport};
use tenure_core::task::{Notice, Purpose, Schedule};
use tenure_notify::{BadChannel, Channel, Command, Delivered, Target, Webhooks};
use tenure_os::{clock, pause, random};
use tenure_store::{Claim, Claimed, NewEvent, Tracked, Tried, kind};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How many notices are on their way to a channel at once.
const AT_ONCE: usize = 16;
/// The longest that nothing is looked for.
const LOOK: Duration = Duration::from_secs(30);
/// The pause after the registry could not be read, or while a channel is busy.
const PAUSE: Duration = Duration::from_secs(1);
/// How long those who are about to see an end may take to be told of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The channels that there are, and what reaches them. Each has places of its own: one that hangs holds up no other.
struct Post {
    channels: BTreeMap<String, (Result<Channel, BadChannel>, Arc<Semaphore>)>,
    /// The places of the channels that there are not.
    nowhere: Arc<Semaphore>,
    webhooks: Webhooks,
}

impl Post {
    fn new(channels: BTreeMap<String, Result<Channel, BadChannel>>) -> Self {
        let places = || Arc::new(Semaphore::new(AT_ONCE));
        let channels = channels.into_iter().map(|(name, channel)| (name, (channel, places()))).collect();
        Self { channels, nowhere: places(), webhooks: Webhooks::default() }
    }

    fn places(&self, channel: &str) -> &Arc<Semaphore> {
        self.channels.get(channel).map_or(&self.nowhere, |(_, places)| places)
    }
}

impl Daemon {
    /// Refuses a channel that `config.toml` does not describe: what is to be told there would reach nobody.
    pub(crate) fn check_channel(&self, name: &str) -> Result<(), Refusal> {
        let described = self.settings.channels();
        if described.contains_key(name) {
            return Ok(());
        }
        let known: Vec<&str> = described.keys().map(String::as_str).collect();
        let known = match known.as_slice() {
            [] => "there is none yet".to_owned(),
            known => format!("there are {}", known.join(", ")),
        };
        Err(Refusal::invalid(format!(
            "unknown channel {name:?}: {known}; describe it in config.toml as [channels.{name}] and restart the daemon"
        )))
    }

    /// Delivers what is due, until the daemon leaves.
    pub(crate) async fn notify_forever(self: Arc<Self>) {
        let file = self.settings.config().unwrap_or(Path::new("config.toml"));
        let channels = tenure_notify::channels(file, self.settings.channels());
        for (name, error) in
            channels.iter().filter_map(|(name, channel)| Some((name, channel.as_ref().err()?)))
        {
            tracing::error!(%name, %error, "a channel cannot be used");
        }
        let post = Arc::new(Post::new(channels));
        if let Err(error) = self.registry.release_notices(self.instance.clone(), clock::unix_ms()).await {
            tracing::error!(%error, "what an earlier daemon was delivering waits for its time");
        }
        let (mut changes, mut phase) = (self.changes(), self.phase.subscribe());
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
        let _ = timeout(FAREWELL, arriving).await;
    }

    /// Takes what is due on each channel; how long until there is more.
    async fn deliver_due(self: &Arc<Self>, post: &Arc<Post>, under_way: &mut JoinSet<()>) -> Duration {
        let due = match self.registry.next_notices().await {
            Ok(due) => due,
            Err(error) => {
                tracing::error!(%error, "what is due cannot be read");
                return PAUSE;
            }
        };
        let mut soonest = LOOK;
        for (channel, at_ms) in due {
            let now_ms = clock::unix_ms();
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
            if free == 0 || !self.may_act() {
                continue;
            }
            let until_ms = now_ms.saturating_add(millis(defaults::NOTICE_LEASE));
            match self.registry.claim_notices(channel, self.instance.clone(), due_ms, until_ms, free).await {
                Ok(claimed) => {
                    for one in claimed {
                        let (daemon, post) = (Arc::clone(self), Arc::clone(post));
                        let place = Arc::clone(&places).try_acquire_owned();
                        under_way.spawn(async move {
                            daemon.deliver(&post, one).await;
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
        pause::point("daemon-before-delivery");
        let mut under_way = pin!(self.hand_over(post, &notice));
        let delivered = loop {
            // However long it takes, nobody begins it anew meanwhile.
            match timeout(defaults::NOTICE_LEASE / 3, &mut under_way).await {
                Ok(delivered) => break delivered,
                Err(_) => self.keep(&claim).await,
            };
        };
        pause::point("daemon-after-delivery");
        let tried = tried(delivered, tries);
        if let Err(error) = self.registry.settle_notice(claim, tried, clock::unix_ms()).await {
            tracing::error!(key = %notice.key, %error, "how a delivery went is not recorded: it is tried again");
        }
        self.something_happened();
    }

    /// Waits for those who are about to see the end, unless they do not take their answer.
    async fn let_witnesses_see(&self, notice: &Notice) {
        let task = self.registry.task(Tracked::Task(notice.task_id.clone())).await.ok().flatten();
        let turn = task.and_then(|task| task.turn).map(Tracked::Turn);
        for what in turn.into_iter().chain(notice.run_id.clone().map(Tracked::Run)) {
            let _gone = timeout(PATIENCE, self.witnesses.gone(&what)).await;
        }
    }

    /// Keeps a notice for a while more; whether it is still to be told.
    async fn keep(&self, claim: &Claim) -> bool {
        let until_ms = clock::unix_ms().saturating_add(millis(defaults::NOTICE_LEASE));
        self.registry.renew_notice(claim.clone(), until_ms).await.unwrap_or_else(|error| {
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
        let told = message(notice).addressed(origin.to.as_deref(), origin.thread.as_deref());
        match &channel.target {
            Target::Webhook(webhook) => post.webhooks.deliver(webhook, &told, clock::unix_ms()).await,
            Target::Command(command) => match self.run_command(command, &told).await {
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
    pub(crate) async fn tell_listeners(&self, notice: &Notice) -> Result<(), tenure_store::Failed> {
        let event = NewEvent {
            at_ms: clock::unix_ms(),
            kind: kind::TASK_NOTICE.to_owned(),
            instance: self.instance.clone(),
            run_id: notice.run_id.clone(),
            session: notice.owner_session_key.as_ref().map(ToString::to_string),
            detail: serde_json::to_value(notice).unwrap_or_default(),
        };
        self.registry.tell(event).await.map(drop)
    }

    /// Has a command take a notice: as a run, so that its whole tree is held.
    async fn run_command(
        self: &Arc<Self>,
        command: &Command,
        told: &tenure_notify::Notice,
    ) -> Result<Delivered, Refusal> {
        let plan = match tenure_notify::plan(command, told) {
            Ok(plan) => plan,
            Err(error) => return Ok(Delivered::given_up(error.to_string())),
        };
        let stdin = plan.stdin.clone();
        let held = self.start(self.asked_of(plan)?, "the notifier".to_owned(), None).await?;
        let run = held.ticket.run_id.clone();
        // One that does not read is judged by its end.
        let _ = self.type_into(&self.row(&run).await?, &stdin, Some(0), true).await;
        let row = self.wait(&run, None).await?;
        let dir = Path::new(&row.directory).join("output");
        let last = last_output(dir, tenure_notify::OUTPUT_BYTES).await;
        let Some(ending) = row.ending else { return Ok(Delivered::try_again("how it ended is not known")) };
        let how = &ending.termination;
        if how.reason == Reason::SpawnError {
            let why = how.detail.as_deref().unwrap_or("it is not known why");
            return Ok(Delivered::given_up(format!("the command could not be started: {why}")));
        }
        let timed_out = how.reason == Reason::OverallTimeout;
        Ok(tenure_notify::judge(how.exit_code, how.signal, timed_out, &last))
    }

    fn asked_of(&self, plan: tenure_notify::Plan) -> Result<Asked, Refusal> {
        let mut process = asked::handed_down(&self.state_text());
        for (name, value) in &plan.env {
            process.set(name, value)?;
        }
        if let Some(cwd) = &plan.cwd {
            process.cwd = tenure_os::text::bytes(cwd);
        }
        let words = plan.argv.into_iter().map(String::into_bytes).collect();
        let command = Argv::new(words).map_err(Refusal::invalid)?;
        let limits = Limits { overall: Some(plan.timeout), ..self.settings.run.without_time_limits() };
        let transport = Transport::Pipes { command, stdin: true };
        let spec = Spec { label: Some("a notice".to_owned()), ..process.spec(transport, limits) };
        Ok(Asked {
            spec,
            replace: false,
            only_session: None,
            session_parent: None,
            backend: Backend::Run,
            run_id: None,
            exec: None,
            policy: None,
            keep: None,
        })
    }
}

/// The notice as channels get it.
fn message(notice: &Notice) -> tenure_notify::Notice {
    tenure_notify::Notice {
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

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
