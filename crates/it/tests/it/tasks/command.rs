//! Commands as channels: a program is started with its own arguments and no shell, reads the notice, and its exit code
//! is the result. It is a run, so no process of it is left.

use serde_json::{Value, json};
use std::path::Path;
use tenure_it::api::text;
use tenure_it::notify_fixture::NotifyFixture;

/// A channel whose command is this script with these words after its name.
fn channel(name: &str, script: &str, more: &str) -> String {
    let words = ["sh", "-c", script, "a name", "$HOME; *", ""];
    let words: Vec<String> = words.iter().map(|word| format!("'''{word}'''")).collect();
    format!(
        "[channels.{name}]\ncommand = [{}]\n{more}\n[channels.{name}.env]\nMARK = 'a mark'\n",
        words.join(", ")
    )
}

/// A channel whose script first records its input.
fn noting(name: &str, then: &str) -> String {
    let script = format!(
        "printf '%s\\n' \"$#\" \"$0\" \"$1\" \"$2\" \"$MARK\" >> words; cat >> {name}; echo started >> starts; {then}"
    );
    channel(name, &script, "")
}

/// The recorded notices, one a line.
fn read(dir: &Path, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.join(name)).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "every notice ends its line: {text:?}");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// An installation with this channel, whose command works in the test's directory, and an owner.
fn fixture(channel: impl Fn(&str) -> String) -> NotifyFixture {
    let fixture = NotifyFixture::without_daemon("");
    let cwd = format!("cwd = '{}'\n[channels.", fixture.dir().display());
    // The directory stands in the channel's own table, which is the first.
    let text = channel("desk").replacen("\n[channels.", &format!("\n{cwd}"), 1);
    std::fs::write(fixture.config(), text).expect("a configuration");
    fixture.start_daemon();
    fixture.owner("owner", "desk");
    fixture
}

#[test]
fn a_command_gets_its_own_arguments_and_the_notice_on_stdin() {
    let fixture = fixture(|name| noting(name, "exit 0"));
    let run = fixture.task("owner", "echo '$(reboot)'; exit 3");
    fixture.wait_delivery(&run, "delivered");
    let words = std::fs::read_to_string(fixture.dir().join("words")).expect("words");
    assert_eq!(words, "2\na name\n$HOME; *\n\na mark\n", "as written, without a shell");
    let notices = read(fixture.dir(), "desk");
    assert_eq!(notices.len(), 1);
    let (notice, id) = (&notices[0], fixture.id_of(&run));
    assert_eq!(notice["id"], format!("task-{id}-terminal"), "{notice}");
    assert_eq!((&notice["type"], &notice["data"]["runId"]), (&json!("task.terminal"), &json!(run)));
    assert_eq!((&notice["data"]["to"], &notice["data"]["thread"]), (&json!("#ops"), &json!("7")));
    assert!(notice["text"].as_str().is_some_and(|text| text.contains("$(reboot)")), "{notice}");
    assert_eq!(fixture.task_rows().len(), 1, "a notice is no task");
    fixture.finish();
}

#[test]
fn a_failed_command_is_not_retried_and_audit_and_doctor_name_its_channel() {
    let fixture = fixture(|name| noting(name, "echo nobody is in >&2; exit 4"));
    let run = fixture.task("owner", "exit 3");
    fixture.wait_delivery(&run, "failed");
    assert_eq!(read(fixture.dir(), "desk").len(), 1);
    let audit = fixture.tenure(&["tasks", "audit", "--json"]);
    assert_eq!(audit.status.code(), Some(1), "{audit:?}");
    let found: Value = serde_json::from_slice(&audit.stdout).expect("JSON");
    let found = &found["findings"][0];
    assert_eq!((&found["code"], &found["channel"]), (&json!("delivery_failed"), &json!("desk")), "{found}");
    assert!(found["detail"].as_str().is_some_and(|it| it.contains("nobody is in")), "{found}");
    let doctor = fixture.tenure(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("channel desk refused") && doctor.status.code() == Some(1), "{said}");
    fixture.finish();
}

