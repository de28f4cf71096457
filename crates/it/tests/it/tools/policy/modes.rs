//! The four modes, and the options of a call.

use super::fixture::PolicyFixture;
use serde_json::json;
use tenure_it::install::Install;

#[test]
fn in_mode_allowlist_an_unlisted_command_is_refused_with_name_and_reason() {
    let fixture = PolicyFixture::listing();
    for name in ["tool", "other"] {
        fixture.program(name, name);
    }
    fixture.allow("tool", Some("good( .*)?"));
    assert!(fixture.runs("tool good thing").starts_with("tool in "));
    for (line, parts) in [
        ("other", &["command 1", "\"other\"", "no entry"][..]),
        ("tool good && other x", &["command 2", "\"other\"", "no entry"]),
        ("tool good; tool bad", &["command 2", "\"tool\"", "other arguments"]),
        ("tool good | tool good || nowhere", &["nowhere", "PATH"]),
        ("tool", &["command 1", "other arguments"]),
        ("./tool good", &["tool"]),
    ] {
        let why = fixture.refuses(line);
        assert!(parts.iter().all(|part| why.contains(part)), "{line}: {why}");
        assert!(why.contains("operator") && why.contains("on-miss"), "no remedy in: {why}");
    }
    assert_eq!(fixture.notes(), ["tool: good thing"]);
    let uses = fixture.api.get("/v1/allowlist").is(200).json();
    assert_eq!(uses["entries"][0]["uses"], 1, "{uses}");
}

#[test]
fn a_chain_runs_if_all_its_commands_are_listed() {
    let fixture = PolicyFixture::listing();
    for name in ["one", "two", "three"] {
        fixture.program(name, name);
        fixture.allow(name, None);
    }
    fixture.runs("one a && two 'b  c' ; three d || one never\ntwo e | three f");
    let mut notes = fixture.notes();
    notes[3..].sort();
    assert_eq!(notes, ["one: a", "two: b  c", "three: d", "three: f", "two: e"]);
}

#[test]
fn a_listed_command_never_gets_shell_expansion() {
    let fixture = PolicyFixture::listing();
    for name in ["tool", "cd", "export"] {
        fixture.program(name, name);
        fixture.allow(name, None);
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
        let why = fixture.refuses(line);
        assert!(why.contains("on-miss"), "{line}: {why}");
    }
    assert_eq!(fixture.notes(), [""; 0]);
    assert_eq!(std::fs::read_dir(fixture.work()).expect("a directory").count(), 0, "a file was made");
}

#[test]
fn in_mode_full_everything_runs_unless_the_call_requests_a_question() {
    let fixture = PolicyFixture::with(&[("TENURE_EXEC_MODE", "full")]);
    fixture.program("tool", "tool");
    assert_eq!(
        fixture.runs("A=1; cd / && for i in a b; do echo $i $A $(pwd); done > /dev/stdout"),
        "a 1 /\nb 1 /\n"
    );
    fixture.runs("tool x");
    assert_eq!(fixture.notes(), ["tool: x"]);
    let id = fixture.asks_as(&json!({"command": "tool y", "ask": "always"}));
    assert_eq!(fixture.notes(), ["tool: x"]);
    let _ = fixture.answer(&id, "allow-once").is(200);
    fixture.output(&id);
    assert_eq!(fixture.notes(), ["tool: x", "tool: y"]);
}

#[test]
fn the_mode_comes_from_the_settings_file_and_is_shown() {
    let install = Install::new();
    std::fs::write(install.config(), "[exec]\nmode = \"ask\"\napproval = \"7m\"\n").expect("write");
    let fixture = PolicyFixture::on(install, &[]);
    fixture.program("tool", "tool");
    let id = fixture.asks("tool");
    let question = &fixture.questions()[0];
    let (asked, until) = (question["createdAtMs"].as_u64(), question["expiresAtMs"].as_u64());
    assert_eq!(until.zip(asked).map(|(until, asked)| until - asked), Some(7 * 60 * 1000), "{question}");
    let _ = fixture.answer(&id, "deny").is(200);
    let doctor = fixture.served.install.tenure(&["doctor", "--json"]);
    let doctor: serde_json::Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
    let check = doctor["checks"].as_array().expect("checks").iter().find(|check| check["name"] == "exec");
    let finding = check.expect("a check of exec")["finding"].as_str().expect("text").to_owned();
    assert!(finding.contains("ask") && finding.contains("config.toml"), "{finding}");
}

#[test]
fn an_unknown_mode_is_refused_with_the_valid_ones() {
    let install = Install::new();
    std::fs::write(install.config(), "[exec]\nmode = \"yolo\"\n").expect("write");
    let output = install.tenure(&["daemon", "run"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("yolo") && said.contains("allowlist"), "{said}");
}
