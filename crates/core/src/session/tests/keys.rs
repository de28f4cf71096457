//! Valid and invalid keys, agent names and routes, and the errors of the invalid ones.

use super::*;

#[test]
fn an_agent_is_named_by_its_sessions() {
    for (key, agent) in [
        ("agent:a:main", Some("a")),
        ("agent:a:sub:b", Some("a")),
        ("agent:a:", Some("a")),
        ("agent:a", Some("a")),
        ("agent:", None),
        ("agent::main", None),
        ("agents:a:main", None),
        ("cli:1", None),
        ("", None),
    ] {
        assert_eq!(agent_of(key), agent, "{key:?}");
    }
}

#[test]
fn what_gateways_call_their_sessions_is_a_key() {
    for text in [
        "agent:main:main",
        "agent:codex:acp:7c1e",
        "agent:a:",
        "cli:1",
        "x",
        "agent:main:whatsapp:group:120363@g.us",
        "hook:https://example.org/a/b",
        "agent:main:matrix:!room:server.org",
        "Bau 7: Brücke",
        "a...b",
        ".hidden",
        &"k".repeat(KEY_BYTES),
    ] {
        assert_eq!(key(text).as_str(), text);
    }
}

#[test]
fn blanks_around_a_key_are_no_part_of_it() {
    assert_eq!(key("  agent:a:main "), key("agent:a:main"));
    assert_ne!(key("agent:a:main"), key("agent:a:Main"));
}

#[test]
fn a_key_with_control_characters_or_what_does_not_show_is_refused() {
    for text in
        ["a\0", "a\n", "\ta", "a\x1b[31m", "a\u{7f}", "a\u{85}", "a\u{200b}b", "a\u{202e}b", "a\u{a0}b"]
    {
        let bad = text.parse::<SessionKey>().unwrap_err();
        assert!(matches!(bad, BadKey::Unseen { .. }), "{text:?}: {bad}");
        assert!(!bad.to_string().chars().any(char::is_control), "{bad:?}");
    }
}

#[test]
fn a_key_with_path_parts_is_refused() {
    for text in
        ["..", ".", "../x", "a/../b", "a/..", "a/./b", "/etc/passwd", "/", "a\\b", "agent:..:x", "x:.."]
    {
        let bad = text.parse::<SessionKey>().unwrap_err();
        assert!(matches!(bad, BadKey::Path { .. }), "{text:?}: {bad}");
    }
}

#[test]
fn a_key_is_neither_empty_nor_endless() {
    assert_eq!("".parse::<SessionKey>(), Err(BadKey::Empty));
    assert_eq!("   ".parse::<SessionKey>(), Err(BadKey::Empty));
    let long = "ü".repeat(KEY_BYTES / 2 + 1);
    assert_eq!(long.parse::<SessionKey>(), Err(BadKey::TooLong { bytes: KEY_BYTES + 2 }));
    let endless = "k".repeat(10 << 20).parse::<SessionKey>().unwrap_err();
    assert!(endless.to_string().contains("at most 512"), "{endless}");
}

#[test]
fn a_key_that_says_it_is_an_agents_says_whose() {
    for text in ["agent:", "agent::main", "agent:a b:main", "agent:*:main", "agent:-x"] {
        let bad = text.parse::<SessionKey>().unwrap_err();
        assert!(bad.to_string().contains("write agent:NAME"), "{text}: {bad}");
    }
}

#[test]
fn an_agents_name_is_plain() {
    for text in ["main", "Codex-2", "a.b_c", "0", &"a".repeat(64)] {
        assert_eq!(agent(text).as_str(), text);
    }
    for text in ["", "-a", ".", "..", "a b", "a:b", "a/b", "a*", "ä", "a\n", &"a".repeat(65)] {
        let bad = text.parse::<AgentId>().unwrap_err();
        assert!(bad.to_string().contains("letter or digit first"), "{text}: {bad}");
    }
}

#[test]
fn a_bad_key_on_disk_is_no_key() {
    assert!(serde_json::from_str::<SessionKey>(r#""a/../b""#).is_err());
    assert!(serde_json::from_str::<AgentId>(r#""../b""#).is_err());
    assert_eq!(serde_json::to_string(&key("cli:1")).unwrap(), r#""cli:1""#);
}

#[test]
fn a_route_is_star_or_prefix_or_name_on_both_sides() {
    for (route, from, to, allowed) in [
        ("*->*", "a", "b", true),
        ("a->b", "a", "b", true),
        ("a -> b", "a", "b", true),
        ("a->b", "b", "a", false),
        ("a->b", "ab", "b", false),
        ("a->b", "a", "bb", false),
        ("lab-*->b", "lab-1", "b", true),
        ("lab-*->b", "lab", "b", false),
        ("a->lab*", "a", "lab", true),
        ("a->lab*", "a", "Lab1", false),
    ] {
        assert_eq!(a2a(true, &[route]).allows(&agent(from), &agent(to)), allowed, "{route}: {from} to {to}");
        assert!(!a2a(false, &[route]).allows(&agent(from), &agent(to)), "{route} is off");
    }
}

#[test]
fn a_route_that_is_not_understood_is_refused_with_what_to_write() {
    for text in ["", "a", "*", "->", "a->", "->b", "a*b->c", "**->a", "a->b->c", "a b->c", "-*->a"] {
        let bad = text.parse::<Route>().unwrap_err();
        assert!(bad.to_string().contains("REQUESTER->TARGET"), "{text}: {bad}");
    }
    for text in ["*->*", "a->b", "lab-*->b.*"] {
        assert_eq!(text.parse::<Route>().unwrap().to_string(), text);
    }
}

#[test]
fn routes_that_are_not_named_are_all_and_none_if_the_list_is_empty() {
    let read = |json| serde_json::from_str::<AgentToAgent>(json).unwrap();
    assert_eq!(read("{}"), AgentToAgent::default());
    let reaches = |it: &AgentToAgent| it.allows(&agent("a"), &agent("b"));
    assert!(!reaches(&read("{}")), "off unless it is switched on");
    assert!(reaches(&read(r#"{"enabled":true}"#)));
    assert!(!reaches(&read(r#"{"enabled":true,"allow":[]}"#)));
    assert!(serde_json::from_str::<AgentToAgent>(r#"{"enabled":true,"allow":["b"]}"#).is_err());
}