#[test]
fn an_unconfigured_channel_is_refused_and_a_removed_one_fails() {
    let fixture = fixture(|name| noting(name, "exit 0"));
    let request = json!({"action": "spawn", "sessionKey": "elsewhere", "backend": "exec",
        "origin": {"channel": "attic"}});
    let refused = fixture.api.post("/v1/sessions", &request);
    let why = refused.is(422).json()["detail"].clone();
    assert!(
        ["\"attic\"", "desk", "[channels.attic]"].iter().all(|it| text(&why).contains(it)),
        "the existing channels and a remedy: {why}"
    );
    assert_eq!(
        fixture.tenure(&["sessions", "spawn", "--backend", "exec", "--channel", "attic"]).status.code(),
        Some(1)
    );
    // The channel is removed while a session uses it.
    fixture.kill();
    std::fs::write(fixture.config(), "").expect("a configuration");
    fixture.start_daemon();
    let run = fixture.task("owner", "exit 3");
    fixture.wait_delivery(&run, "failed");
    assert_eq!(read(fixture.dir(), "desk"), Vec::<Value>::new());
    fixture.finish();
}

/// The end of the test would find its leftovers.
#[test]
fn leftovers_of_a_command_are_ended_with_it() {
    let fixture = fixture(|name| {
        channel(
            name,
            "cat > read; (trap '' TERM HUP; exec sleep 1000) & setsid sleep 1001 & exit 0",
            "timeout = '20s'",
        )
    });
    let run = fixture.task("owner", "exit 3");
    fixture.wait_delivery(&run, "delivered");
    fixture.finish();
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_its_tree_and_retried() {
    let fixture = fixture(|name| {
        let hangs = "echo begun >> starts; [ $(wc -l < starts) -gt 1 ] && exit 0; sleep 1000 & sleep 1001";
        channel(name, hangs, "timeout = '4s'")
    });
    let run = fixture.task("owner", "exit 3");
    fixture.wait_delivery(&run, "delivered");
    let starts = std::fs::read_to_string(fixture.dir().join("starts")).expect("starts");
    assert_eq!(starts.lines().count(), 2, "{starts}");
    fixture.finish();
}

/// The failure is shown with the task.
#[test]
fn a_program_that_cannot_start_is_named_and_its_notice_fails() {
    let fixture = NotifyFixture::without_daemon("[channels.desk]\ncommand = ['/nowhere/to/be/found']\n");
    fixture.start_daemon();
    fixture.owner("owner", "desk");
    let run = fixture.task("owner", "exit 3");
    fixture.wait_delivery(&run, "failed");
    let shown = fixture.api.get(&format!("/v1/tasks/{run}")).is(200).json()["notices"].clone();
    assert_eq!((&shown[0]["state"], &shown[0]["attempts"]), (&json!("failed"), &json!(1)), "{shown}");
    assert!(
        shown[0]["lastError"].as_str().is_some_and(|why| why.contains("/nowhere/to/be/found")),
        "{shown}"
    );
    let said = fixture.tenure(&["tasks", "show", &run]);
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(said.contains("last error") && said.contains("/nowhere/to/be/found"), "{said}");
    let doctor = fixture.tenure(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("there is no program /nowhere/to/be/found"), "{said}");
    fixture.finish();
}

#[test]
fn an_error_in_one_channel_is_reported_with_its_line_and_affects_no_other() {
    let wrong = "[channels.attic]\nwebhook = 'https://10.0.0.1/'\n";
    let fixture = fixture(|name| noting(name, "exit 0") + wrong);
    fixture.owner("upstairs", "attic");
    let (run, lost) = (fixture.task("owner", "exit 3"), fixture.task("upstairs", "exit 3"));
    fixture.wait_delivery(&run, "delivered");
    fixture.wait_delivery(&lost, "failed");
    let shown = fixture.api.get(&format!("/v1/tasks/{lost}")).is(200).json()["notices"].clone();
    let why = shown[0]["lastError"].as_str().unwrap_or_default();
    assert!(
        ["channels.attic.webhook", "config.toml:", "10.0.0.1"].iter().all(|it| why.contains(it)),
        "{shown}"
    );
    let doctor = fixture.tenure(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("channels.attic.webhook"), "{said}");
    fixture.finish();
}
