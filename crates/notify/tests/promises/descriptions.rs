//! Valid and invalid tables `[channels.NAME]`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_notify::{BadChannel, Channel, Command, Listeners, Secret, Target, Webhook, channels};
use tenure_settings::raw::{RawTable, RawValue, parse};

fn described(text: &str) -> Result<Vec<Channel>, BadChannel> {
    let path = Path::new("/c/config.toml");
    let mut file = parse(path, text).expect("TOML");
    let given = match file.remove("channels").map(|raw| raw.value) {
        Some(RawValue::Table(table)) => table,
        _ => RawTable::new(),
    };
    channels(path, &given).into_values().collect()
}

#[track_caller]
fn webhook(text: &str) -> Webhook {
    match described(text).unwrap().remove(0).target {
        Target::Webhook(webhook) => webhook,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_webhook_needs_its_address_only() {
    let webhook = webhook("[channels.ops]\nwebhook = 'https://example.com/hook'");
    assert_eq!((webhook.url.to_string(), webhook.url.path.as_str()), ("https://example.com".into(), "/hook"));
    assert_eq!((webhook.secret, webhook.allow_private), (None, false));
    assert_eq!(webhook.timeout, Duration::from_secs(10));
}

#[test]
fn a_webhook_can_say_more() {
    let text = "[channels.ops]\nwebhook = 'http://10.0.0.7:81/'\nallow-private = true\ntimeout = '90s'\nsecret-file = 'ops.secret'";
    let hook = webhook(text);
    assert_eq!(hook.secret, Some(Secret::File("/c/ops.secret".into())));
    assert_eq!((hook.timeout, hook.allow_private), (Duration::from_secs(90), true));
    let hook = webhook("[channels.ops]\nwebhook = 'https://example.com/'\nsecret = 'sixteen bytes...'");
    assert!(matches!(hook.secret, Some(Secret::Given(_))));
}

#[test]
fn the_events_are_a_channel_and_lead_nowhere_else() {
    let all = described("[channels.gateway]\nevents = true\ntimeout = '7s'").unwrap();
    assert_eq!(all[0].target, Target::Events(Listeners { timeout: Duration::from_secs(7) }));
    for (text, why) in [
        ("[channels.x]\nevents = false", "cannot be false"),
        ("[channels.x]\nevents = true\ncommand = ['x']", "cannot have events together"),
        ("[channels.x]\nevents = true\nsecret = 'x'", "unknown setting \"channels.x.secret\""),
    ] {
        let error = described(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn a_command_is_a_program_and_its_arguments() {
    let text = "[channels.desk]\ncommand = ['notify-send', 'a b', '$HOME']\ncwd = '/srv'\ntimeout = '5s'\n[channels.desk.env]\nA = '1'";
    let all = described(text).unwrap();
    assert_eq!((all.len(), all[0].name.as_str()), (1, "desk"));
    let expected = Command {
        argv: vec!["notify-send".into(), "a b".into(), "$HOME".into()],
        cwd: Some(PathBuf::from("/srv")),
        env: BTreeMap::from([("A".into(), "1".into())]),
        timeout: Duration::from_secs(5),
    };
    assert_eq!(all[0].target, Target::Command(expected));
    let path = std::env::current_exe().unwrap();
    let text = format!("[channels.a]\ncommand = ['{}']\n[channels.b]\ncommand = ['true']", path.display());
    let all = described(&text).unwrap();
    assert!(all.iter().all(|channel| matches!(&channel.target, Target::Command(command)
        if command.timeout == Duration::from_secs(30) && command.cwd.is_none() && command.env.is_empty())));
    assert_eq!(described("").unwrap(), []);
}

#[test]
fn a_mistake_is_told_with_its_file_its_line_and_its_key() {
    let url = "webhook = 'https://example.com/'";
    for (text, place, expected) in [
        ("ops = 3", "channels.ops (from /c/config.toml:2)", "must be a table, [channels.ops]"),
        ("[channels.'a b']\nwebhook = 1", "channels.a b (from /c/config.toml:2)", "invalid channel name"),
        (
            "[channels.ops]",
            "channels.ops.webhook (from /c/config.toml:2)",
            "the channel has no receiver: write webhook",
        ),
        (
            "[channels.ops]\nwebhok = 'x'",
            "channels.ops.webhook (from /c/config.toml:2)",
            "the channel has no receiver",
        ),
        ("[channels.ops]\nwebhook = 3", "channels.ops.webhook (from /c/config.toml:3)", "must be a text"),
        (
            "[channels.ops]\nwebhook = ''",
            "channels.ops.webhook (from /c/config.toml:3)",
            "invalid address of a webhook",
        ),
        (
            "[channels.ops]\nwebhook = 'https://10.0.0.1/'",
            "webhook (from /c/config.toml:3)",
            "allow-private = true",
        ),
        ("[channels.ops]\nwebhook = 'http://example.com/'", "webhook (from /c/config.toml:3)", "use https"),
        ("[channels.ops]\nwebhook = 'https://me:pa55@h/'", "webhook (from /c/config.toml:3)", "a password"),
        ("[channels.ops]\nURL\ncommand = ['x']", "command (from /c/config.toml:4)", "cannot have both"),
        (
            "[channels.ops]\nURL\ncwd = '/'",
            "/c/config.toml:4",
            "unknown setting \"channels.ops.cwd\": use one of webhook, secret",
        ),
        (
            "[channels.ops]\nURL\nallow-private = 'yes'",
            "allow-private (from /c/config.toml:4)",
            "true or false",
        ),
        (
            "[channels.ops]\nURL\nsecret = 'short'",
            "channels.ops.secret (from /c/config.toml:4)",
            "has 5 bytes",
        ),
        ("[channels.ops]\nURL\nsecret = 'whsec_pa55?'", "secret (from /c/config.toml:4)", "not base64"),
        (
            "[channels.ops]\nURL\nsecret = 'x'\nsecret-file = '/y'",
            "secret-file (from /c/config.toml:5)",
            "cannot have both",
        ),
        (
            "[channels.ops]\nURL\nsecret-file = '~/y'",
            "secret-file (from /c/config.toml:4)",
            "use an absolute",
        ),
        ("[channels.ops]\nURL\ntimeout = '0'", "timeout (from /c/config.toml:4)", "the maximum is 5m"),
        ("[channels.ops]\nURL\ntimeout = 'off'", "timeout (from /c/config.toml:4)", "the maximum is 5m"),
        ("[channels.ops]\nURL\ntimeout = '6m'", "timeout (from /c/config.toml:4)", "the maximum is 5m"),
        ("[channels.ops]\nURL\ntimeout = 'soon'", "timeout (from /c/config.toml:4)", "not a duration"),
        ("[channels.ops]\ncommand = 'ls -l'", "command (from /c/config.toml:3)", "must be an array"),
        ("[channels.ops]\ncommand = []", "command (from /c/config.toml:3)", "is not a program"),
        ("[channels.ops]\ncommand = ['bin/x']", "command (from /c/config.toml:3)", "absolute path"),
        ("[channels.ops]\ncommand = ['x', 3]", "command (from /c/config.toml:3)", "must be a text"),
        ("[channels.ops]\ncommand = ['x', \"a\\u0000b\"]", "command (from /c/config.toml:3)", "NUL"),
        (
            "[channels.ops]\ncommand = ['x']\nsecret = 'y'",
            "/c/config.toml:4",
            "use one of command, cwd, env, timeout",
        ),
        (
            "[channels.ops]\ncommand = ['x']\nenv = {TENURE_X = '1'}",
            "env.TENURE_X (from /c/config.toml:4)",
            "reserved for Tenure",
        ),
    ] {
        let text = text.replace("URL", url);
        let text = if text.starts_with('[') { format!("\n{text}") } else { format!("[channels]\n{text}") };
        let why = described(&text).expect_err(&text).to_string();
        assert!(why.contains(place) && why.contains(expected), "{text}\n{why}");
        assert!(!why.contains("pa55"), "{why}");
    }
}
