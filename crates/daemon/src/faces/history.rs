//! Scripted history: runs in every state and with every ending, sessions with their turns, and the tasks of both.

use super::samples::{
    MINUTE, SECOND, ending, exec_ticket, hold, journal, key, new_run, new_session, new_task, new_turn, note,
    other_instance, process, run_id, task_id, ticket, turn_id,
};
use super::served::{BEGAN, NOW, Served, own_instance};
use serde_json::json;
use tenure_core::ending::{Cause, Exit, Kills, ProcessNote, Reason, SpawnError, Termination};
use tenure_core::journal::line;
use tenure_core::output::Totals;
use tenure_core::record::{Boundary, Ending};
use tenure_core::session::{Backend, Interaction, Kind, Origin, SessionState, SpawnRequest, Work};
use tenure_core::task::NotifyPolicy;
use tenure_core::tools::Notify;
use tenure_store::{Change, FinalText, Move, NewRun, NewSession, Outcome, Tracked, Tried, TurnEnd};

/// Main session of the history; owns most of its tasks.
pub(super) const MAIN: &str = "agent:coder:main";
/// Child session of the main session.
pub(super) const CHILD: &str = "agent:coder:review-the-parser-of-durations";
/// Closed session.
pub(super) const CLOSED: &str = "agent:tester:nightly";

impl Served {
    /// Creates a daemon with the whole history in its registry.
    pub(super) async fn with_history(flags: &[(&str, &str)]) -> Self {
        let served = Self::new(flags).await;
        served.sessions().await;
        served.runs().await;
        served.ended_runs().await;
        served.copies().await;
        served.turns().await;
        served
    }

    pub(super) async fn create(&self, run: NewRun) {
        self.registry.create(run).await.unwrap();
    }

    pub(super) async fn change(&self, number: u8, change: Change, at_ms: u64) {
        assert!(self.registry.record(run_id(number), hold(), change, at_ms).await.unwrap());
    }

    pub(super) async fn started(&self, number: u8, boundary: &Boundary, exe: &str) {
        let at_ms = BEGAN + u64::from(number) * MINUTE + 15;
        self.change(number, Change::Started(Box::new(note(number, boundary, exe))), at_ms).await;
    }

    pub(super) async fn ended(&self, ending: Ending) {
        let at_ms = ending.ended_at_ms + 4;
        let run = ending.run_id.clone();
        let recorded = self.registry.record(run, hold(), Change::Ended(Box::new(ending)), at_ms);
        assert!(recorded.await.unwrap());
    }

    async fn sessions(&self) {
        let slack =
            Origin { channel: "slack".into(), to: Some("#parser".into()), thread: Some("1700".into()) };
        let main = new_session(MAIN, Backend::Cli, 0);
        let request = SpawnRequest {
            origin: Some(slack),
            kind: Kind::Main,
            interaction: Some(Interaction::Interactive),
            ..main.request
        };
        self.spawn(NewSession { request, label: Some("the parser".into()), ..main }).await;
        let child = new_session(CHILD, Backend::Cli, 2 * MINUTE);
        let work =
            Work { cwd: Some("/home/ada/parser".into()), timeout_ms: Some(600_000), ..Work::default() };
        let request = SpawnRequest {
            by: Some(key(MAIN)),
            kind: Kind::Subagent,
            sandboxed: true,
            work,
            ..child.request
        };
        self.spawn(NewSession { request, parent: Some(key(MAIN)), ..child }).await;
        self.spawn(new_session("shell", Backend::Exec, 3 * MINUTE)).await;
        self.spawn(new_session(CLOSED, Backend::Cli, 4 * MINUTE)).await;
        for (from, to) in
            [(SessionState::Idle, SessionState::Closing), (SessionState::Closing, SessionState::Closed)]
        {
            let reason = Some("the night is over".to_owned());
            let step = Move { from, to, at_ms: BEGAN + 50 * MINUTE, reason };
            assert!(self.registry.advance_session(key(CLOSED), step).await.unwrap().is_some());
        }
    }

    async fn spawn(&self, new: NewSession) {
        self.registry.spawn_session(new).await.unwrap();
    }

