//! Import of session records from before leases, with real processes behind them: the report on each is true, and none
//! of them is signalled.

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tenure_it::api::Api;
use tenure_it::bystander::Bystander;
use tenure_it::install::Install;
use tenure_it::{WAIT_LIMIT, eventually, proc};

/// An adapter, or a wrapper of one: it runs while its input is open.
const SCRIPT: &str = "read line\n";

/// An installation, and a directory of records.
struct ImportFixture {
    install: Install,
    records: PathBuf,
}

/// A session's row in the registry file.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    key: String,
    state: String,
    label: Option<String>,
    resume: Option<String>,
    record: Value,
}

impl ImportFixture {
    fn new() -> Self {
        let install = Install::new().with_daemon();
        let records = install.dir().join("records");
        std::fs::create_dir(&records).expect("mkdir");
        Self { install, records }
    }

    fn write(&self, name: &str, record: &Value) {
        std::fs::write(self.records.join(name), record.to_string()).expect("write");
    }

    /// A script below this directory.
    fn script(&self, dir: &str, name: &str) -> String {
        let dir = self.install.dir().join(dir);
        std::fs::create_dir_all(&dir).expect("mkdir");
        let path = dir.join(name);
        std::fs::write(&path, SCRIPT).expect("write");
        text(&path)
    }

    /// Imports; returns the exit code and the report.
    #[track_caller]
    fn import(&self, flags: &[&str]) -> (Option<i32>, Value) {
        let dir = text(&self.records);
        let output = self.install.tenure(&[&["sessions", "import", &dir, "--json"], flags].concat());
        let report = serde_json::from_slice(&output.stdout);
        (output.status.code(), report.unwrap_or_else(|_| panic!("{output:?}")))
    }

    #[track_caller]
    fn rows(&self) -> Vec<Row> {
        let path = self.install.state().join("tenure.db");
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a registry");
        db.busy_timeout(WAIT_LIMIT).expect("a timeout");
        let mut query = db
            .prepare("SELECT key, state, label, resume, record FROM sessions ORDER BY key")
            .expect("a query");
        let rows = query.query_map([], |row| {
            let record: String = row.get(4)?;
            Ok(Row {
                key: row.get(0)?,
                state: row.get(1)?,
                label: row.get(2)?,
                resume: row.get(3)?,
                record: serde_json::from_str(&record).expect("JSON"),
            })
        });
        rows.expect("rows").map(|row| row.expect("a row")).collect()
    }

    #[track_caller]
    fn row(&self, key: &str) -> Row {
        let rows = self.rows();
        rows.iter().find(|row| row.key == key).unwrap_or_else(|| panic!("no {key} in {rows:?}")).clone()
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

/// The report on a session.
#[track_caller]
fn told<'a>(report: &'a Value, key: &str) -> &'a Value {
    let records = report["records"].as_array().expect("records");
    records.iter().find(|record| record["key"] == key).unwrap_or_else(|| panic!("no {key} in {report}"))
}

#[track_caller]
fn check(report: &Value, key: &str, process: &str, why: &str) {
    let told = told(report, key);
    assert_eq!(told["process"], process, "{told}");
    assert!(told["why"].as_str().expect("a text").contains(why), "no {why:?}: {told}");
}

/// A process that has ended and is not reaped, so that its pid is not reused.
#[expect(clippy::disallowed_methods, reason = "a process that is not Tenure's")]
fn ended() -> Child {
    let child = Command::new("true").stdin(Stdio::null()).spawn().expect("true starts");
    eventually("its end", || (!proc::runs(child.id().cast_signed())).then_some(()));
    child
}

