//! Examples: each file of `examples/` does what it is shown for, with the program that the tests were built with.

use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tenure_it::api::Api;
use tenure_it::child_program::ChildProgram;
use tenure_it::install::{Install, tenure};
use tenure_it::{eventually, proc};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(example(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn program() -> &'static str {
    tenure().to_str().expect("a path in UTF-8")
}

/// A Python program of the examples, in the environment of an installation.
fn python(install: &Install, name: &str, args: &str) -> Command {
    install.shell_command(&format!("exec python3 '{}' {args}", example(name).display()))
}

#[test]
fn the_systemd_unit_is_the_one_that_tenure_installs() {
    let install = Install::new();
    let printed = install.shell(
        "env -u TENURE_STATE -u TENURE_CONFIG -u TENURE_CGROUP -u TENURE_NO_AUTOSTART \
                                 $TENURE daemon install --print --manager systemd --system",
    );
    let printed = String::from_utf8(printed.stdout).expect("UTF-8");
    let unit = read("systemd/tenure.service").replace("/usr/local/bin/tenure", program());
    assert_eq!(unit, printed);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "systemd judges its own units")]
fn systemd_accepts_the_unit() {
    let install = Install::new();
    let file = install.dir().join("tenure.service");
    std::fs::write(&file, read("systemd/tenure.service").replace("/usr/local/bin/tenure", program()))
        .expect("a unit");
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]).arg(&file).stdin(Stdio::null());
    let Ok(output) = verify.output() else {
        eprintln!("cannot run here: systemd-analyze is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains("tenure.service")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// The words of the container's ENTRYPOINT, with the program of the tests.
fn entrypoint() -> Vec<String> {
    let text = read("container/Dockerfile");
    let line = text.lines().find_map(|line| line.strip_prefix("ENTRYPOINT ")).expect("an entry point");
    let words: Vec<String> = serde_json::from_str(line).expect("an array");
    words.into_iter().map(|word| word.replace("/usr/local/bin/tenure", program())).collect()
}

/// The container's entry point as PID 1 of a new pid namespace, with this script as its command.
fn container(install: &Install, script: &str) -> ChildProgram {
    let is_root = rustix::process::geteuid().is_root();
    let user = if is_root { "" } else { "--user --map-root-user" };
    let words: Vec<String> = entrypoint().iter().map(|word| format!("'{word}'")).collect();
    let line = format!(
        "exec unshare {user} --pid --fork --mount-proc --kill-child -- {} sh -c '{script}'",
        words.join(" ")
    );
    ChildProgram::new(install.shell_command(&line))
}

#[test]
fn a_container_ends_with_its_commands_code_and_leaves_nothing() {
    let install = Install::new();
    let script = "setsid sleep 1000 & sh -c \"sleep 1000 & exit\"; tr \"\\0\" \" \" </proc/1/cmdline; exit 7";
    let output = container(&install, script).output();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(out.contains(" run --grace "), "PID 1 is tenure run: {out}");
    assert_eq!(output.status.code(), Some(7), "{err}");
    assert!(err.contains("/usr/bin/sleep") || err.contains("/bin/sleep"), "what was ended is named: {err}");
}

#[test]
fn a_container_that_is_stopped_passes_the_stop_on() {
    let install = Install::new();
    let mut container =
        container(&install, "trap \"echo stopped; exit\" TERM; echo ready; while :; do sleep 0.05; done");
    container.wait_for("ready");
    // Only `unshare` is signalled from outside a container; the command line passes SIGTERM to PID 1, as docker does.
    let [pid] = proc::children(container.pid())[..] else { panic!("unshare has one child") };
    proc::send(pid, Signal::TERM);
    container.wait_for("stopped");
    assert_eq!(container.code(), 123, "{}", container.err());
}

/// Starts an MCP server as a host would by its configuration, and asks for its tools.
#[track_caller]
fn assert_serves_tools(command: &str, args: &[String]) {
    assert_eq!(command, "tenure", "the program is found on the PATH");
    let install = Install::new().with_daemon();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut server = install.command(&args);
    server.stdin(Stdio::piped());
    let mut server = ChildProgram::new(server);
    let who = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "it", "version": "0"}});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": who}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ] {
        server.write(format!("{message}\n").as_bytes());
    }
    let tools = eventually("the list of tools", || {
        let answers = server.out();
        let mut answers = answers.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        answers.find(|answer| answer["id"] == 2)
    });
    let mut names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["exec", "process", "sessions", "tasks"]);
}

#[test]
fn claude_code_gets_the_tools_by_its_configuration() {
    let config: Value = serde_json::from_str(&read("claude-code/.mcp.json")).expect("JSON");
    let server = &config["mcpServers"]["tenure"];
    let args: Vec<String> = serde_json::from_value(server["args"].clone()).expect("words");
    assert_serves_tools(server["command"].as_str().expect("a word"), &args);
}

