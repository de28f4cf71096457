//! Commands as channels: a program is started with its own words and no shell, reads the notice, and its exit code says
//! what became of it. It is a run, so nothing of it is left.

use serde_json::{Value, json};
use std::path::Path;
use tenure_it::api::text;
use tenure_it::told::Told;

/// A channel whose command is this script with these words after its name.
fn channel(name: &str, script: &str, more: &str) -> String {
    let words = ["sh", "-c", script, "a name", "$HOME; *", ""];
    let words: Vec<String> = words.iter().map(|word| format!("'''{word}'''")).collect();
    format!(
        "[channels.{name}]\ncommand = [{}]\n{more}\n[channels.{name}.env]\nMARK = 'a mark'\n",
        words.join(", ")
    )
}

/// One whose script begins by noting what it was given.
fn noting(name: &str, then: &str) -> String {
    let script = format!(
        "printf '%s\\n' \"$#\" \"$0\" \"$1\" \"$2\" \"$MARK\" >> words; cat >> {name}; echo started >> starts; {then}"
    );
    channel(name, &script, "")
}

/// What was read, a notice a line.
fn read(dir: &Path, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.join(name)).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "every notice ends its line: {text:?}");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// An installation with this channel, whose command works where the test's files are, and an owner.
fn told(channel: impl Fn(&str) -> String) -> Told {
    let told = Told::without_daemon("");
    let cwd = format!("cwd = '{}'\n[channels.", told.dir().display());
    // The directory stands in the channel's own table, which is the first.
    let text = channel("desk").replacen("\n[channels.", &format!("\n{cwd}"), 1);
    std::fs::write(told.config(), text).expect("a configuration");
    told.begin();
    told.owner("owner", "desk");
    told
}

#[test]
fn a_command_gets_its_own_words_and_the_notice_on_its_input() {
    let told = told(|name| noting(name, "exit 0"));
    let run = told.task("owner", "echo '$(reboot)'; exit 3");
    told.becomes(&run, "delivered");
    let words = std::fs::read_to_string(told.dir().join("words")).expect("words");
    assert_eq!(words, "2\na name\n$HOME; *\n\na mark\n", "as they are written, through no shell");
    let notices = read(told.dir(), "desk");
    assert_eq!(notices.len(), 1);
    let (notice, id) = (&notices[0], told.id_of(&run));
    assert_eq!(notice["id"], format!("task-{id}-terminal"), "{notice}");
    assert_eq!((&notice["type"], &notice["data"]["runId"]), (&json!("task.terminal"), &json!(run)));
    assert_eq!((&notice["data"]["to"], &notice["data"]["thread"]), (&json!("#ops"), &json!("7")));
    assert!(notice["text"].as_str().is_some_and(|text| text.contains("$(reboot)")), "{notice}");
    assert_eq!(told.kept().len(), 1, "that somebody is told is no task");
    told.finish();
}

#[test]
fn a_command_that_fails_is_not_asked_again_and_audit_and_doctor_name_its_channel() {
    let told = told(|name| noting(name, "echo nobody is in >&2; exit 4"));
    let run = told.task("owner", "exit 3");
    told.becomes(&run, "failed");
    assert_eq!(read(told.dir(), "desk").len(), 1);
    let audit = told.tenure(&["tasks", "audit", "--json"]);
    assert_eq!(audit.status.code(), Some(1), "{audit:?}");
    let found: Value = serde_json::from_slice(&audit.stdout).expect("JSON");
    let found = &found["findings"][0];
    assert_eq!((&found["code"], &found["channel"]), (&json!("delivery_failed"), &json!("desk")), "{found}");
    assert!(found["detail"].as_str().is_some_and(|it| it.contains("nobody is in")), "{found}");
    let doctor = told.tenure(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("channel desk did not take") && doctor.status.code() == Some(1), "{said}");
    told.finish();
}

