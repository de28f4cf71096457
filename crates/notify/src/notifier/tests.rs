//! Tests of the notifier, without processes and without waiting: the test plays the command of a channel, and claims each
//! notice as if it were due.

use super::*;
use crate::{Listeners, Url, Webhook};
use serde_json::{Value, json};
use std::ops::Deref;
use tenure_agents::Agents;
use tenure_agents::sessions::CloseReason;
use tenure_core::ids::RunId;
use tenure_core::lease::Hold;
use tenure_core::record::Ending;
use tenure_core::task::{DeliveryStatus, NotifyPolicy};
use tenure_core::tools;
use tenure_core::tools::tasks::TaskNotice;
use tenure_core::wire::KeeperRequest;
use tenure_keeper::launch::new_ticket;
use tenure_policy::Approvals;
use tenure_store::{Change, NewRun, Tracked};
use tenure_supervisor::fixture::{FakeKeeper, Test, client, command_of, exited, operator, soon};
use tenure_supervisor::task::task_of_exec;

const OWNER: &str = "agent:a:main";

fn desk(word: &str) -> Target {
    Target::Command(Command {
        argv: vec![word.to_owned()],
        cwd: None,
        env: BTreeMap::new(),
        timeout: Duration::from_mins(5),
    })
}

fn events() -> Target {
    Target::Events(Listeners { timeout: Duration::ZERO })
}

fn channels<const N: usize>(channels: [(&str, Target); N]) -> Arc<Channels> {
    let described = channels
        .map(|(name, target)| (name.to_owned(), Ok(Channel { name: name.parse().expect("a name"), target })));
    Arc::new(Channels::new(BTreeMap::from(described)))
}

/// A notifier with fake keepers, and agents.
struct TestNotifier {
    test: Test<Notifier>,
    agents: Arc<Agents>,
}

impl Deref for TestNotifier {
    type Target = Test<Notifier>;

    fn deref(&self) -> &Test<Notifier> {
        &self.test
    }
}

impl TestNotifier {
    /// Creates a notifier with channels of these names. The tests provide their targets.
    async fn with_channels(names: &[&str]) -> Self {
        let tables = names.iter().map(|name| format!("[channels.{name}]\nreached-by = 'the test'\n"));
        let build = |supervisor: &Arc<Supervisor>| {
            Arc::new(Notifier::new(Arc::clone(supervisor), Arc::new(Arc::clone(supervisor))))
        };
        let test = Test::over(&tables.collect::<String>(), |_| {}, build).await;
        let agents = Arc::new(Agents::new(Arc::new(Approvals::new(Arc::clone(&test.supervisor)))));
        Self { test, agents }
    }

    /// Sends a `sessions` request as an operator.
    async fn ask(&self, body: Value) -> Result<(), Refusal> {
        let request = serde_json::from_value(body).expect("a request");
        soon(self.agents.sessions(request, (None, &operator()))).await.map(drop)
    }
}

impl TestNotifier {
    /// Creates a session that is notified on this channel.
    async fn owner(&self, key: &str, channel: &str) {
        let origin = json!({"channel": channel, "to": "#ops", "thread": "7"});
        let spawn = json!({"action": "spawn", "sessionKey": key, "backend": "exec", "origin": origin});
        self.ask(spawn).await.expect("spawned");
    }

    /// Runs a task of this owner that fails, and returns its run. Its notice is due then.
    async fn failed_task(&self, owner: &str) -> RunId {
        let asked = StartRequest { policy: Some(NotifyPolicy::DoneOnly), ..command_of(owner, "work") };
        let keeper = self.running(asked).await;
        let run = keeper.ticket.run_id.clone();
        keeper.end(exited(3));
        self.is_over(&run).await;
        run
    }