#[test]
fn codex_gets_the_tools_by_its_configuration() {
    let text = read("codex/config.toml");
    assert!(text.starts_with("[mcp_servers.tenure]\n"), "{text}");
    let page = std::fs::read_to_string(example("../docs/mcp.md")).expect("a page");
    assert!(page.contains(&text), "docs/mcp.md shows the same");
    // A string and an array of strings are the same in TOML and JSON.
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = ")).expect("a key");
        serde_json::from_str::<Value>(line).expect("a value")
    };
    let args: Vec<String> = serde_json::from_value(value("args")).expect("words");
    assert_serves_tools(value("command").as_str().expect("a word"), &args);
}

/// The receiver on a port of its own, with this secret.
fn receiver(install: &Install, secret: &str) -> (ChildProgram, String) {
    let mut command = python(install, "webhook/receiver.py", "0");
    command.env("TENURE_WEBHOOK_SECRET", secret);
    let mut receiver = ChildProgram::new(command);
    receiver.wait_for("/\n");
    let url = receiver.out().trim().strip_prefix("listening on ").expect("an address").to_owned();
    (receiver, url)
}

/// An installation whose owner `desk` is notified at this address; returns the task of a run that ended.
fn task_notified_at(url: &str, secret: &str) -> (Install, String) {
    let install = Install::new().with_daemon();
    let channel = format!("[channels.ops]\nwebhook = '{url}'\nsecret = '{secret}'\n");
    std::fs::write(install.config(), channel).expect("a configuration");
    let api = Api::of(&install);
    let owner = json!({"sessionKey": "desk", "backend": "exec", "origin": {"channel": "ops"},
                       "cwd": install.dir().to_str().expect("UTF-8")});
    let _ = api.post("/v1/sessions", &owner).is(201);
    let run =
        install.start_in_background(&["--session", "desk"], &["sh", "-c", "echo the last words; exit 3"]);
    (install, run)
}

fn task(install: &Install, run: &str) -> Value {
    let shown = install.tenure(&["tasks", "show", "--json", run]);
    serde_json::from_slice::<Value>(&shown.stdout).expect("JSON")["task"].clone()
}

#[test]
fn the_webhook_receiver_takes_each_signed_notice_once() {
    let secret = "whsec_c2VjcmV0cyBhcmUgbm90IGZvciBkb2N1bWVudHM=";
    let home = Install::new();
    let (receiver, url) = receiver(&home, secret);
    let (install, run) = task_notified_at(&url, secret);
    eventually("the notice is delivered", || {
        (task(&install, &run)["deliveryStatus"] == "delivered").then_some(())
    });
    let printed = receiver.out();
    let notices: Vec<Value> =
        printed.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(notices.len(), 1, "{printed}");
    assert_eq!(notices[0]["data"]["runId"], run.as_str());
}

#[test]
fn the_webhook_receiver_refuses_a_notice_with_a_wrong_signature() {
    let home = Install::new();
    let (receiver, url) = receiver(&home, "one secret between two");
    let (install, run) = task_notified_at(&url, "quite another secret");
    eventually("the notice is refused", || {
        let audit = install.tenure(&["tasks", "audit"]);
        String::from_utf8_lossy(&audit.stdout).contains("401").then_some(())
    });
    assert_ne!(task(&install, &run)["deliveryStatus"], "delivered");
    assert_eq!(receiver.out().lines().count(), 1, "{}", receiver.out());
}

#[test]
fn the_gateway_prints_the_output_and_exits_with_the_commands_code() {
    let install = Install::new().with_daemon();
    let _ = Api::of(&install);
    let output =
        ChildProgram::new(python(&install, "gateway/gateway.py", "agent:main:1 sh -c 'echo out; exit 3'"))
            .output();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((&*out, output.status.code()), ("out\n", Some(3)), "{err}");
    assert!(err.contains(": exit, confirmed: True"), "{err}");
    assert!(read("gateway/gateway.py").lines().count() <= 60);
}

#[test]
fn the_gateway_continues_with_the_next_daemon_and_cancels_when_it_is_stopped() {
    let install = Install::new().with_daemon();
    let _ = Api::of(&install);
    let script =
        "agent:main:1 sh -c 'echo one; while [ ! -e gate ]; do sleep 0.02; done; echo two; sleep 1000'";
    let mut gateway = ChildProgram::new(python(&install, "gateway/gateway.py", script));
    gateway.wait_for("one\n");
    for verb in ["stop", "start"] {
        assert!(install.tenure(&["daemon", verb]).status.success());
    }
    std::fs::write(install.dir().join("gate"), "").expect("a gate");
    gateway.wait_for("one\ntwo\n");
    proc::send(gateway.pid(), Signal::TERM);
    assert_eq!(gateway.code(), 1);
    assert!(gateway.err().contains(": manual-cancel, confirmed: True"), "{}", gateway.err());
}
