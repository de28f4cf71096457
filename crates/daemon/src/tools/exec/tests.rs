//! Tests of `exec`: it runs a command, asks about it or refuses it. Nothing is executed.

use crate::fixture::{FakeKeeper, TestDaemon, client, exited, operator, soon};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tenure_core::policy::{Ask, Mode};
use tenure_core::problem::Code;
use tenure_core::tools::{ExecReply, Status};
use tenure_policy::allowlist_entries;
use tenure_supervisor::Refusal;

/// A daemon, and programs that are found and read but never executed.
struct ExecFixture {
    daemon: TestDaemon,
    dir: TempDir,
}

impl ExecFixture {
    async fn new(mode: Mode, ask: Ask) -> Self {
        Self::of(TestDaemon::with(|settings| (settings.exec.mode, settings.exec.ask) = (mode, ask)).await)
    }

    fn of(daemon: TestDaemon) -> Self {
        let fixture = Self { daemon, dir: tempfile::tempdir().expect("a directory") };
        for name in ["tool", "other"] {
            let path = fixture.program(name);
            std::fs::write(&path, format!("#!/bin/sh\necho {name}\n")).expect("a program");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
        }
        fixture
    }

    fn program(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Replaces each `@` of a line with the directory of the programs.
    fn line(&self, line: &str) -> String {
        line.replace('@', &format!("{}/", self.dir.path().display()))
    }

    async fn allow(&self, name: &str, args: Option<&str>, agent: Option<&str>) {
        let entry = json!({"program": self.program(name), "args": args, "agent": agent});
        allowlist_entries::allow(
            &self.daemon.approvals,
            serde_json::from_value(entry).expect("an entry"),
            &operator(),
        )
        .await
        .expect("allowed");
    }

    async fn exec_with(&self, line: &str, more: Value) -> Result<ExecReply, Refusal> {
        let mut request = json!({"command": self.line(line), "workdir": self.dir.path()});
        for (name, value) in more.as_object().into_iter().flatten() {
            request[name] = value.clone();
        }
        let request = serde_json::from_value(request).expect("a request");
        let who = client("agent:a:main");
        let answered = soon(self.daemon.exec(request, (None, &who), |_| {})).await?;
        Ok(answered.reply)
    }

    async fn refused(&self, line: &str, more: Value) -> String {
        let refusal = self.exec_with(line, more).await.expect_err("it is refused");
        assert_eq!(refusal.code, Code::Denied, "{line}: {}", refusal.detail);
        assert!(!self.daemon.has_launch());
        refusal.detail
    }

    async fn asked(&self, line: &str, more: Value) {
        let reply = self.exec_with(line, more).await.expect("it is asked about");
        assert_eq!(reply.status, Status::ApprovalPending, "{line}");
        assert!(!self.daemon.has_launch());
    }

    /// Runs a line, and returns the keeper that launched it.
    async fn runs(&self, line: &str, more: Value) -> FakeKeeper {
        let playing = async {
            let keeper = self.daemon.next_keeper().await;
            keeper.start();
            keeper
        };
        let mut more = more;
        more["background"] = json!(true);
        let (reply, keeper) = tokio::join!(self.exec_with(line, more), playing);
        assert_eq!(reply.expect("it runs").status, Status::Running);
        keeper
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_mode_deny_nothing_runs_and_nobody_is_asked() {
    let fixture = ExecFixture::new(Mode::Deny, Ask::Always).await;
    fixture.allow("tool", None, None).await;
    for more in [json!({}), json!({"ask": "always"})] {
        let why = fixture.refused("@tool", more).await;
        assert!(why.contains("deny") && why.contains("operator"), "{why}");
    }
    assert!(fixture.daemon.approvals.approvals(true, &operator()).await.expect("a list").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_mode_allowlist_a_line_runs_only_if_every_command_of_it_is_listed() {
    let fixture = ExecFixture::new(Mode::Allowlist, Ask::Off).await;
    fixture.allow("tool", Some("good( .*)?"), None).await;
    for (line, parts) in [
        ("@other", &["command 1", "other", "no entry"][..]),
        ("@tool good && @other x", &["command 2", "other", "no entry"]),
        ("@tool good; @tool bad", &["command 2", "tool", "other arguments"]),
        ("@tool good || @nowhere", &["nowhere"]),
        ("@tool", &["command 1", "other arguments"]),
        ("@tool good > file", &[]),
        ("@tool good $(@tool good)", &[]),
        ("A=1 @tool good", &[]),
    ] {
        let why = fixture.refused(line, json!({})).await;
        assert!(parts.iter().all(|part| why.contains(part)), "{line}: {why}");
        assert!(why.contains("operator") && why.contains("on-miss"), "it says what to do: {why}");
    }
    fixture.runs("@tool good thing", json!({})).await;
    let entries = allowlist_entries::allowed(&fixture.daemon.approvals).await.expect("the allowlist");
    assert_eq!(entries[0].uses, 1, "a line that was refused is no use");
    fixture.runs("@tool good && @tool good thing", json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listed_line_is_launched_as_it_was_understood() {
    let fixture = ExecFixture::new(Mode::Allowlist, Ask::Off).await;
    fixture.allow("tool", None, None).await;
    let keeper = fixture.runs("@tool  'two  words'   \\x", json!({})).await;
    let [_, option, line] = &keeper.ticket.command[..] else { panic!("{:?}", keeper.ticket.command) };
    assert_eq!(option, "-c");
    let program = fixture.program("tool").canonicalize().expect("a path");
    assert!(line.contains(&program.display().to_string()), "{line}");
    assert!(line.contains("two  words") && !line.contains('\\'), "every word is quoted anew: {line}");
    assert_eq!(keeper.ticket.options.session_id.as_deref(), Some("agent:a:main"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_changed_while_its_listed_command_waited_is_not_launched() {
    let daemon = TestDaemon::with(|settings| {
        settings.exec.mode = Mode::Allowlist;
        settings.runs.max = Some(1);
    });
    let fixture = ExecFixture::of(daemon.await);
    fixture.allow("tool", None, None).await;
    let first = fixture.daemon.running(crate::fixture::command("first")).await;
    let changing = async {
        let is_queued = async || fixture.daemon.supervisor.starts.admission.queued() == 1;
        crate::fixture::eventually("that it waits for a place", is_queued).await;
        replace(&fixture.program("tool"));
        first.end(exited(0));
    };
    let (reply, ()) = tokio::join!(fixture.exec_with("@tool", json!({"background": true})), changing);
    assert_eq!(reply.expect_err("it is another program").code, Code::Denied);
    assert!(!fixture.daemon.has_launch());
}

fn replace(program: &Path) {
    std::fs::write(program, "#!/bin/sh\necho changed\n").expect("another program");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_of_one_agent_allows_nothing_to_another() {
    let fixture = ExecFixture::new(Mode::Allowlist, Ask::Off).await;
    fixture.allow("tool", None, Some("b")).await;
    fixture.refused("@tool", json!({})).await;
    fixture.allow("tool", None, Some("a")).await;
    fixture.runs("@tool", json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_mode_ask_a_person_is_asked_about_what_is_not_listed() {
    let fixture = ExecFixture::new(Mode::Ask, Ask::Off).await;
    fixture.allow("tool", None, None).await;
    fixture.asked("@other", json!({})).await;
    fixture.asked("@tool > file", json!({})).await;
    fixture.runs("@tool", json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_can_ask_for_more_caution_and_never_for_less() {
    let listing = ExecFixture::new(Mode::Allowlist, Ask::Off).await;
    listing.allow("tool", None, None).await;
    listing.asked("@tool", json!({"ask": "always"})).await;
    listing.asked("@other", json!({"ask": "on-miss"})).await;
    listing.refused("@other", json!({"ask": "off"})).await;
    let strict = ExecFixture::new(Mode::Ask, Ask::Always).await;
    strict.allow("tool", None, None).await;
    for ask in ["off", "on-miss", "always"] {
        strict.asked(&format!("@tool {ask}"), json!({"ask": ask})).await;
    }
    let full = ExecFixture::new(Mode::Full, Ask::Off).await;
    full.asked("@tool", json!({"ask": "always"})).await;
    full.runs("@tool", json!({})).await;
}