    /// Records the runs that have not ended.
    async fn runs(&self) {
        let more = json!({"sessionId": MAIN, "limits": {"timeoutMs": 1_800_000, "noOutputTimeoutMs": 300_000,
            "activity": "output", "graceMs": 5000, "giveUpMs": 10_000, "orphanGraceMs": 60_000}});
        let run = new_run(ticket(1, "cargo test --workspace --all-features", &more));
        self.create(NewRun { task: Some(new_task(1, NotifyPolicy::StateChanges, Some("tests"))), ..run })
            .await;
        let cgroup = Boundary::Cgroup { path: "/sys/fs/cgroup/tenure/a101".into() };
        self.started(1, &cgroup, "/usr/bin/cargo").await;
        let progress = self.registry.note_progress(
            Tracked::Task(task_id(1)),
            "212 of 480 tests".to_owned().into(),
            BEGAN + 5 * MINUTE,
        );
        assert!(progress.await.unwrap());
        let more = json!({"label": "web", "scope": "dev-server", "ptySize": {"cols": 120, "rows": 30},
            "envNames": ["PORT", "NODE_ENV"]});
        self.create(new_run(ticket(2, "npm run dev -- --host 127.0.0.1", &more))).await;
        let why = Some("/sys/fs/cgroup is not delegated to this user".to_owned());
        self.started(2, &Boundary::Subreaper { why }, "/usr/bin/node").await;
        self.create(new_run(exec_ticket(3, "shell", "sleep 600"))).await;
        self.started(3, &Boundary::Subreaper { why: None }, "/usr/bin/sleep").await;
        let detail = Some("uid 1000".to_owned());
        self.change(3, Change::Leaving { cause: Some(Cause::ManualCancel), detail }, NOW - 2 * SECOND).await;
        self.create(new_run(ticket(4, "make", &json!({})))).await;
    }

    /// Records one ended run for each reason.
    async fn ended_runs(&self) {
        let exit = |code: i32| Termination {
            exit_code: Some(code),
            ..Termination::new(Reason::Exit, Some(Exit::Code(code)), None)
        };
        self.over(10, "cargo fmt --check", exit(0), 2).await;
        let leftovers = Termination { leftovers: 2, ..exit(3) };
        self.over(11, "./migrate --to 42", leftovers, 31).await;
        let segv = Termination::new(Reason::Signal, Some(Exit::Signal(11)), None);
        self.over(12, "./fuzz --seed 7", segv, 90).await;
        let cancelled = Termination::new(Reason::ManualCancel, Some(Exit::Signal(15)), None);
        self.over(13, "tail -f /var/log/syslog", cancelled, 600).await;
        self.timed_out().await;
        let silent = Termination::new(Reason::NoOutputTimeout, Some(Exit::Signal(15)), None);
        self.over(15, "ssh build-7", silent, 300).await;
        let missing =
            SpawnError { detail: "no-such-program: no such file or directory".into(), not_found: true };
        self.create(new_run(ticket(16, "no-such-program", &json!({})))).await;
        self.ended(Ending::not_started(run_id(16), &missing, BEGAN + 16 * MINUTE + 9)).await;
        let escaped = Termination {
            escapees: vec![process(4_172, "/usr/bin/redis-server")],
            ..Termination::new(Reason::OwnershipEscape, Some(Exit::Code(0)), None)
        };
        self.over(17, "./start-everything", escaped, 3).await;
        self.over(
            18,
            "python3 train.py",
            Termination::new(Reason::OwnerLost, Some(Exit::Signal(9)), None),
            75,
        )
        .await;
        let stale = Termination::new(Reason::ReconciledStale, None, Some("the machine was restarted".into()));
        self.over(19, "rsync -a /srv /backup", Termination { confirmed: false, ..stale }, 400).await;
    }

    /// Records an ended run of the exec tool, with a task.
    async fn over(&self, number: u8, command: &str, termination: Termination, after: u64) {
        let task = Some(new_task(number, NotifyPolicy::DoneOnly, None));
        self.create(NewRun { exec: Some(Notify::Auto), task, ..new_run(exec_ticket(number, MAIN, command)) })
            .await;
        self.started(number, &Boundary::Subreaper { why: None }, "/bin/sh").await;
        self.ended(ending(number, termination, after, u64::from(number) * 700)).await;
    }

