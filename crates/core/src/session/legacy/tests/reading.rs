//! The parsing of record files.

use super::*;

/// A record that acpx 0.19.1 wrote while its agent was alive; paths, ids and times are replaced.
const ACPX: &str = include_str!("acpx-0.19.json");

#[test]
fn a_record_of_acpx_is_read_with_all_that_matters() {
    let record = one(ACPX).unwrap();
    let root = LegacyRoot {
        pid: 4242,
        started_at_ms: Some(1_770_091_506_789),
        command: Some(LegacyCommand::Line("node '/opt/my adapters/echo agent.mjs'".into())),
        wrapper: false,
    };
    let expected = LegacyRecord {
        programs: ["node", "my", "echo", "agent"].map(str::to_owned).to_vec(),
        key: "acpx:5d1c2c9e-8f2b-4f1a-9d53-0f4a7f1f2a11".parse().unwrap(),
        agent: None,
        kind: Kind::Acp,
        backend: Backend::Acp,
        parent: None,
        cwd: Some("/srv/project".into()),
        label: Some("review".into()),
        resume: Some("c7a1e0d4-1111-4222-8333-444455556666".into()),
        created_at_ms: Some(1_770_091_500_000),
        closed: false,
        closed_at_ms: None,
        root: Some(root),
    };
    assert_eq!(record, expected);
}

