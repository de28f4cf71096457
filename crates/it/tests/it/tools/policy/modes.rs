//! The four modes, and what a call can make of them.

use super::desk::Desk;
use serde_json::json;
use tenure_it::install::Install;

#[test]
fn in_mode_allowlist_what_is_not_listed_is_refused_with_which_command_and_why() {
    let desk = Desk::listing();
    for name in ["tool", "other"] {
        desk.program(name, name);
    }
    desk.allow("tool", Some("good( .*)?"));
    assert!(desk.runs("tool good thing").starts_with("tool in "));
    for (line, parts) in [
        ("other", &["command 1", "\"other\"", "no entry"][..]),
        ("tool good && other x", &["command 2", "\"other\"", "no entry"]),
        ("tool good; tool bad", &["command 2", "\"tool\"", "other arguments"]),
        ("tool good | tool good || nowhere", &["nowhere", "PATH"]),
        ("tool", &["command 1", "other arguments"]),
        ("./tool good", &["tool"]),
    ] {
        let why = desk.refuses(line);
        assert!(parts.iter().all(|part| why.contains(part)), "{line}: {why}");
        assert!(why.contains("operator") && why.contains("on-miss"), "what to do: {why}");
    }
    assert_eq!(desk.notes(), ["tool: good thing"]);
    let uses = desk.api.get("/v1/allowlist").is(200).json();
    assert_eq!(uses["entries"][0]["uses"], 1, "{uses}");
}

#[test]
fn a_chain_runs_if_every_command_of_it_is_listed() {
    let desk = Desk::listing();
    for name in ["one", "two", "three"] {
        desk.program(name, name);
        desk.allow(name, None);
    }
    desk.runs("one a && two 'b  c' ; three d || one never\ntwo e | three f");
    let mut notes = desk.notes();
    notes[3..].sort();
    assert_eq!(notes, ["one: a", "two: b  c", "three: d", "three: f", "two: e"]);
}

#[test]
fn what_a_shell_would_make_of_a_line_is_never_made_of_a_listed_one() {
    let desk = Desk::listing();
    for name in ["tool", "cd", "export"] {
        desk.program(name, name);
        desk.allow(name, None);
    }
    for line in [
        "tool > file",
        "tool >> file",
        "tool < /etc/passwd",
        "tool 2>&1",
        "tool &> file",
        "tool <<< x",
        "tool << E\nx\nE",
        "tool $(tool)",
        "tool `tool`",
        "tool \"$(tool)\"",
        "tool $HOME",
        "tool ${HOME}",
        "tool *",
        "tool ?",
        "tool [a]",
        "tool {a,b}",
        "tool ~",
        "tool ~root",
        "cd /",
        "cd / && tool",
        "A=1 tool",
        "A=1",
        "export A=1",
        "tool &",
        "(tool)",
        "{ tool; }",
        "! tool",
        "if tool; then tool; fi",
        "tool $((1))",
        "tool $'a'",
        "tool ;; tool",
        "tool |& tool",
        "exec tool",
        "eval tool",
        ". ./tool",
        "command tool",
        "time tool",
        "f() { tool; }",
        "tool <(tool)",
        "for i in a; do tool; done",
        "alias tool=ls",
        "trap tool EXIT",
        "tool\\",
        "tool 'a",
        "tool \"a",
    ] {
        let why = desk.refuses(line);
        assert!(why.contains("on-miss"), "{line}: {why}");
    }
    assert_eq!(desk.notes(), [""; 0]);
    assert_eq!(std::fs::read_dir(desk.work()).expect("a directory").count(), 0, "a file was made");
}

#[test]
fn in_mode_full_everything_runs_unless_the_call_wants_to_be_asked() {
    let desk = Desk::with(&[("TENURE_EXEC_MODE", "full")]);
    desk.program("tool", "tool");
    assert_eq!(
        desk.runs("A=1; cd / && for i in a b; do echo $i $A $(pwd); done > /dev/stdout"),
        "a 1 /\nb 1 /\n"
    );
    desk.runs("tool x");
    assert_eq!(desk.notes(), ["tool: x"]);
    let id = desk.asks_as(&json!({"command": "tool y", "ask": "always"}));
    assert_eq!(desk.notes(), ["tool: x"]);
    let _ = desk.answer(&id, "allow-once").is(200);
    desk.output(&id);
    assert_eq!(desk.notes(), ["tool: x", "tool: y"]);
}

#[test]
fn the_mode_is_a_line_of_the_settings_file_and_is_shown() {
    let install = Install::new();
    std::fs::write(install.config(), "[exec]\nmode = \"ask\"\napproval = \"7m\"\n").expect("write");
    let desk = Desk::on(install, &[]);
    desk.program("tool", "tool");
    let id = desk.asks("tool");
    let question = &desk.questions()[0];
    let (asked, until) = (question["createdAtMs"].as_u64(), question["expiresAtMs"].as_u64());
    assert_eq!(until.zip(asked).map(|(until, asked)| until - asked), Some(7 * 60 * 1000), "{question}");
    let _ = desk.answer(&id, "deny").is(200);
    let doctor = desk.served.install.tenure(&["doctor", "--json"]);
    let doctor: serde_json::Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
    let check = doctor["checks"].as_array().expect("checks").iter().find(|check| check["name"] == "exec");
    let finding = check.expect("a check of exec")["finding"].as_str().expect("text").to_owned();
    assert!(finding.contains("ask") && finding.contains("config.toml"), "{finding}");
}

#[test]
fn a_mode_that_there_is_not_is_refused_with_those_there_are() {
    let install = Install::new();
    std::fs::write(install.config(), "[exec]\nmode = \"yolo\"\n").expect("write");
    let output = install.tenure(&["daemon", "run"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("yolo") && said.contains("allowlist"), "{said}");
}