    /// Records a run that a time limit ended, with a process that could not be killed. Its journal has an entry of every
    /// kind.
    async fn timed_out(&self) {
        let more = json!({"label": "crawl", "scope": "crawler"});
        self.create(new_run(ticket(14, "./crawl https://example.org", &more))).await;
        self.started(14, &Boundary::Cgroup { path: "/sys/fs/cgroup/tenure/a10e".into() }, "/srv/crawl").await;
        let cause = Some(Cause::OverallTimeout);
        self.change(14, Change::Leaving { cause, detail: None }, BEGAN + 24 * MINUTE).await;
        let termination = Termination {
            confirmed: false,
            survivors: vec![process(4_149, "/usr/bin/mount.nfs")],
            leftovers: 3,
            escapees: vec![process(4_150, "/usr/bin/setsid"), ProcessNote { pid: 4_151, exe: None }],
            output_open: true,
            ..Termination::new(Reason::OverallTimeout, Some(Exit::Signal(9)), None)
        };
        let ending = Ending {
            output: Totals { bytes: 5_368_709_120, dropped_bytes: 4_294_967_296 },
            kills: Kills { pid: 1, pgid: 1, cgroup: 1, job: 0 },
            ..ending(14, termination, 615, 1)
        };
        self.ended(ending).await;
        let dir = self.daemon.supervisor.state.make_run(run_id(14)).unwrap();
        let lines: Vec<u8> = journal().iter().flat_map(line).collect();
        std::fs::write(dir.path().join("journal"), lines).unwrap();
    }

    /// Records a run of another daemon that shares the registry, and a foreign run from a copied registry.
    async fn copies(&self) {
        self.registry.enrol(other_instance(), "other:/state".to_owned(), BEGAN).await.unwrap();
        let more = json!({"ownerInstanceId": other_instance(), "registryId": self.registry.id()});
        self.create(new_run(ticket(20, "./elsewhere", &more))).await;
        let more = json!({"ownerInstanceId": other_instance(), "label": "copied"});
        self.create(new_run(ticket(21, "./on-another-machine", &more))).await;
    }

    /// Records the turns of the child session, and a queued message.
    async fn turns(&self) {
        let said = [
            (
                1,
                "Review src/duration.rs.\nSay what is wrong.",
                Outcome::Done,
                Some("`1 min 90 s` is accepted."),
                None,
            ),
            (2, "Mend it.", Outcome::Failed, None, Some("the agent exited with 1: no API key was found")),
            (3, "Try again.", Outcome::TimedOut, Some("I am looking at"), Some("no output for 5 min")),
            (4, "Stop.", Outcome::Cancelled, None, None),
        ];
        for (number, message, outcome, text, error) in said {
            let at = BEGAN + (20 + u64::from(number)) * MINUTE;
            let task = Some(new_task(30 + number, NotifyPolicy::DoneOnly, None));
            let turn = new_turn(number, CHILD, message, at);
            self.registry.begin_turn(turn, task, own_instance(), at).await.unwrap();
            let end = TurnEnd {
                outcome,
                stop: None,
                at_ms: at + 42 * SECOND,
                text: text.map(FinalText::whole),
                error: error.map(str::to_owned),
                resume: Some("3f2b".to_owned()),
            };
            assert!(self.registry.end_turn(turn_id(number), end).await.unwrap());
        }
        let at = NOW - 90 * SECOND;
        let (turn, run) = (new_turn(5, CHILD, "Now write the tests.", at), run_id(25));
        let task = Some(new_task(35, NotifyPolicy::StateChanges, Some("write the tests")));
        self.registry.begin_turn(turn, task, own_instance(), at).await.unwrap();
        let more = json!({"backendId": "cli", "sessionId": CHILD, "createdAtMs": at});
        self.create(new_run(ticket(25, "claude --print --resume 3f2b", &more))).await;
        assert!(self.registry.set_turn_run(turn_id(5), run).await.unwrap());
        let waiting = new_turn(6, CHILD, "Then open a pull request.", NOW - 30 * SECOND);
        let task = Some(new_task(36, NotifyPolicy::DoneOnly, None));
        self.registry.queue_message(waiting, task, 9).await.unwrap();
        self.tell_of_tasks().await;
    }

    /// Settles the notices of the channel, each with a different result.
    async fn tell_of_tasks(&self) {
        let claimed = self.registry.claim_notices("slack".into(), own_instance(), NOW, NOW + MINUTE, 4);
        let error = "slack answered 503".to_owned();
        let ways = [
            Tried::Delivered,
            Tried::Delivered,
            Tried::Again { error: error.clone(), at_ms: NOW + 20 * SECOND },
            Tried::GivenUp { error },
        ];
        for (claimed, tried) in claimed.await.unwrap().into_iter().zip(ways) {
            assert!(self.registry.settle_notice(claimed.claim, tried, NOW).await.unwrap());
        }
        self.registry.ask_cancel(task_id(35), NOW - 5 * SECOND).await.unwrap();
    }
}
