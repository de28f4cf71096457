//! Delivers the notices in the registry's outbox: to the channels of owners, and as the event `exec-ended`. Each notice is
//! claimed, delivered and settled. If the daemon is killed in between, the next one delivers it again, with the same key.

use crate::{BadChannel, Channel, Command, Delivery, Target, WebhookClient};
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

/// Maximum number of concurrent deliveries to a channel.
const CHANNEL_DELIVERIES: usize = 16;
/// Maximum number of concurrent `exec-ended` events: each only waits for callers that are about to see the end.
const EXEC_ENDED_DELIVERIES: usize = 256;
/// Maximum interval between two reads of the outbox.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(30);
/// Pause after an error of the registry, or while a channel is busy.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Maximum wait for callers that are about to see the end.
const WITNESS_TIMEOUT: Duration = Duration::from_secs(10);

/// The channels, each with its own limit of deliveries: a channel that hangs does not block others.
struct Channels {
    by_name: BTreeMap<String, (Result<Channel, BadChannel>, Arc<Semaphore>)>,
    /// Limit for notices to unknown channels.
    unknown: Arc<Semaphore>,
    /// Limit for `exec-ended` events.
    exec_ended: Arc<Semaphore>,
    webhooks: WebhookClient,
}

impl Channels {
    fn new(channels: BTreeMap<String, Result<Channel, BadChannel>>) -> Self {
        let permits = || Arc::new(Semaphore::new(CHANNEL_DELIVERIES));
        let by_name = channels.into_iter().map(|(name, channel)| (name, (channel, permits()))).collect();
        let exec_ended = Arc::new(Semaphore::new(EXEC_ENDED_DELIVERIES));
        Self { by_name, unknown: permits(), exec_ended, webhooks: WebhookClient::default() }
    }

    fn permits(&self, channel: &str) -> &Arc<Semaphore> {
        match self.by_name.get(channel) {
            Some((_, permits)) => permits,
            None if is_exec_ended(channel) => &self.exec_ended,
            None => &self.unknown,
        }
    }
}

/// Delivers notices until the daemon exits.
pub struct Notifier {
    /// The supervisor, whose registry contains the outbox.
    pub supervisor: Arc<Supervisor>,
    /// Starts the commands of channels.
    starts: Arc<dyn StartRun>,
}

impl Notifier {
    /// Creates a notifier.
    pub fn new(supervisor: Arc<Supervisor>, starts: Arc<dyn StartRun>) -> Self {
        Self { supervisor, starts }
    }

    /// Delivers due notices until the daemon exits.
    pub async fn notify_forever(self: Arc<Self>) {
        let file = self.supervisor.settings.config().unwrap_or(Path::new("config.toml"));
        let channels = crate::channels(file, self.supervisor.settings.channels());
        for (name, error) in
            channels.iter().filter_map(|(name, channel)| Some((name, channel.as_ref().err()?)))
        {
            tracing::error!(%name, %error, "invalid channel");
        }
        let channels = Arc::new(Channels::new(channels));
        if let Err(error) =
            self.supervisor.registry.release_notices(self.supervisor.instance.clone(), clock::unix_ms()).await
        {
            tracing::error!(%error, "cannot release the notices of an earlier daemon: they wait until their claims expire");
        }
        let (mut changes, mut phase) =
            (self.supervisor.events.changes(), self.supervisor.lifecycle.phase.subscribe());
        let mut deliveries = JoinSet::new();
        // Waits for callers of the previous daemon to reconnect.
        let _leaving =
            timeout(defaults::NOTICE_HOLD, until(&mut phase, |phase| *phase != Phase::Serving)).await;
        loop {
            changes.borrow_and_update();
            let next = self.deliver_due(&channels, &mut deliveries).await;
            tokio::select! {
                () = sleep(next) => {}
                _ = changes.changed() => {}
                Some(_) = deliveries.join_next() => {}
                () = until(&mut phase, |phase| *phase != Phase::Serving) => break,
            }
        }
        // Finishes current deliveries, so that the next daemon need not repeat them.
        let finishing = async { while deliveries.join_next().await.is_some() {} };
        let _ = timeout(DRAIN_TIMEOUT, finishing).await;
    }

