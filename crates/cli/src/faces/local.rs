//! Snapshots of the output that needs no daemon: `doctor`, `agents`, and a process tree.

use super::{NOW, album, answer, at_widths};
use crate::commands::{agents, doctor as command};
use crate::doctor;
use crate::print::agents::agents_lines;
use crate::print::process_tree::tree_lines;
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use tenure_core::run_json::RunJson;
use tenure_core::wire::ProcessView;
use tenure_settings::Settings;

const CONFIG: &str = r#"
[agents.claude]
timeout = "20m"

[agents.scribe]
command = "scribe"
fresh = ["--print"]
"#;

/// Settings of a user's home directory, with some from a file and some from the environment.
fn settings(config: &str) -> Settings {
    let variables = |name: &str| match name {
        "HOME" => Some(OsString::from("/home/ada")),
        "TENURE_CONFIG" if !config.is_empty() => Some(config.into()),
        "TENURE_NO_AUTOSTART" => Some("1".into()),
        _ => None,
    };
    Settings::load_with(&[("runs.max", "20")], &variables).unwrap()
}

#[test]
fn doctor_agents_and_trees_match_their_snapshots() {
    let mut album = album("local");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let checks = doctor::samples(&settings(""), dir.path());
    let report = at_widths(|context| command::report(context.style, &checks));
    album.check("doctor", &report.replace(path, "/dir"));
    album.check("doctor-json", &serde_json::to_string_pretty(&checks[..2]).unwrap().replace(path, "/dir"));
    album.check("doctor-settings", &at_widths(|context| command::list(context.style, &settings(""))));

    let config = dir.path().join("config.toml");
    std::fs::write(&config, CONFIG).unwrap();
    let (mut list, _) = agents::listed(&settings(config.to_str().unwrap()), OsStr::new(""));
    for agent in list.iter_mut().filter(|agent| agent.name == "claude") {
        agent.program = Some(format!("/usr/local/bin/{}", agent.command));
    }
    album.check("agents", &at_widths(|context| agents_lines(context, &list)));
    album.check("agents-json", &serde_json::to_string_pretty(&list).unwrap());

    let run: RunJson = answer("records", "run-live");
    album.check("tree-json", &serde_json::to_string_pretty(&tree()).unwrap());
    album.check("tree", &at_widths(|context| tree_lines(context, &run, &tree())));
    album.close();
}

/// The processes of a run, each found in another way.
fn tree() -> Vec<ProcessView> {
    let process = |pid: i32, ppid: i32, via: &str, command: &str| -> Value {
        json!({"pid": pid, "ppid": ppid, "pgid": 4011, "sid": 4011, "command": command, "startedAtMs": NOW - 90_000,
            "cpuMs": (pid - 4010) * 1_400, "rssBytes": u64::try_from(pid).unwrap() << 14, "via": via})
    };
    let processes = json!([
        process(4011, 4010, "child", "cargo test --workspace --all-features"),
        process(4020, 4011, "child", "rustc --crate-name parser --edition=2024 crates/parser/src/lib.rs"),
        process(
            4021,
            4020,
            "child",
            "cc -m64 /tmp/rustcXYZ/symbols.o -o target/debug/deps/parser-0123456789abcdef"
        ),
        process(4022, 4011, "child", "target/debug/deps/parser-0123456789abcdef"),
        process(4030, 4010, "adopted", "sleep 600"),
        process(4031, 1, "session", "redis-server *:6379"),
        process(4032, 1, "mark", "setsid ./watcher"),
        process(4033, 1, "cgroup", "bad\u{1b}[31mname"),
        process(4034, 1, "job", "notepad.exe"),
    ]);
    serde_json::from_value(processes).unwrap()
}
