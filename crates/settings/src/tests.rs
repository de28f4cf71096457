//! The layers: their values, their precedence, and their errors.

use crate::layers::{load, load_leniently};
use crate::raw::{Raw, RawValue};
use crate::table::TABLE;
use crate::{BadSettings, Origin, Registry, Settings};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_core::defaults::LOG_FILES;
use tenure_core::session::{AgentToAgent, SpawnLimits, Visibility};
use tenure_os::{place, text};

/// Loads these variables and this file.
fn with(file: &str, variables: &[(&str, &str)]) -> Result<Settings, BadSettings> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, file).unwrap();
    load(&[], &|name| match name {
        "TENURE_CONFIG" => Some(path.clone().into()),
        name if name == place::home_variable() => Some(at("/home/me").into()),
        _ => variables.iter().find(|(its, _)| *its == name).map(|(_, value)| OsString::from(value)),
    })
}

fn env(name: &str, value: &str) -> Result<Settings, BadSettings> {
    with("", &[(name, value)])
}

/// Makes this path absolute, in the way of this system.
fn at(path: &str) -> PathBuf {
    std::path::absolute(path).unwrap()
}

/// Returns the state root of a user at `/home/me`.
fn usual_state() -> PathBuf {
    place::state(&|name| (name == place::home_variable()).then(|| at("/home/me").into())).unwrap()
}

#[track_caller]
fn refusal(result: Result<Settings, BadSettings>) -> String {
    result.expect_err("this is refused").to_string()
}

#[test]
fn each_layer_wins_over_those_below() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, "[output]\nhead = 1\ntail = 1\n[runs]\nmax = 1").unwrap();
    let variables = |name: &str| match name {
        "TENURE_CONFIG" => Some(path.clone().into()),
        "TENURE_STATE" => Some("/s".into()),
        "TENURE_OUTPUT_HEAD" | "TENURE_OUTPUT_TAIL" => Some("2".into()),
        _ => None,
    };
    let settings = load(&[("output.head", "3")], &variables).unwrap();
    assert_eq!((settings.output.head, settings.output.tail, settings.runs.max), (3, 2, Some(1)));
    assert_eq!(*settings.origin("output.head"), Origin::Flag);
    assert_eq!(*settings.origin("output.tail"), Origin::Environment("TENURE_OUTPUT_TAIL"));
    assert_eq!(*settings.origin("runs.max"), Origin::File { path: path.clone(), line: 5 });
    assert_eq!(*settings.origin("log.files"), Origin::Default);
}

#[test]
fn the_state_root_is_named_or_where_this_system_keeps_state() {
    assert_eq!(with("", &[]).unwrap().state, usual_state());
    assert_eq!(env("TENURE_STATE", "/s").unwrap().state, at("/s"));
    assert!(matches!(load(&[], &|_| None), Err(BadSettings::NoStateRoot)));
    assert!(load(&[], &|name| (name == "TENURE_STATE").then(|| "/s".into())).is_ok(), "no home is needed");
}

#[test]
fn the_configuration_is_named_or_where_this_system_keeps_it() {
    let config = |name: &str, value: &OsStr| {
        let variables = |its: &str| match its {
            "TENURE_STATE" => Some("/s".into()),
            _ => (its == name).then(|| value.to_owned()),
        };
        let usual = place::config(&variables).map(|dir| dir.join("config.toml"));
        (load(&[], &variables).unwrap().config().map(Path::to_owned), usual)
    };
    let home = place::home_variable();
    let named = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(config("TENURE_CONFIG", named.path().as_ref()).0.as_deref(), Some(named.path()));
    // Below a path that is no directory there is no file, and that is no mistake.
    let file = std::env::current_exe().unwrap();
    for place in [at("/nowhere"), file] {
        let (found, usual) = config(home, place.as_ref());
        assert!(found == usual && found.is_some_and(|path| path.starts_with(&place)), "{place:?}");
    }
    assert_eq!(config(home, OsStr::new("")).0, None);
}

#[test]
fn a_configuration_that_is_there_and_cannot_be_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    let variables = |name: &str| match name {
        "TENURE_CONFIG" => Some(path.clone().into()),
        _ => Some("/s".into()),
    };
    assert!(matches!(load(&[], &variables), Err(BadSettings::Unreadable { .. })));
}