    /// Starts the delivery of due notices. Returns the time until the next ones.
    async fn deliver_due(
        self: &Arc<Self>,
        channels: &Arc<Channels>,
        deliveries: &mut JoinSet<()>,
    ) -> Duration {
        let due = match self.supervisor.registry.next_notices().await {
            Ok(due) => due,
            Err(error) => {
                tracing::error!(%error, "cannot read due notices");
                return RETRY_PAUSE;
            }
        };
        let mut soonest = MAX_POLL_INTERVAL;
        for (channel, at_ms) in due {
            let now_ms = clock::unix_ms();
            if is_exec_ended(&channel) && channel != exec_ended_channel(&self.supervisor.instance) {
                continue;
            }
            // New notices are held for a moment, for callers who see the end themselves.
            let due_ms = now_ms.saturating_sub(millis(defaults::NOTICE_HOLD));
            if at_ms > due_ms {
                soonest = soonest.min(Duration::from_millis(at_ms - due_ms));
                continue;
            }
            soonest = soonest.min(RETRY_PAUSE);
            // Permits are only acquired here, so these stay free.
            let permits = Arc::clone(channels.permits(&channel));
            let free = permits.available_permits();
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
                        let (notifier, channels) = (Arc::clone(self), Arc::clone(channels));
                        let permit = Arc::clone(&permits).try_acquire_owned();
                        deliveries.spawn(async move {
                            notifier.deliver(&channels, one).await;
                            drop(permit);
                        });
                    }
                }
                Err(error) => tracing::error!(%error, "cannot claim due notices"),
            }
        }
        soonest
    }

    /// Delivers one notice and records the result.
    async fn deliver(self: &Arc<Self>, channels: &Channels, claimed: Claimed) {
        let Claimed { claim, notice, tries } = claimed;
        self.wait_for_witnesses(&notice).await;
        // A lost claim: the notice was acknowledged, or another daemon has it.
        if !self.renew(&claim).await {
            return;
        }
        let tried = if notice.purpose == Purpose::ExecEnded.word() {
            self.exec_event(&notice).await
        } else {
            tried(self.deliver_with_claim(channels, &notice, &claim).await, tries)
        };
        let event = if let Tried::Told(event) = &tried { Some(event.clone()) } else { None };
        match self.supervisor.registry.settle_notice(claim, tried, clock::unix_ms()).await {
            Ok(true) => {
                if let Some(event) = event {
                    // Fails without listeners. The event is recorded anyway.
                    let _ = self.supervisor.events.ended_execs.send(event);
                }
            }
            Ok(false) => {}
            Err(error) => {
                tracing::error!(key = %notice.key, %error, "cannot record the result of a delivery: it will be repeated");
            }
        }
        self.supervisor.events.notify_followers();
    }

    /// Creates the event for the end of a background command. It is recorded when the notice is settled.
    async fn exec_event(&self, notice: &Notice) -> Tried {
        let event = match &notice.run_id {
            Some(run) => exec_notice::exec_ended(&self.supervisor, run).await,
            None => Ok(None),
        };
        match event {
            Ok(Some(event)) => Tried::Told(event),
            Ok(None) => Tried::GivenUp { error: "the record of its run was removed".to_owned() },
            Err(error) => {
                let at_ms = clock::unix_ms().saturating_add(millis(RETRY_PAUSE));
                Tried::Again { error: error.to_string(), at_ms }
            }
        }
    }

    /// Delivers a notice to its channel and renews the claim meanwhile, so that no other daemon delivers it, too.
    async fn deliver_with_claim(
        self: &Arc<Self>,
        channels: &Channels,
        notice: &Notice,
        claim: &Claim,
    ) -> Delivery {
        pause::point("daemon-before-delivery");
        let mut delivery = pin!(self.deliver_to_channel(channels, notice));
        let result = loop {
            match timeout(defaults::NOTICE_LEASE / 3, &mut delivery).await {
                Ok(result) => break result,
                Err(_) => self.renew(claim).await,
            };
        };
        pause::point("daemon-after-delivery");
        result
    }

    /// Waits for callers that are about to see the end.
    async fn wait_for_witnesses(&self, notice: &Notice) {
        let task = self.supervisor.registry.task(Tracked::Task(notice.task_id.clone())).await.ok().flatten();
        let turn = task.and_then(|task| task.turn).map(Tracked::Turn);
        for what in turn.into_iter().chain(notice.run_id.clone().map(Tracked::Run)) {
            let _gone = timeout(WITNESS_TIMEOUT, self.supervisor.witnesses.gone(&what)).await;
        }
    }

    /// Renews a claim. Returns false if it was lost.
    async fn renew(&self, claim: &Claim) -> bool {
        let until_ms = clock::unix_ms().saturating_add(millis(defaults::NOTICE_LEASE));
        self.supervisor.registry.renew_notice(claim.clone(), until_ms).await.unwrap_or_else(|error| {
            tracing::error!(key = %claim.key, %error, "cannot renew the claim of a notice");
            false
        })
    }

    /// Delivers a notice to its channel.
    async fn deliver_to_channel(self: &Arc<Self>, channels: &Channels, notice: &Notice) -> Delivery {
        let Some(origin) = &notice.origin else { return Delivery::given_up("the notice has no channel") };
        let Some((channel, _)) = channels.by_name.get(origin.channel.as_str()) else {
            let name = &origin.channel;
            return Delivery::given_up(format!(
                "unknown channel {name:?}: describe it in config.toml as [channels.{name}]"
            ));
        };
        let channel = match channel {
            Ok(channel) => channel,
            Err(error) => return Delivery::given_up(error.to_string()),
        };
        let message = message(notice).with_receiver(origin.to.as_deref(), origin.thread.as_deref());
        match &channel.target {
            Target::Webhook(webhook) => channels.webhooks.deliver(webhook, &message, clock::unix_ms()).await,
            Target::Command(command) => match self.run_command(command, &message).await {
                Ok(result) => result,
                Err(refusal) => Delivery::try_again(refusal.detail),
            },
            Target::Events(listeners) => match self.send_event(notice).await {
                // Progress is not acknowledged, because the next notice replaces it.
                Ok(()) if notice.purpose == Purpose::Change(0).word() => Delivery::Accepted,
                // An acknowledgement prevents the retry.
                Ok(()) => Delivery::TryAgain {
                    why: "no listener of the event stream has acknowledged it".to_owned(),
                    after: Some(listeners.timeout),
                },
                Err(error) => Delivery::try_again(error.to_string()),
            },
        }
    }

    /// Records a notice as an event.
    pub async fn send_event(&self, notice: &Notice) -> Result<(), tenure_store::Failed> {
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

    /// Runs the command of a channel as a run, so that all its processes end with it.
    async fn run_command(
        self: &Arc<Self>,
        command: &Command,
        message: &crate::Message,
    ) -> Result<Delivery, Refusal> {
        let start = match crate::start_of(command, message) {
            Ok(start) => start,
            Err(error) => return Ok(Delivery::given_up(error.to_string())),
        };
        let stdin = start.stdin.clone();
        let row = self.starts.run_to_end(self.start_request(start)?, "the notifier", &stdin).await?;
        let dir = Path::new(&row.directory).join("output");
        let last = last_output(dir, crate::OUTPUT_BYTES).await;
        let Some(ending) = row.ending else {
            return Ok(Delivery::try_again("the exit of the command is unknown"));
        };
        let how = &ending.termination;
        if how.reason == Reason::SpawnError {
            let why = how.detail.as_deref().unwrap_or("unknown error");
            return Ok(Delivery::given_up(format!("the command could not be started: {why}")));
        }
        let timed_out = how.reason == Reason::OverallTimeout;
        Ok(crate::delivery_of(how.exit_code, how.signal, timed_out, &last))
    }

    fn start_request(&self, start: crate::CommandStart) -> Result<StartRequest, Refusal> {
        let mut spec = self.supervisor.inherited_spec();
        for (name, value) in &start.env {
            set_variable(&mut spec.env, name, value)?;
        }
        if let Some(cwd) = &start.cwd {
            spec.cwd = tenure_os::text::bytes(cwd);
        }
        let words = start.argv.into_iter().map(String::into_bytes).collect();
        spec.argv = Argv::new(words).map_err(Refusal::invalid)?;
        spec.options.limits.overall = Some(start.timeout);
        spec.options.label = Some("a notice".to_owned());
        spec.options.stdin = true;
        Ok(StartRequest::new(spec, Backend::Run))
    }
}