#[test]
fn a_channel_that_nobody_described_is_refused_and_one_that_is_gone_has_failed() {
    let told = told(|name| noting(name, "exit 0"));
    let request = json!({"action": "spawn", "sessionKey": "elsewhere", "backend": "exec",
        "origin": {"channel": "attic"}});
    let refused = told.api.post("/v1/sessions", &request);
    let why = refused.is(422).json()["detail"].clone();
    assert!(
        ["\"attic\"", "desk", "[channels.attic]"].iter().all(|it| text(&why).contains(it)),
        "what there is, and what to do: {why}"
    );
    assert_eq!(
        told.tenure(&["sessions", "spawn", "--backend", "exec", "--channel", "attic"]).status.code(),
        Some(1)
    );
    // The description goes while a session is told there.
    told.kill();
    std::fs::write(told.config(), "").expect("a configuration");
    told.begin();
    let run = told.task("owner", "exit 3");
    told.becomes(&run, "failed");
    assert_eq!(read(told.dir(), "desk"), Vec::<Value>::new());
    told.finish();
}

/// What it leaves behind would be found by the end of the test.
#[test]
fn what_a_command_leaves_behind_is_ended_with_it() {
    let told = told(|name| {
        channel(
            name,
            "cat > read; (trap '' TERM HUP; exec sleep 1000) & setsid sleep 1001 & exit 0",
            "timeout = '20s'",
        )
    });
    let run = told.task("owner", "exit 3");
    told.becomes(&run, "delivered");
    told.finish();
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_its_tree_and_tried_again() {
    let told = told(|name| {
        let hangs = "echo begun >> starts; [ $(wc -l < starts) -gt 1 ] && exit 0; sleep 1000 & sleep 1001";
        channel(name, hangs, "timeout = '4s'")
    });
    let run = told.task("owner", "exit 3");
    told.becomes(&run, "delivered");
    let starts = std::fs::read_to_string(told.dir().join("starts")).expect("starts");
    assert_eq!(starts.lines().count(), 2, "{starts}");
    told.finish();
}

/// What went wrong is with the task, for whoever looks.
#[test]
fn a_program_that_cannot_be_started_is_named_and_the_notice_has_failed() {
    let told = Told::without_daemon("[channels.desk]\ncommand = ['/nowhere/to/be/found']\n");
    told.begin();
    told.owner("owner", "desk");
    let run = told.task("owner", "exit 3");
    told.becomes(&run, "failed");
    let shown = told.api.get(&format!("/v1/tasks/{run}")).is(200).json()["notices"].clone();
    assert_eq!((&shown[0]["state"], &shown[0]["attempts"]), (&json!("failed"), &json!(1)), "{shown}");
    assert!(
        shown[0]["lastError"].as_str().is_some_and(|why| why.contains("/nowhere/to/be/found")),
        "{shown}"
    );
    let said = told.tenure(&["tasks", "show", &run]);
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(said.contains("last error") && said.contains("/nowhere/to/be/found"), "{said}");
    let doctor = told.tenure(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("there is no program /nowhere/to/be/found"), "{said}");
    told.finish();
}

#[test]
fn a_mistake_in_one_channel_is_told_with_its_line_and_leaves_the_others_alone() {
    let wrong = "[channels.attic]\nwebhook = 'https://10.0.0.1/'\n";
    let told = told(|name| noting(name, "exit 0") + wrong);
    told.owner("upstairs", "attic");
    let (run, lost) = (told.task("owner", "exit 3"), told.task("upstairs", "exit 3"));
    told.becomes(&run, "delivered");
    told.becomes(&lost, "failed");
    let shown = told.api.get(&format!("/v1/tasks/{lost}")).is(200).json()["notices"].clone();
    let why = shown[0]["lastError"].as_str().unwrap_or_default();
    assert!(
        ["channels.attic.webhook", "config.toml:", "10.0.0.1"].iter().all(|it| why.contains(it)),
        "{shown}"
    );
    let doctor = told.tenure(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("channels.attic.webhook"), "{said}");
    told.finish();
}