    /// Runs a background command of this session that fails, and returns its run.
    async fn failed_exec(&self, session: &str) -> RunId {
        let notify = Some(tools::Notify::Always);
        let keeper = self.running(StartRequest { notify, ..command_of(session, "work") }).await;
        let run = keeper.ticket.run_id.clone();
        let task = task_of_exec(tools::Notify::Always).expect("a task");
        self.supervisor.registry.go_background(run.clone(), task).await.expect("a registry");
        keeper.end(exited(3));
        self.is_over(&run).await;
        run
    }

    /// Returns the terminal notice and its delivery status.
    async fn notice(&self, run: &RunId) -> (TaskNotice, DeliveryStatus) {
        let task = self
            .supervisor
            .registry
            .task(Tracked::Run(run.clone()))
            .await
            .expect("a registry")
            .expect("a task");
        let mut notices = self.supervisor.registry.task_notices(task.id.clone()).await.expect("a registry");
        assert_eq!(notices.len(), 1, "one notice of the end (I10)");
        (notices.remove(0), task.delivery)
    }

    async fn delivery(&self, run: &RunId) -> DeliveryStatus {
        self.notice(run).await.1
    }

    /// Claims the next notice of a channel, as if it were due. Returns `None` if there is none.
    async fn claim(&self, channel: &str) -> Option<Claimed> {
        let due = self.supervisor.registry.next_notices().await.expect("a registry");
        let (_, at_ms) = due.into_iter().find(|(name, _)| name == channel)?;
        let until_ms = at_ms + millis(defaults::NOTICE_LEASE);
        let claimed = self
            .supervisor
            .registry
            .claim_notices(channel.to_owned(), self.supervisor.instance.clone(), at_ms, until_ms, 1)
            .await;
        claimed.expect("a registry").pop()
    }

    /// Starts due deliveries until there are this many: a notice is held for a moment after an end.
    async fn deliver_when_due(&self, channels: &Arc<Channels>, deliveries: &mut JoinSet<()>, count: usize) {
        soon(async {
            while deliveries.len() < count {
                let next = self.deliver_due(channels, deliveries).await;
                sleep(next.min(defaults::NOTICE_HOLD)).await;
            }
        })
        .await;
    }

    /// Returns the number of `task-notice` events.
    async fn told(&self) -> usize {
        let events = self.supervisor.registry.events(0, None, 1000).await.expect("a registry");
        events.iter().filter(|event| event.event.kind == "task-notice").count()
    }
}