/// Returns the message of a notice.
fn message(notice: &Notice) -> crate::Message {
    crate::Message {
        key: notice.key.as_str().to_owned(),
        created_at_ms: notice.at_ms,
        kind: format!("task.{}", notice.purpose),
        text: notice.text.clone(),
        payload: serde_json::to_value(notice).unwrap_or_default(),
    }
}

/// Returns the record of a delivery attempt.
fn tried(delivery: Delivery, tries: u32) -> Tried {
    match delivery {
        Delivery::Accepted => Tried::Delivered,
        Delivery::GivenUp { why } => Tried::GivenUp { error: why },
        Delivery::TryAgain { why, after } => {
            let random = random::bytes().map_or(0, u64::from_ne_bytes);
            match Schedule::default().pause_after(tries, random) {
                Some(pause) => {
                    let pause = after.map_or(pause, |after| after.max(pause));
                    Tried::Again { error: why, at_ms: clock::unix_ms().saturating_add(millis(pause)) }
                }
                None => Tried::GivenUp { error: format!("{why} (after {tries} attempts)") },
            }
        }
    }
}

/// Returns true if a channel is that of an installation's `exec-ended` events.
fn is_exec_ended(channel: &str) -> bool {
    channel.split_once(':').is_some_and(|(purpose, _)| purpose == Purpose::ExecEnded.word())
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