#[test]
fn the_adapter_of_a_record_has_a_name_whatever_it_was_started_by() {
    for command in [
        r#""agent_command":"npx -y @agentclientprotocol/claude-agent-acp@0.99.1""#,
        r#""agent_argv":["/usr/bin/node","/opt/lib/claude-agent-acp.mjs","--quiet"]"#,
        r#""agent_command":"'/opt/bin/claude-agent-acp'""#,
    ] {
        let record = one(&format!(r#"{{"acpx_record_id":"a",{command}}}"#)).unwrap();
        assert!(record.programs.iter().any(|name| name == "claude-agent-acp"), "{:?}", record.programs);
    }
}

#[test]
fn a_closed_record_is_closed_since_then() {
    let text = ACPX
        .replace(r#""closed": false"#, r#""closed": true, "closed_at": "2026-02-04T00:00:00Z""#)
        .replace(r#""pid": 4242"#, r#""pid": null"#);
    let record = one(&text).unwrap();
    assert_eq!((record.closed, record.closed_at_ms, record.root), (true, Some(1_770_163_200_000), None));
}

#[test]
fn a_gateways_key_is_kept_and_its_agent_known() {
    for (id, name, key, agent) in [
        ("abc", "", "acpx:abc", None),
        ("abc", r#","name":"my talk""#, "acpx:abc", None),
        ("abc", r#","name":"agent:codex:main""#, "agent:codex:acpx:abc", Some("codex")),
        ("agent:codex:acp:7", "", "agent:codex:acp:7", Some("codex")),
    ] {
        let record = one(&format!(r#"{{"acpx_record_id":"{id}"{name}}}"#)).unwrap();
        assert_eq!(
            (record.key.as_str(), record.agent.as_ref().map(AgentId::as_str)),
            (key, agent),
            "{id} {name}"
        );
    }
}

#[test]
fn a_generated_wrapper_is_known_by_its_name() {
    let wrapper = |more: &str| {
        one(&format!(r#"{{"acpx_record_id": "a", "pid": 7, {more}}}"#)).unwrap().root.unwrap().wrapper
    };
    assert!(wrapper(r#""agent_command": "node \"/s t/acpx/codex-acp-wrapper.mjs\"""#));
    assert!(wrapper(
        r#""agent_argv": ["node", "/s/claude-agent-acp-wrapper.mjs"], "agent_command": "node x""#
    ));
    assert!(!wrapper(r#""agent_command": "npx codex-acp""#));
    assert!(
        !wrapper(r#""agent_argv": ["node", "x"], "agent_command": "node /s/codex-acp-wrapper.mjs""#),
        "argv is believed"
    );
    assert!(plain(r#", "pid": 7, "wrapper": true"#).root.unwrap().wrapper);
}

#[test]
fn a_plain_record_needs_little() {
    let record = one(r#"{"command": "sleep 9", "pid": 7, "startedAt": "2026-02-03T04:05:06.789Z"}"#).unwrap();
    assert_eq!(
        (record.key.as_str(), record.kind, record.backend),
        ("import:file", Kind::Exec, Backend::Exec)
    );
    let root = record.root.unwrap();
    assert_eq!(root.command, Some(LegacyCommand::Line("sleep 9".into())));
    assert_eq!((root.pid, root.started_at_ms), (7, Some(1_770_091_506_789)));

    let record =
        one(r#"{"agent": "codex", "command": ["codex", "exec"], "resume": "r", "extra": [1]}"#).unwrap();
    assert_eq!((record.key.as_str(), record.kind), ("agent:codex:import:file", Kind::Cli));
    assert_eq!((record.resume.as_deref(), record.root), (Some("r"), None));

    let record =
        plain(r#", "kind": "subagent", "parent": "agent:a:main", "cwd": "/w", "label": "l", "closed": true"#);
    assert_eq!((record.kind, record.backend, record.closed), (Kind::Subagent, Backend::Cli, true));
    assert_eq!((record.parent.unwrap().as_str(), record.cwd.as_deref()), ("agent:a:main", Some("/w")));
}

#[test]
fn a_list_is_read_record_by_record_and_a_bad_one_spoils_no_other() {
    let list = r#"[{"key": "a"}, {"key": "b", "pid": "7"}, {"resume": "r"}]"#;
    for text in [list.to_owned(), format!(r#"{{"version": 1, "sessions": {list}}}"#)] {
        let records = read("many", text.as_bytes()).unwrap();
        let keys: Vec<_> = records.iter().map(|it| it.as_ref().ok().map(|it| it.key.as_str())).collect();
        assert_eq!(keys, [Some("a"), None, Some("import:many:3")]);
    }
    assert_eq!(read("none", b"[]").unwrap(), []);
}

#[test]
fn what_is_wrong_is_told_by_its_field() {
    for (text, said) in [
        (r#"{"key": "k", "pid": "7"}"#, "pid must be a whole number"),
        (r#"{"key": "k", "pid": 7.5}"#, "pid must be a whole number"),
        (r#"{"key": "k", "pid": -7}"#, "pid must be a whole number"),
        (r#"{"key": "k", "pid": 1}"#, "pid 1 cannot be a session's process"),
        (r#"{"key": "k", "pid": 4294967296}"#, "pid 4294967296 cannot be a session's process"),
        (r#"{"key": "k", "closed": "yes"}"#, "closed must be true or false, not a text"),
        (r#"{"key": "k", "cwd": "here"}"#, "use an absolute path"),
        (r#"{"key": "k", "startedAt": "now"}"#, r#"startedAt "now" is not a time"#),
        (
            r#"{"key": "k", "startedAt": "2026-02-03T04:05:06Z", "startedAtMs": 1}"#,
            "both startedAtMs and startedAt",
        ),
        (r#"{"key": "k", "command": []}"#, "command must be a list of words"),
        (r#"{"key": "k", "command": 7}"#, "command must be a text"),
        (r#"{"key": "k", "kind": "robot"}"#, "unknown session kind"),
        (r#"{"key": "k", "agent": "a b"}"#, "is not an agent name"),
        (r#"{"key": "../k"}"#, "looks like a path"),
        (r#"{"key": ""}"#, "an empty text"),
        (r#"{"key": "k", "resume": "a\nb"}"#, "resume must be one line"),
        (r#"{"key": "k", "key": "l"}"#, "key is there twice"),
        (r#"{"acpx_record_id": 7}"#, "acpx_record_id must be a text"),
        (r#"{"schema": "acpx.session.v1"}"#, "acpx_record_id is missing"),
        (r#"{"schema": "acpx.session.v2", "acpx_record_id": "a"}"#, "newer Tenure"),
        (r#"{"acpx_record_id": "a", "agent_argv": "node x"}"#, "agent_argv must be a list of words"),
        (r#"{"theme": "dark"}"#, "this is not a session record"),
        ("{}", "this is not a session record"),
        ("7", "a record, or a list of them"),
        ("[7]", "expected a record"),
        ("", "invalid JSON"),
        (r#"{"key": "k""#, "invalid JSON"),
        (r#"{"key": "k"} more"#, "invalid JSON"),
    ] {
        let error = one(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn what_is_not_known_is_passed_over_however_deep() {
    let deep = "[".repeat(100) + &"]".repeat(100);
    assert_eq!(one(&format!(r#"{{"messages": {deep}, "key": "k"}}"#)).unwrap().key.as_str(), "k");
    let bottomless = "[".repeat(100_000);
    assert!(matches!(one(&format!(r#"{{"messages": {bottomless}"#)), Err(BadLegacy::NotUnderstood(_))));
}