/// Reads a notice as the channel's command does: the whole stdin.
async fn read_notice(keeper: &mut FakeKeeper) -> Value {
    keeper.start();
    let (ask, body) = keeper.next_ask().await;
    assert_eq!(ask, KeeperRequest::Stdin { offset: 0, eof: false });
    let (ask, _) = keeper.next_ask().await;
    assert_eq!(ask, KeeperRequest::Stdin { offset: body.len() as u64, eof: true });
    serde_json::from_slice(&body).expect("a notice")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_is_tried_again_under_its_key_until_it_is_taken() {
    let notifier = TestNotifier::with_channels(&["desk"]).await;
    notifier.owner(OWNER, "desk").await;
    let channels = channels([("desk", desk("tell"))]);
    let run = notifier.failed_task(OWNER).await;
    let mut told = Vec::new();
    for code in [75, 75, 0] {
        assert_eq!(notifier.delivery(&run).await, DeliveryStatus::Pending);
        let claimed = notifier.claim("desk").await.expect("it is due");
        let delivering = notifier.deliver(&channels, claimed);
        let playing = async {
            let mut keeper = notifier.next_keeper().await;
            assert_eq!(
                (&keeper.ticket.command[..], &keeper.ticket.options.session_id),
                (&["tell".to_owned()][..], &None)
            );
            told.push(read_notice(&mut keeper).await);
            keeper.end(exited(code));
        };
        soon(async { tokio::join!(delivering, playing) }).await;
    }
    assert_eq!(notifier.delivery(&run).await, DeliveryStatus::Delivered);
    assert!(notifier.claim("desk").await.is_none(), "what was taken is not told again");
    let [first, ..] = &told[..] else { panic!("it was told") };
    assert!(told.iter().all(|notice| notice == first), "a notice does not change: {told:?}");
    assert_eq!((&first["type"], &first["data"]["runId"]), (&json!("task.terminal"), &json!(run)));
    assert_eq!((&first["data"]["to"], &first["data"]["thread"]), (&json!("#ops"), &json!("7")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_is_tried_with_growing_pauses_and_fails_after_its_last_try() {
    let notifier = TestNotifier::with_channels(&["gateway"]).await;
    notifier.owner(OWNER, "gateway").await;
    let channels = channels([("gateway", events())]);
    let run = notifier.failed_task(OWNER).await;
    let why = CloseReason { reason: None, discard: false };
    soon(notifier.agents.close_session(&OWNER.parse().expect("a key"), &why)).await.expect("closed");
    for tries in 1..=defaults::NOTICE_TRIES {
        let before_ms = clock::unix_ms();
        let claimed = notifier.claim("gateway").await.expect("it is due");
        assert_eq!(claimed.tries, tries);
        soon(notifier.deliver(&channels, claimed)).await;
        let after_ms = clock::unix_ms();
        let (notice, delivery) = notifier.notice(&run).await;
        assert!(notice.last_error.is_some(), "it says what went wrong");
        if tries == defaults::NOTICE_TRIES {
            assert_eq!((notice.state.as_str(), delivery), ("failed", DeliveryStatus::Failed));
            continue;
        }
        let whole = (defaults::NOTICE_PAUSE * 2_u32.pow(tries - 1)).min(defaults::NOTICE_PAUSE_MOST);
        let next_ms = notice.next_at_ms.expect("another try");
        let pause_ms = (next_ms - after_ms, next_ms - before_ms);
        assert!(
            pause_ms.1 >= millis(whole) / 2 && pause_ms.0 <= millis(whole),
            "{pause_ms:?} after {tries} tries, and {whole:?} is the longest"
        );
    }
    assert!(notifier.claim("gateway").await.is_none());
    assert_eq!(notifier.told().await, defaults::NOTICE_TRIES as usize);
    assert_eq!(
        notifier.supervisor.registry.retry_notices(notifier.task(&run).await, clock::unix_ms()).await,
        Ok(1)
    );
    assert!(notifier.claim("gateway").await.is_some(), "a person can have it tried again");
}

impl TestNotifier {
    async fn task(&self, run: &RunId) -> tenure_core::ids::TaskId {
        let task = self.supervisor.registry.task(Tracked::Run(run.clone())).await.expect("a registry");
        task.expect("a task").id
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_refuses_is_not_tried_again_and_has_failed() {
    let notifier = TestNotifier::with_channels(&["desk"]).await;
    notifier.owner(OWNER, "desk").await;
    let channels = channels([("desk", desk("tell"))]);
    let run = notifier.failed_task(OWNER).await;
    let claimed = notifier.claim("desk").await.expect("it is due");
    let playing = async {
        let mut keeper = notifier.next_keeper().await;
        read_notice(&mut keeper).await;
        keeper.end(exited(4));
    };
    soon(async { tokio::join!(notifier.deliver(&channels, claimed), playing) }).await;
    assert_eq!(notifier.delivery(&run).await, DeliveryStatus::Failed, "its owner has no next turn");
    assert!(notifier.claim("desk").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_for_a_channel_whose_description_is_gone_has_failed() {
    let notifier = TestNotifier::with_channels(&["attic"]).await;
    notifier.owner(OWNER, "attic").await;
    let run = notifier.failed_task(OWNER).await;
    let claimed = notifier.claim("attic").await.expect("it is due");
    soon(notifier.deliver(&channels([]), claimed)).await;
    let (notice, delivery) = notifier.notice(&run).await;
    assert_eq!(delivery, DeliveryStatus::Failed);
    assert!(notice.last_error.is_some_and(|why| why.contains("[channels.attic]")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_acknowledged_is_not_told() {
    let notifier = TestNotifier::with_channels(&["gateway"]).await;
    notifier.owner(OWNER, "gateway").await;
    let channels = channels([("gateway", events())]);
    let run = notifier.failed_task(OWNER).await;
    let claimed = notifier.claim("gateway").await.expect("it is due");
    let acknowledged =
        notifier.supervisor.registry.acknowledge_task(Tracked::Run(run.clone()), clock::unix_ms()).await;
    assert_eq!(acknowledged, Ok(true));
    // The notice was already claimed, and is not delivered.
    soon(notifier.deliver(&channels, claimed)).await;
    assert_eq!((notifier.told().await, notifier.delivery(&run).await), (0, DeliveryStatus::Delivered));
    assert!(notifier.claim("gateway").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_is_about_to_see_the_end_is_waited_for_and_not_told() {
    let notifier = TestNotifier::with_channels(&["gateway"]).await;
    notifier.owner(OWNER, "gateway").await;
    let channels = channels([("gateway", events())]);
    let run = notifier.failed_task(OWNER).await;
    let sight = notifier.supervisor.watch_run_end(&notifier.row_of(&run).await, &client(OWNER)).await;
    let claimed = notifier.claim("gateway").await.expect("it is due");
    let mut delivering = pin!(notifier.deliver(&channels, claimed));
    let many_looks = async {
        for _ in 0..100 {
            assert_eq!(notifier.told().await, 0, "its owner is about to see it");
        }
    };
    tokio::select! {
        () = &mut delivering => panic!("its owner is about to see it"),
        () = many_looks => {}
    }
    sight.seen().await;
    soon(delivering).await;
    assert_eq!((notifier.told().await, notifier.delivery(&run).await), (0, DeliveryStatus::Delivered));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_left_before_it_saw_the_end_is_told() {
    let notifier = TestNotifier::with_channels(&["gateway"]).await;
    notifier.owner(OWNER, "gateway").await;
    let channels = channels([("gateway", events())]);
    let run = notifier.failed_task(OWNER).await;
    let sight = notifier.supervisor.watch_run_end(&notifier.row_of(&run).await, &client(OWNER)).await;
    let claimed = notifier.claim("gateway").await.expect("it is due");
    drop(sight);
    soon(notifier.deliver(&channels, claimed)).await;
    assert_eq!((notifier.told().await, notifier.delivery(&run).await), (1, DeliveryStatus::Pending));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_sees_the_end_keeps_nothing_from_the_owner() {
    let notifier = TestNotifier::with_channels(&["gateway"]).await;
    notifier.owner(OWNER, "gateway").await;
    let channels = channels([("gateway", events())]);
    let run = notifier.failed_task(OWNER).await;
    let sight = notifier.supervisor.watch_run_end(&notifier.row_of(&run).await, &operator()).await;
    let claimed = notifier.claim("gateway").await.expect("it is due");
    soon(notifier.deliver(&channels, claimed)).await;
    sight.seen().await;
    assert_eq!((notifier.told().await, notifier.delivery(&run).await), (1, DeliveryStatus::Pending));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_background_command_is_told_to_listeners_once() {
    let notifier = TestNotifier::with_channels(&[]).await;
    let mut client = notifier.supervisor.events.ended_execs.subscribe();
    let run = notifier.failed_exec(OWNER).await;
    let claimed =
        notifier.claim(&exec_ended_channel(&notifier.supervisor.instance)).await.expect("it is due");
    // As if a daemon had died before it settled the notice.
    notifier
        .supervisor
        .registry
        .release_notices(notifier.supervisor.instance.clone(), clock::unix_ms())
        .await
        .expect("a registry");
    let again =
        notifier.claim(&exec_ended_channel(&notifier.supervisor.instance)).await.expect("it is due again");
    for claimed in [claimed, again] {
        soon(notifier.deliver(&channels([]), claimed)).await;
    }
    let events = notifier.supervisor.registry.events(0, Some(run.clone()), 1000).await.expect("a registry");
    let told: Vec<_> = events.into_iter().filter(|row| row.event.kind == kind::EXEC_ENDED).collect();
    let [told] = &told[..] else { panic!("{told:?}") };
    assert_eq!((told.event.session.as_deref(), &told.event.detail["exitCode"]), (Some(OWNER), &json!(3)));
    assert_eq!(client.try_recv().expect("it heard"), told.event);
    assert!(client.try_recv().is_err(), "and once");
    assert!(notifier.claim(&exec_ended_channel(&notifier.supervisor.instance)).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn listeners_are_not_told_of_a_removed_run() {
    let notifier = TestNotifier::with_channels(&[]).await;
    let run = notifier.failed_exec(OWNER).await;
    notifier.supervisor.registry.hide(run.clone()).await.expect("a registry");
    let claimed =
        notifier.claim(&exec_ended_channel(&notifier.supervisor.instance)).await.expect("it is due");
    soon(notifier.deliver(&channels([]), claimed)).await;
    let events = notifier.supervisor.registry.events(0, Some(run), 1000).await.expect("a registry");
    assert!(events.iter().all(|row| row.event.kind != kind::EXEC_ENDED));
    assert!(notifier.claim(&exec_ended_channel(&notifier.supervisor.instance)).await.is_none(), "nor later");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_due_is_taken_and_the_rest_has_its_time() {
    let notifier = TestNotifier::with_channels(&["gateway"]).await;
    notifier.owner(OWNER, "gateway").await;
    let (channels, mut deliveries) = (channels([("gateway", events())]), JoinSet::new());
    notifier.failed_task(OWNER).await;
    notifier.deliver_when_due(&channels, &mut deliveries, 1).await;
    soon(deliveries.join_next()).await.expect("it is due").expect("no panic");
    let next = notifier.deliver_due(&channels, &mut deliveries).await;
    assert!(deliveries.is_empty(), "its next try is later");
    assert!(next > Duration::ZERO && next <= defaults::NOTICE_PAUSE + defaults::NOTICE_HOLD, "{next:?}");
    assert_eq!(notifier.told().await, 1);
}

/// Records a run of this owner that has failed, without starting it.
async fn record_failed_task(notifier: &TestNotifier, owner: &str) -> RunId {
    let request = command_of(owner, "work");
    let ticket =
        new_ticket(notifier.supervisor.instance.clone(), request.backend, &request.spec).expect("ids");
    let (run, epoch) = (ticket.run_id.clone(), ticket.lease_epoch);
    let new = NewRun {
        ticket,
        directory: notifier.supervisor.state.run_path(&run).display().to_string(),
        asked_by: "a test".to_owned(),
        exec: None,
        session_parent: None,
        is_started: false,
        task: Some(tenure_supervisor::task::new_task(NotifyPolicy::DoneOnly, true).expect("a task")),
    };
    notifier.supervisor.registry.create(new).await.expect("recorded");
    let ending = Ending::unseen(run.clone(), exited(3), clock::unix_ms());
    let hold = Hold { instance: notifier.supervisor.instance.clone(), epoch };
    let ended = Change::Ended(Box::new(ending));
    assert_eq!(
        notifier.supervisor.registry.record(run.clone(), hold, ended, clock::unix_ms()).await,
        Ok(true)
    );
    run
}

/// Runs on a paused clock, which jumps to the next deadline whenever there is nothing to do.
#[tokio::test]
async fn a_try_keeps_its_notice_to_itself_however_long_it_takes() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a receiver that never answers");
    let url = format!("http://{}/", silent.local_addr().expect("an address"));
    let slow = Target::Webhook(Webhook {
        url: Url::parse(&url).expect("an address"),
        secret: None,
        timeout: Duration::from_hours(24 * 365),
        allow_private: true,
    });
    let notifier = TestNotifier::with_channels(&["slow"]).await;
    notifier.owner(OWNER, "slow").await;
    let (run, channels) = (record_failed_task(&notifier, OWNER).await, channels([("slow", slow)]));
    tokio::time::pause();
    let claimed = notifier.claim("slow").await.expect("it is due");
    let claim = claimed.claim.clone();
    let renewals = async {
        for _ in 0..3 {
            // As if the notifier had lost the claim at this moment.
            assert_eq!(notifier.supervisor.registry.renew_notice(claim.clone(), 1).await, Ok(true));
            let mut looks = 0;
            while notifier.notice(&run).await.0.next_at_ms == Some(1) {
                looks += 1;
                assert!(looks < 1000, "nobody renews it");
            }
        }
    };
    // The clock jumps no further than that while the test waits for the registry.
    let seconds = async {
        loop {
            sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        () = notifier.deliver(&channels, claimed) => panic!("the receiver never answers"),
        () = renewals => {}
        () = seconds => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_hangs_does_not_hold_up_another() {
    let notifier = TestNotifier::with_channels(&["hangs", "desk"]).await;
    notifier.owner(OWNER, "hangs").await;
    notifier.owner("agent:b:main", "desk").await;
    let (channels, mut deliveries) =
        (channels([("hangs", desk("hang")), ("desk", desk("tell"))]), JoinSet::new());
    for _ in 0..=CHANNEL_DELIVERIES {
        notifier.failed_task(OWNER).await;
    }
    notifier.deliver_when_due(&channels, &mut deliveries, CHANNEL_DELIVERIES).await;
    assert_eq!(deliveries.len(), CHANNEL_DELIVERIES, "every place of the channel is taken");
    let mut hung = Vec::new();
    for _ in 0..CHANNEL_DELIVERIES {
        hung.push(notifier.next_keeper().await);
    }
    let run = notifier.failed_task("agent:b:main").await;
    notifier.deliver_when_due(&channels, &mut deliveries, CHANNEL_DELIVERIES + 1).await;
    let mut keeper = notifier.next_keeper().await;
    assert_eq!(keeper.ticket.command, ["tell"]);
    read_notice(&mut keeper).await;
    keeper.end(exited(0));
    soon(deliveries.join_next()).await.expect("one arrives").expect("no panic");
    assert_eq!(notifier.delivery(&run).await, DeliveryStatus::Delivered);
    assert!(!notifier.has_launch(), "the last of the hung channel waits for a place");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_may_not_act_delivers_nothing() {
    let notifier = TestNotifier::with_channels(&["gateway"]).await;
    notifier.owner(OWNER, "gateway").await;
    let (channels, mut deliveries) = (channels([("gateway", events())]), JoinSet::new());
    notifier.failed_task(OWNER).await;
    let (_, due_ms) = notifier.supervisor.registry.next_notices().await.expect("a registry").remove(0);
    let is_due = async || clock::unix_ms() >= due_ms + millis(defaults::NOTICE_HOLD);
    tenure_supervisor::fixture::eventually("that it is due", is_due).await;
    let rhythm = notifier.supervisor.settings.rhythm();
    *notifier.supervisor.leases.tenancy() = tenure_core::lease::Tenancy::begin(1, rhythm);
    notifier.deliver_due(&channels, &mut deliveries).await;
    assert!(deliveries.is_empty());
    assert_eq!(notifier.told().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_leaves_finishes_what_is_on_its_way() {
    let notifier = TestNotifier::with_channels(&["attic"]).await;
    notifier.owner(OWNER, "attic").await;
    let run = notifier.failed_task(OWNER).await;
    let delivering = tokio::spawn(Arc::clone(&notifier).notify_forever());
    let is_told = async || notifier.delivery(&run).await == DeliveryStatus::Failed;
    tenure_supervisor::fixture::eventually("that it was tried", is_told).await;
    notifier.supervisor.lifecycle.drain(false);
    soon(delivering).await.expect("no panic");
}