#[test]
fn a_configuration_that_is_named_and_not_there_is_refused() {
    let variables = |name: &str| Some(if name == "TENURE_CONFIG" { "/nowhere/c.toml" } else { "/s" }.into());
    let text = refusal(load(&[], &variables));
    assert!(text.contains("c.toml, which does not exist: create the file, or unset TENURE_CONFIG"), "{text}");
    let text = load_leniently(&variables).unwrap().1[0].to_string();
    assert!(text.contains("does not exist"), "{text}");
}

/// Returns the settings of this file and these variables, and the mistakes.
fn leniently(file: &str, variable: (&str, &str)) -> Result<(Settings, Vec<String>), BadSettings> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, file).unwrap();
    let variables = |name: &str| match name {
        "TENURE_CONFIG" => Some(path.clone().into()),
        name if name == place::home_variable() => Some(at("/home/me").into()),
        name => (name == variable.0).then(|| variable.1.into()),
    };
    let (settings, mistakes) = load_leniently(&variables)?;
    Ok((settings, mistakes.iter().map(ToString::to_string).collect()))
}

#[test]
fn who_only_looks_goes_on_with_what_is_right_and_hears_all_that_is_wrong() {
    let file = "[outptu]\nhead = 1\n[runs]\nmax = 'many'\nqueue = 7\n[lease]\nttl = '1s'";
    let (settings, mistakes) = leniently(file, ("TENURE_LOG_FILES", "some")).unwrap();
    assert_eq!((settings.runs.max, settings.runs.queue, settings.log.files), (None, 7, LOG_FILES));
    let wrong = ["outptu", "runs.max", "log.files", "lease.heartbeat"];
    assert_eq!(mistakes.len(), wrong.len(), "{mistakes:?}");
    assert!(mistakes.iter().zip(wrong).all(|(text, key)| text.contains(key)), "{mistakes:?}");
    let (settings, mistakes) = leniently("[runs\nmax = 3", ("", "")).unwrap();
    assert_eq!((settings.runs.max, mistakes.len()), (None, 1), "{mistakes:?}");
    let (settings, mistakes) = leniently("state = 'unclosed", ("TENURE_STATE", "/s")).unwrap();
    assert_eq!((settings.state, mistakes.len()), (at("/s"), 1), "{mistakes:?}");
}

#[test]
fn nobody_goes_on_where_it_is_open_which_installation_is_meant() {
    assert!(leniently("state = 3.5", ("", "")).is_err(), "a state root that is no path");
    assert!(leniently("state = 'unclosed", ("", "")).is_err(), "a state root that cannot be read");
    assert!(leniently("", ("TENURE_REGISTRY", "postgres://x")).is_err(), "a registry that there is not");
}

#[test]
fn an_unknown_key_is_refused_with_its_name_and_line() {
    let text = refusal(with("cgroup = true\n\n[output]\nhaed = 1", &[]));
    assert!(text.contains("config.toml:4: unknown setting \"output.haed\""), "{text}");
    assert!(text.ends_with("use one of output.head, output.tail"), "{text}");
    let text = refusal(with("\n[outptu]\nhead = 1", &[]));
    assert!(text.contains(":2: unknown setting \"outptu\": use one of agents, api,"), "{text}");
    let text = refusal(with("output = 3", &[]));
    assert!(text.contains(":1: unknown setting \"output\":"), "{text}");
    let text = refusal(with("[cgroup]\nx = 1", &[]));
    assert!(
        text.contains("config.toml:1): must be a text, a number or a boolean, not of type table"),
        "{text}"
    );
}

#[test]
fn the_agents_are_handed_on_as_they_are_written_with_their_lines() {
    let file = "[runs]\nmax = 3\n[agents.mine]\ncommand = 'mine'\nfresh = [\n 'a',\n ['b', 7],\n]\n\n[agents.mine.env]\nA = '1'";
    let settings = with(file, &[]).unwrap();
    assert_eq!(settings.runs.max, Some(3));
    let Raw { line: 3, value: RawValue::Table(mine) } = &settings.agents()["mine"] else {
        panic!("{:?}", settings.agents())
    };
    assert_eq!(mine["command"], Raw { line: 4, value: RawValue::Text("mine".into()) });
    let RawValue::Array(fresh) = &mine["fresh"].value else { panic!("{mine:?}") };
    assert_eq!(fresh.iter().map(|word| word.line).collect::<Vec<_>>(), [6, 7]);
    let number = Raw { line: 7, value: RawValue::Number("7".into()) };
    assert!(matches!(&fresh[1].value, RawValue::Array(words) if words[1] == number));
    assert!(matches!(&mine["env"].value, RawValue::Table(env) if env["A"].line == 11));
    assert!(with("", &[]).unwrap().agents().is_empty());
    let text = refusal(with("\nagents = 3", &[]));
    assert!(text.contains("config.toml:2: unknown setting \"agents\":"), "{text}");
    let text = refusal(with("[agents.mine]\ncommand = 'mine'\n[output]\nhaed = 1", &[]));
    assert!(text.contains("config.toml:4: unknown setting \"output.haed\""), "{text}");
}