/// A time in the format of acpx.
fn iso(install: &Install, unix_ms: u64) -> String {
    let output = install.shell(&format!("date -u -d @{}.{:03} +%FT%T.%3NZ", unix_ms / 1000, unix_ms % 1000));
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

/// Processes that records name, each with its script.
struct ImportedProcesses {
    adapter: (Bystander, String),
    mine: (Bystander, String),
    theirs: (Bystander, String),
}

impl ImportedProcesses {
    fn of(desk: &ImportFixture) -> Self {
        let adapter = desk.script("my adapters", "run.sh");
        let mine = desk.script("mine", "codex-acp-wrapper.mjs");
        let theirs = desk.script("theirs", "codex-acp-wrapper.mjs");
        Self {
            adapter: (Bystander::of(&["sh", &adapter, "it's"]), adapter),
            mine: (Bystander::of(&["sh", &mine]), mine),
            theirs: (Bystander::of(&["sh", &theirs]), theirs),
        }
    }

    /// Writes records of the adapter without a wrapper.
    fn write_adapters(&self, desk: &ImportFixture) {
        let (pid, script) = (self.adapter.0.pid(), &self.adapter.1);
        let started = proc::started_at_ms(pid).expect("a start");
        let quoted = format!(r#"sh "{script}" 'it'\''s'"#);
        let acpx = json!({"schema": "acpx.session.v1", "acpx_record_id": "a", "acp_session_id": "s-1", "cwd": "/",
            "agent_command": quoted, "name": "review", "created_at": "2026-02-03T04:05:06.789Z",
            "pid": pid, "agent_started_at": iso(&desk.install, started), "messages": [1, 2]});
        desk.write("acpx.json", &acpx);
        let renamed =
            json!({"key": "renamed", "pid": pid, "command": "npx some-acp", "startedAtMs": started});
        desk.write("renamed.json", &renamed);
        desk.write("quoted.json", &json!({"key": "quoted", "pid": pid, "command": quoted}));
        desk.write("closed.json", &json!({"key": "closed", "pid": pid, "command": quoted, "closed": true}));
        let hour_before = started - 3_600_000;
        let reused = json!({"key": "reused", "pid": pid, "command": "node x", "startedAtMs": hour_before});
        desk.write("reused.json", &reused);
        desk.write("unrelated.json", &json!({"key": "unrelated", "pid": pid, "command": "node x"}));
        desk.write("pid-only.json", &json!({"key": "pid-only", "pid": pid}));
    }

    /// Writes records that expect a generated wrapper.
    fn write_wrappers(&self, desk: &ImportFixture) {
        let record = |key: &str, (process, script): &(Bystander, String)| {
            let started = proc::started_at_ms(process.pid()).expect("a start");
            let command = format!("sh '{script}'");
            json!({"key": key, "pid": process.pid(), "command": command, "startedAtMs": started})
        };
        desk.write("mine.json", &record("mine", &self.mine));
        desk.write("elsewhere.json", &record("elsewhere", &self.theirs));
        let words = json!(["sh", self.mine.1]);
        let mine = self.mine.0.pid();
        desk.write("words.json", &json!({"key": "words", "pid": mine, "command": words, "wrapper": true}));
        let (theirs, command) = (self.theirs.0.pid(), format!("sh {}", self.mine.1));
        desk.write("look-alike.json", &json!({"key": "look-alike", "pid": theirs, "command": command}));
    }

    #[track_caller]
    fn assert_untouched(&self) {
        for (process, _) in [&self.adapter, &self.mine, &self.theirs] {
            process.assert_untouched();
        }
    }
}

#[test]
fn each_process_is_judged_by_its_evidence_and_none_is_signalled() {
    let desk = ImportFixture::new();
    let cast = ImportedProcesses::of(&desk);
    let mut dead = ended();
    cast.write_adapters(&desk);
    cast.write_wrappers(&desk);
    desk.write("gone.json", &json!({"key": "gone", "pid": dead.id(), "command": "true"}));
    desk.write("no-pid.json", &json!({"key": "no-pid", "command": "true", "resume": "r"}));

    let root = text(&desk.install.dir().join("mine"));
    let (code, first) = desk.import(&["--wrapper-root", &root]);
    assert_eq!((code, &first["failed"], &first["skipped"]), (Some(0), &json!([]), &json!(0)), "{first}");
    for (key, process, why) in [
        ("acpx:a", "verified", "it started when the record says"),
        ("quoted", "verified", "its command is the recorded one"),
        ("words", "verified", "another supervisor uses the session"),
        ("closed", "verified", "left running"),
        ("mine", "verified", "left running"),
        ("reused", "pid-reused", "started at another time"),
        ("renamed", "unverified", "but its command is not the recorded one"),
        ("unrelated", "unverified", "its command is not the recorded one"),
        ("pid-only", "unverified", "neither a start time nor a command"),
        ("elsewhere", "unverified", "not below the wrapper root"),
        ("look-alike", "unverified", "its command is not the recorded one"),
        ("gone", "gone", "is gone"),
        ("no-pid", "none", "no process is recorded"),
    ] {
        check(&first, key, process, why);
        assert_eq!(told(&first, key)["outcome"], "imported", "{key}");
    }
    assert_eq!(told(&first, "quoted")["pid"], cast.adapter.0.pid());
    let row = desk.row("acpx:a");
    assert_eq!(
        (row.state.as_str(), row.label.as_deref(), row.resume.as_deref()),
        ("idle", Some("review"), Some("s-1"))
    );
    assert_eq!(
        (&row.record["backendId"], &row.record["createdAtMs"]),
        (&json!("acp"), &json!(1_770_091_506_789_u64))
    );
    assert_eq!(desk.row("closed").state, "closed");

    let before = desk.rows();
    assert_eq!(before.len(), 13);
    let (code, again) = desk.import(&[]);
    assert_eq!((code, desk.rows()), (Some(0), before), "nothing is changed");
    for record in again["records"].as_array().expect("records") {
        assert_eq!(record["outcome"], "exists", "{record}");
    }
    check(&again, "mine", "unverified", "--wrapper-root");
    cast.assert_untouched();
    dead.wait().expect("it has ended");
}

#[test]
fn a_dry_run_prints_the_same_and_writes_nothing() {
    let desk = ImportFixture::new();
    let adapter = Bystander::of(&["sh", &desk.script("adapters", "run.sh")]);
    desk.write(
        "a.json",
        &json!([{"key": "a", "pid": adapter.pid()}, {"key": "b", "parent": "a"}, {"key": "a"}]),
    );
    let (code, report) = desk.import(&["--dry-run"]);
    assert_eq!((code, &report["dryRun"]), (Some(0), &json!(true)), "{report}");
    let outcomes: Vec<_> =
        report["records"].as_array().expect("records").iter().map(|it| it["outcome"].clone()).collect();
    assert_eq!(outcomes, ["imported", "imported", "exists"], "{report}");
    assert_eq!(desk.rows(), []);
    let told_of_sessions = || {
        let events = desk.install.tenure(&["events", "--since", "0", "--json"]);
        String::from_utf8_lossy(&events.stdout).matches("\"kind\":\"session-").count()
    };
    assert_eq!(told_of_sessions(), 0);

    let (_, real) = desk.import(&[]);
    assert_eq!((&real["records"], &real["dryRun"]), (&report["records"], &json!(false)));
    assert_eq!((desk.rows().len(), told_of_sessions()), (2, 2));
    adapter.assert_untouched();
}

#[test]
fn an_invalid_record_is_reported_or_skipped_and_blocks_no_other() {
    let desk = ImportFixture::new();
    let outside = desk.install.dir().join("outside.json");
    std::fs::write(&outside, r#"{"key": "outside"}"#).expect("write");
    std::os::unix::fs::symlink(&outside, desk.records.join("link.json")).expect("symlink");
    std::fs::create_dir(desk.records.join("dir.json")).expect("mkdir");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        desk.records.join("pipe.json"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .expect("mkfifo");
    for name in ["index.json", "notes.txt", ".json", "a.stream.ndjson"] {
        std::fs::write(desk.records.join(name), r#"{"key": "skipped"}"#).expect("write");
    }
    std::fs::File::create(desk.records.join("huge.json"))
        .and_then(|file| file.set_len((16 << 20) + 1))
        .expect("huge");
    std::fs::write(desk.records.join("bad.json"), "{\"key\": ").expect("write");
    std::fs::write(desk.records.join("bytes.json"), b"{\"key\": \"\xff\"}").expect("write");
    desk.write("config.json", &json!({"theme": "dark"}));
    desk.write("newer.json", &json!({"schema": "acpx.session.v9", "acpx_record_id": "n"}));
    desk.write("list.json", &json!({"sessions": [{"key": "good"}, {"key": "half", "pid": "7"}]}));
    desk.write("z.json", &json!({"key": "last"}));
    let (code, report) = desk.import(&[]);
    assert_eq!((code, &report["skipped"]), (Some(1), &json!(7)), "{report}");
    let failed: Vec<_> = report["failed"].as_array().expect("failed").iter().collect();
    for (file, why) in [
        ("bad.json", "invalid JSON"),
        ("bytes.json", "invalid JSON"),
        ("config.json", "not a session record"),
        ("huge.json", "larger than 16 MiB"),
        ("list.json", "record 2: pid must be a whole number"),
        ("newer.json", "newer Tenure"),
    ] {
        let said = |it: &&&Value| it["file"] == file && it["why"].as_str().is_some_and(|it| it.contains(why));
        assert!(failed.iter().any(|it| said(&it)), "{file}: {report}");
    }
    assert_eq!(failed.len(), 6, "{report}");
    let keys: Vec<_> = desk.rows().into_iter().map(|row| row.key).collect();
    assert_eq!(keys, ["good", "last"]);
}

#[test]
fn a_child_is_imported_after_its_parent_in_any_file_order() {
    let desk = ImportFixture::new();
    desk.write("a.json", &json!({"key": "child", "parent": "parent"}));
    desk.write("b.json", &json!({"key": "parent", "parent": "agent:x:main"}));
    desk.write("c.json", &json!({"key": "agent:x:main"}));
    desk.write("d.json", &json!([{"key": "one", "parent": "two"}, {"key": "two", "parent": "one"}]));
    desk.write("e.json", &json!({"key": "orphan", "parent": "nobody"}));
    desk.write("f.json", &json!([{"key": "over", "closed": true}, {"key": "below", "parent": "over"}]));
    let (code, report) = desk.import(&[]);
    assert_eq!(code, Some(1), "{report}");
    let order: Vec<_> =
        report["records"].as_array().expect("records").iter().map(|it| it["key"].clone()).collect();
    assert_eq!(order, ["child", "parent", "agent:x:main", "over"], "by file");
    let child = desk.row("child").record;
    assert_eq!((&child["lineage"], &child["agentId"]), (&json!(["parent", "agent:x:main"]), &json!("x")));
    let failed = report["failed"].to_string();
    for part in ["session nobody does not exist", "its own ancestor", "parent over is closed"] {
        assert!(failed.contains(part), "{part}: {failed}");
    }
    let (_, again) = desk.import(&[]);
    assert!(
        again["records"].as_array().expect("records").iter().all(|it| it["outcome"] == "exists"),
        "{again}"
    );
}

#[test]
fn only_an_operator_can_import_and_only_from_an_existing_directory() {
    let desk = ImportFixture::new();
    desk.write("a.json", &json!({"key": "a"}));
    let api = Api::of(&desk.install);
    let dir = text(&desk.records);
    let script = "\"$T\" sessions import \"$D\" 2>&1; echo code $?";
    let id = api.start(&json!({"command": ["sh", "-c", script], "session": "agent:a:main",
        "env": {"T": tenure_it::install::tenure(), "D": dir, "TENURE_NO_AUTOSTART": "1"}}));
    api.wait(&id);
    let said = api.get(&format!("/v1/runs/{id}/output")).is(200).text();
    assert!(
        said.contains("code 1") && said.contains("agent:a:main") && said.contains("cannot import"),
        "{said}"
    );
    let asker = desk.rows();
    assert_eq!(asker.len(), 1, "the key of the requesting run");

    let post = |body: &Value| api.post("/v1/sessions/import", body);
    for bad in [json!({"dir": "records"}), json!({"dir": dir, "wrapperRoot": "mine"}), json!({"dir": "/\0"})]
    {
        assert!(post(&bad).refused(422, "invalid").contains("absolute"), "{bad}");
    }
    assert!(post(&json!({"dir": format!("{dir}/none")})).refused(422, "invalid").contains("cannot be read"));
    post(&json!({"dir": dir, "force": true})).refused(400, "bad-request");
    post(&json!({})).refused(400, "bad-request");
    assert_eq!(desk.rows(), asker);
    assert_eq!(post(&json!({"dir": dir})).is(200).json()["records"][0]["outcome"], "imported");
    let said = desk.install.tenure(&["sessions", "import", "records", "--dry-run"]);
    let said = (said.status.code(), String::from_utf8_lossy(&said.stdout).into_owned());
    let expected = "a is already there: no process is recorded\n0 to import, 1 already there, 0 failed, 0 entries skipped\n";
    assert_eq!(said, (Some(0), expected.to_owned()));
}

/// Starts a process that is not Tenure's, with a child that ignores SIGTERM; waits until both are ready.
#[expect(clippy::disallowed_methods, reason = "a process that is not Tenure's")]
fn stubborn_tree(desk: &ImportFixture, name: &str) -> (Child, i32, String) {
    let ready = desk.install.dir().join(format!("{name}.ready"));
    let script = desk.install.dir().join(name);
    let child = format!("trap \"\" TERM; echo $$ > '{}'; while :; do sleep 0.1; done", ready.display());
    std::fs::write(&script, format!("sh -c '{}' &\nwait\n", child.replace('\'', "'\\''"))).expect("write");
    let script = text(&script);
    let root = Command::new("sh").arg(&script).stdin(Stdio::null()).spawn().expect("sh starts");
    let child = eventually("its child", || std::fs::read_to_string(&ready).ok()?.trim().parse().ok());
    (root, child, script)
}

/// The root is proven to be the recorded one, so it ends with its session, children included; other processes
/// are not touched.
#[test]
fn closing_an_imported_session_ends_its_verified_process_and_no_other() {
    let desk = ImportFixture::new();
    std::fs::write(desk.install.config(), "[run]\ngrace = '300ms'\n").expect("a configuration");
    let (mut root, child, script) = stubborn_tree(&desk, "mine.sh");
    let (mut other, others_child, _) = stubborn_tree(&desk, "theirs.sh");
    let [pid, other_pid] = [&root, &other].map(|it| it.id().cast_signed());
    desk.write("a.json", &json!({"key": "agent:codex:mine", "command": ["sh", script], "pid": pid}));
    desk.write(
        "b.json",
        &json!({"key": "agent:codex:theirs", "command": ["sh", "other.sh"], "pid": other_pid}),
    );
    let (code, report) = desk.import(&[]);
    assert_eq!(code, Some(0), "{report}");
    check(&report, "agent:codex:mine", "verified", "left running");
    let closed = |key: &str| {
        let output = desk.install.tenure(&["sessions", "close", key, "--json"]);
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        reply["closed"]["processes"][0].clone()
    };
    let mine = closed("agent:codex:mine");
    assert_eq!((&mine["process"], &mine["pid"]), (&json!("verified"), &json!(pid)), "{mine}");
    assert!(mine["survivors"].is_null() && !proc::runs(pid) && !proc::runs(child), "{mine}");
    let theirs = closed("agent:codex:theirs");
    assert_eq!((&theirs["process"], &theirs["ended"]), (&json!("unverified"), &Value::Null), "{theirs}");
    assert!(proc::runs(other_pid) && proc::runs(others_child), "{theirs}");
    for (key, words) in
        [("agent:codex:mine", "is the recorded process"), ("agent:codex:theirs", "is left alone")]
    {
        let story = desk.install.tenure(&["why", key]);
        let story = String::from_utf8_lossy(&story.stdout).into_owned();
        assert!(story.contains("session-process-found") && story.contains(words), "{story}");
    }
    let shown = desk.install.tenure(&["sessions", "status", "agent:codex:mine", "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    let session = &shown["session"];
    assert_eq!(session["ownerSessionKey"], "agent:codex:mine", "{session}");
    assert!(session["legacy"].is_null(), "a command may hold secrets: {session}");
    root.wait().expect("its end");
    let held = tenure_os::process::Process::open(others_child).expect("a look").expect("a process");
    other.kill().expect("its end");
    other.wait().expect("its end");
    if let tenure_core::identity::Evidence::Same(proof) = held.judge(held.identity()) {
        held.signal(&proof, tenure_core::signal::Signal::KILL);
    }
}