#[test]
fn the_channels_are_handed_on_like_the_agents() {
    let file = "[channels.ops]\nwebhook = 'https://example.com/'\n[agents.mine]\ncommand = 'mine'";
    let settings = with(file, &[]).unwrap();
    let Raw { line: 1, value: RawValue::Table(ops) } = &settings.channels()["ops"] else {
        panic!("{:?}", settings.channels())
    };
    assert_eq!(ops["webhook"], Raw { line: 2, value: RawValue::Text("https://example.com/".into()) });
    assert_eq!((settings.channels().len(), settings.agents().len()), (1, 1));
    assert!(with("", &[]).unwrap().channels().is_empty());
    let text = refusal(with("\nchannels = 3", &[]));
    assert!(text.contains("config.toml:2: unknown setting \"channels\":"), "{text}");
}

#[test]
fn what_is_not_toml_is_refused_with_its_line() {
    let text = refusal(with("cgroup = true\noutput = = 1", &[]));
    assert!(text.contains("config.toml:2: invalid TOML"), "{text}");
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_with_its_place() {
    let text = refusal(with("\n[lease]\nttl = [1]", &[]));
    assert!(
        text.starts_with("lease.ttl (from ")
            && text.contains("config.toml:3): must be a text, a number or a boolean, not of type array"),
        "{text}"
    );
    let text = refusal(env("TENURE_CGROUP", "maybe"));
    assert_eq!(text, "cgroup (from TENURE_CGROUP): \"maybe\" is not a switch: use on or off");
    let variables = |name: &str| match name {
        "TENURE_STATE" => Some(text::from_bytes(b"/\xed\xa0\x80")),
        _ => None,
    };
    let text = refusal(load(&[], &variables));
    assert!(text.contains("TENURE_STATE") && text.contains("UTF-8"), "{text}");
}

#[test]
fn an_empty_variable_is_none() {
    for setting in TABLE {
        let settings = env(setting.env.name(), "").unwrap();
        assert_eq!(*settings.origin(setting.key), Origin::Default, "{}", setting.key);
    }
}

#[test]
fn every_value_reads_back_as_it_is_shown() {
    let full = with(
        "state = '~/s'\nregistry = 'r.db/x'\nautostart = false\ncgroup = 'off'\noutput = { head = '3KiB', tail = 5 }\n\
         retention = { age = '90s', count = 7, bytes = '2GiB' }\nevents = { age = '1500ms', count = 0 }\n\
         runs = { max = 9, queue = 0 }\nlog = { bytes = '1MiB', files = 2 }\n\
         api = { listen = 'localhost:80', token = 'token' }\nlease = { ttl = '1s', heartbeat = '200ms' }\n\
         run = { timeout = '1h', grace = '0', orphan-grace = '2m' }\n\
         [sessions]\nvisibility = 'all'\nagent-to-agent = true\nagent-to-agent-allow = 'a->b,lab-* -> *'\n\
         depth = 2\nchildren = 0\nqueue = 1\nage = '1h'\ncount = 'off'",
        &[],
    )
    .unwrap();
    let plain = with("", &[]).unwrap();
    for settings in [&full, &plain] {
        // The variable that switches off has the opposite meaning.
        let shown: Vec<_> = settings.shown().into_iter().filter(|shown| shown.key != "autostart").collect();
        let variables: Vec<_> = shown.iter().map(|shown| (shown.variable, shown.value.as_str())).collect();
        let again = with("", &variables).unwrap();
        for (now, before) in again.shown().into_iter().filter(|shown| shown.key != "autostart").zip(&shown) {
            assert_eq!((now.key, &now.value), (before.key, &before.value));
            assert_eq!(now.origin, Origin::Environment(before.variable));
        }
    }
    assert_eq!(full.state, at("/home/me/s"));
    assert_eq!((full.autostart, full.cgroup), (false, false));
    assert_eq!((full.events.count, full.runs.queue, full.run.grace), (None, 0, Duration::ZERO));
    assert_eq!(full.api.listen, Some("127.0.0.1:80".parse().unwrap()));
    assert!(full.api_token().is_absolute() && full.api_token().ends_with("token"));
    assert_eq!(plain.api_token(), plain.state.join("api-token"));
}

#[test]
fn every_setting_has_a_key_a_variable_and_a_word_of_its_own() {
    for (at, setting) in TABLE.iter().enumerate() {
        let others = || TABLE.iter().skip(at + 1);
        assert!(others().all(|other| other.key != setting.key), "{}", setting.key);
        assert!(others().all(|other| other.env.name() != setting.env.name()), "{}", setting.key);
        assert!(!setting.about.is_empty() && setting.env.name().starts_with("TENURE_"), "{}", setting.key);
    }
}

#[test]
fn the_registry_is_a_file_and_postgres_is_not_yet() {
    let registry = |text: &str| env("TENURE_REGISTRY", text).map(|settings| settings.database());
    assert_eq!(registry("sqlite").unwrap(), usual_state().join("tenure.db"));
    for text in ["sqlite:/r.db", "/r.db", "sqlite:///r.db"] {
        assert_eq!(
            registry(text).unwrap().components().next_back(),
            Path::new("r.db").components().next(),
            "{text}"
        );
        assert!(registry(text).unwrap().is_absolute());
    }
    let whole = at("/r.db");
    for before in ["", "sqlite:", "sqlite:///"] {
        assert_eq!(registry(&format!("{before}{}", whole.display())).unwrap(), whole, "{before}");
    }
    assert!(
        matches!(env("TENURE_REGISTRY", "sqlite:r.db").unwrap().registry, Registry::Sqlite(path) if path.is_absolute())
    );
    for text in ["postgres://host/db", "postgresql://host/db"] {
        assert!(refusal(env("TENURE_REGISTRY", text)).contains("not supported yet"), "{text}");
    }
    for text in ["mysql://host/db", "sqlite3", "sqlite://r.db", "sqlite:", "http://x"] {
        assert!(refusal(env("TENURE_REGISTRY", text)).contains("is not a registry"), "{text}");
    }
}

#[test]
fn only_a_loopback_address_is_listened_on() {
    for text in ["127.0.0.1:0", "127.9.9.9:1", "[::1]:7411", "localhost:7411"] {
        assert!(env("TENURE_API_LISTEN", text).unwrap().api.listen.is_some(), "{text}");
    }
    for text in ["0.0.0.0:1", "[::]:1", "192.168.1.5:1", "8.8.8.8:1"] {
        let why = refusal(env("TENURE_API_LISTEN", text));
        assert!(why.contains("reachable from other machines"), "{why}");
    }
    assert!(refusal(env("TENURE_API_LISTEN", "7411")).contains("127.0.0.1:7411"));
    assert_eq!(env("TENURE_API_LISTEN", "off").unwrap().api.listen, None);
}

#[test]
fn the_variable_that_switches_autostart_off_does_so() {
    assert!(!env("TENURE_NO_AUTOSTART", "1").unwrap().autostart);
    assert!(env("TENURE_NO_AUTOSTART", "0").unwrap().autostart);
    assert!(env("TENURE_NO_AUTOSTART", "never").is_err());
    assert!(!with("autostart = false", &[]).unwrap().autostart);
}

#[test]
fn sizes_are_bytes_or_binary_units() {
    let head = |text: &str| env("TENURE_OUTPUT_HEAD", text).map(|settings| settings.output.head);
    assert_eq!(head("65536").unwrap(), 65536);
    assert_eq!(head("10GiB").unwrap(), 10 << 30);
    for text in ["10GB", "1.5MiB", "-1", "+1", "MiB", "17000000000000TiB", " 1"] {
        assert!(head(text).is_err(), "{text}");
    }
    assert_eq!(with("output.head = '512MiB'", &[]).unwrap().output.head, 512 << 20);
}

#[test]
fn a_lease_outlasts_two_heartbeats() {
    let lease = |ttl, beat| with("", &[("TENURE_LEASE_TTL", ttl), ("TENURE_HEARTBEAT", beat)]);
    assert!(lease("600ms", "300ms").is_ok());
    assert!(refusal(lease("599ms", "300ms")).contains("at most half"));
    assert!(lease("1s", "0").is_err());
}

#[test]
fn a_daemon_is_not_replaced_for_being_slow() {
    let after = |text| with("", &[("TENURE_DAEMON_REPLACE_AFTER", text)]);
    assert!(refusal(after("999ms")).contains("at least 1s"));
    assert_eq!(after("2s").unwrap().daemon.replace_after, Some(std::time::Duration::from_secs(2)));
    assert_eq!(after("off").unwrap().daemon.replace_after, None);
}

#[test]
fn zero_is_no_limit_where_there_need_be_none() {
    let settings = with("run.timeout = '0'\n[retention]\nage = '0s'\ncount = 0\nbytes = 'off'", &[]).unwrap();
    assert_eq!(settings.run.overall, None);
    let none = (settings.retention.age, settings.retention.count, settings.retention.bytes);
    assert_eq!(none, (None, None, None));
}

#[test]
fn sessions_see_their_tree_unless_more_is_allowed() {
    let plain = with("", &[]).unwrap();
    assert_eq!(plain.sessions.visibility, Visibility::Tree);
    assert_eq!(plain.agent_to_agent(), AgentToAgent::default());
    assert_eq!(plain.sessions.limits(), SpawnLimits::default());
    assert_eq!((plain.sessions.queue, plain.sessions.age), (32, Some(Duration::from_hours(720))));
    assert_eq!(env("TENURE_SESSIONS_VISIBILITY", "self").unwrap().sessions.visibility, Visibility::SelfOnly);
    assert!(
        refusal(env("TENURE_SESSIONS_VISIBILITY", "mine"))
            .ends_with("unknown value \"mine\": use one of self, tree, agent, all")
    );
    let limits = with("sessions.depth = 0\nsessions.children = 3", &[]).unwrap().sessions.limits();
    assert_eq!(limits, SpawnLimits { depth: 0, children: 3 });
}

#[test]
fn agents_reach_whom_the_routes_say() {
    let agent = |name: &str| name.parse().unwrap();
    let reach = |allow: &str| {
        let variables =
            [("TENURE_SESSIONS_AGENT_TO_AGENT", "on"), ("TENURE_SESSIONS_AGENT_TO_AGENT_ALLOW", allow)];
        with("", &variables)
    };
    let some = reach("a->b, lab-* -> *").unwrap().agent_to_agent();
    let pairs = [("a", "b"), ("lab-1", "x"), ("b", "a"), ("a", "c")];
    assert_eq!(pairs.map(|(from, to)| some.allows(&agent(from), &agent(to))), [true, true, false, false]);
    assert!(reach("*->*").unwrap().agent_to_agent().allows(&agent("x"), &agent("y")));
    assert!(
        reach("").unwrap().agent_to_agent().allows(&agent("x"), &agent("y")),
        "an empty variable is none"
    );
    assert!(!reach("none").unwrap().agent_to_agent().allows(&agent("x"), &agent("y")));
    assert!(!env("TENURE_SESSIONS_AGENT_TO_AGENT_ALLOW", "*->*").unwrap().agent_to_agent().enabled);
    for bad in ["a", "a->b,", "a=>b", "a->b->c", "none, a->b"] {
        assert!(refusal(reach(bad)).contains("REQUESTER->TARGET"), "{bad}");
    }
    let text = refusal(with("[sessions]\nagent-to-agent-allow = ''", &[]));
    assert!(text.ends_with("or use none"), "{text}");
}

#[test]
fn paths_mean_the_same_files_from_everywhere() {
    let settings = with("state = 'here'", &[("TENURE_REGISTRY", "sqlite:r.db")]).unwrap();
    assert_eq!(settings.state, settings.config().unwrap().parent().unwrap().join("here"), "beside the file");
    let here = std::env::current_dir().unwrap().join("r.db");
    let pinned = settings.pinned();
    assert!(pinned.contains(&("TENURE_REGISTRY", format!("sqlite:{}", here.display()))), "{pinned:?}");
    assert!(pinned.iter().any(|(name, _)| *name == "TENURE_CONFIG"));
    assert!(!pinned.iter().any(|(name, _)| *name == "TENURE_STATE"), "nobody set it: {pinned:?}");
}
