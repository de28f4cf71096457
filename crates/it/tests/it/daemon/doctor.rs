//! `tenure doctor` says what is wrong, changes nothing, and works without rights.

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tenure_it::install::Install;

fn doctor(install: &Install) -> (Option<i32>, Value) {
    let output = install.tenure(&["doctor", "--json"]);
    let told = serde_json::from_slice(&output.stdout);
    (output.status.code(), told.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}

#[track_caller]
fn check<'a>(told: &'a Value, name: &str) -> &'a Value {
    let checks = told["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name} in {told}"))
}

#[test]
fn doctor_tries_a_cgroup_and_leaves_nothing_behind() {
    let install = Install::new();
    let (code, told) = doctor(&install);
    assert_eq!(code, Some(0), "{told}");
    assert!(!install.state().exists(), "it made a state root");
    let boundary = check(&told, "boundary");
    // Its report matches the limits of runs.
    let id = install.start_in_background(&[], &["true"]);
    install.wait(&id);
    let kind = if boundary["verdict"] == "ok" { "cgroup" } else { "subreaper" };
    assert_eq!(install.show(&id)["boundary"]["kind"], kind, "{boundary}");
}

#[test]
fn doctor_works_without_rights() {
    let install = Install::new().unprivileged();
    let (code, told) = doctor(&install);
    assert_eq!(code, Some(0), "{told}");
    let boundary = check(&told, "boundary");
    if boundary["verdict"] != "ok" {
        assert!(boundary["advice"].is_string(), "{boundary}");
    }
}

#[test]
fn doctor_names_each_problem_and_its_remedy() {
    let install = Install::new().without_cgroup();
    std::fs::create_dir(install.state()).expect("mkdir");
    std::fs::set_permissions(install.state(), PermissionsExt::from_mode(0o755)).expect("chmod");
    let (code, told) = doctor(&install);
    assert_eq!((code, &told["verdict"]), (Some(0), &"warning".into()), "a warning is no failure: {told}");
    assert!(
        check(&told, "state-root")["advice"].as_str().is_some_and(|advice| advice.starts_with("chmod 700 "))
    );
    let boundary = check(&told, "boundary")["finding"].as_str().expect("text");
    assert!(boundary.contains("switched off by TENURE_CGROUP"), "{boundary}");
    let file = install.dir().join("file");
    std::fs::write(&file, "").expect("write");
    let (code, told) = doctor(&install.with_state(file));
    assert_eq!((code, &check(&told, "state-root")["verdict"]), (Some(1), &"problem".into()));
}

#[test]
fn doctor_finds_a_lost_run() {
    let install = Install::new();
    let id = install.start_in_background(&[], &["sleep", "1000"]);
    assert_eq!(check(&doctor(&install).1, "lost-runs")["verdict"], "ok", "it has a keeper");
    install.cancel(&id);
    install.assert_no_process_left();
    // As if keeper and nursery had been killed at once, an hour ago.
    let run = install.state().join("runs").join(&id);
    std::fs::remove_file(run.join("ending")).expect("the ending");
    age(&run);
    let (code, told) = doctor(&install);
    let lost = check(&told, "lost-runs");
    assert!(code == Some(0) && lost["verdict"] == "warning", "{lost}");
    assert!(lost["advice"].as_str().is_some_and(|advice| advice.contains(&id)), "{lost}");
}

fn age(path: &Path) {
    let then = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    std::fs::File::open(path).and_then(|file| file.set_modified(then)).expect("an older time");
}

#[test]
fn doctor_names_the_source_of_each_setting() {
    let install = Install::new().with_env("TENURE_OUTPUT_HEAD", "2MiB");
    std::fs::write(install.config(), "[run]\ngrace = \"7s\"\n").expect("write");
    let (_, told) = doctor(&install);
    let setting = |key: &str| {
        let settings = told["settings"].as_array().expect("settings");
        let found = settings.iter().find(|setting| setting["key"] == key).expect("the setting");
        (
            found["value"].as_str().expect("text").to_owned(),
            found["origin"].as_str().expect("text").to_owned(),
        )
    };
    assert_eq!(setting("output.head"), ("2MiB".into(), "TENURE_OUTPUT_HEAD".into()));
    assert_eq!(setting("run.grace"), ("7s".into(), format!("{}:2", install.config().display())));
    assert_eq!(setting("log.files"), ("5".into(), "default".into()));
}

#[test]
fn an_invalid_configuration_stops_only_commands_that_start_something() {
    let install = Install::new().with_daemon();
    let id = install.start_in_background(&[], &["sleep", "1000"]);
    std::fs::write(install.config(), "cgroup = true\n[run]\ngarce = 1\n").expect("write");
    let wrong = "config.toml:3: unknown setting \"run.garce\"";
    let refused = [
        (&["run", "--", "true"][..], 125),
        (&["exec", "true"], 125),
        (&["sessions", "spawn", "--agent", "codex"], 1),
        (&["daemon", "start"], 1),
    ];
    let works = [
        (&["ps"][..], 0),
        (&["show", &id], 0),
        (&["logs", &id], 0),
        (&["tree", &id], 0),
        (&["daemon", "status"], 0),
        (&["agents"], 0),
        (&["cancel", &id], 0),
        (&["wait", &id], 123),
        (&["daemon", "stop"], 0),
        (&["ps", "--all"], 0),
        (&["rm", &id], 0),
    ];
    for (words, code) in refused.into_iter().chain(works) {
        let output = install.tenure(words);
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {why}");
        assert_eq!(why.matches(wrong).count(), 1, "{words:?} is not exactly once in: {why}");
    }
    let (code, told) = doctor(&install);
    let found = &check(&told, "configuration")["finding"];
    assert!(code == Some(1) && found.as_str().is_some_and(|text| text.contains(wrong)), "{found}");
}

#[test]
fn a_missing_configuration_file_is_refused_and_reported_by_doctor() {
    let install = Install::new();
    std::fs::remove_file(install.config()).expect("it was there");
    for (words, code) in [(&["ps"][..], 1), (&["run", "--", "true"], 125), (&["daemon", "stop"], 1)] {
        let output = install.tenure(words);
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(code) && why.contains("unset TENURE_CONFIG"),
            "{words:?}: {why}"
        );
    }
    let (code, told) = doctor(&install);
    assert_eq!((code, &check(&told, "configuration")["verdict"]), (Some(1), &"problem".into()));
}

#[test]
fn a_bad_agent_entry_is_named_and_affects_no_other_agent() {
    let install = Install::new().with_daemon();
    let text = "[agents.claude]\nmodle = 'x'\n[agents.mine.acp]\ncommand = 3\n";
    std::fs::write(install.config(), text).expect("write");
    let (code, told) = doctor(&install);
    let found = check(&told, "agents")["finding"].as_str().expect("text").to_owned();
    assert!(
        code == Some(1) && found.contains("agents.claude.modle") && found.contains("agents.mine"),
        "{found}"
    );
    let spawn = |agent: &str| install.tenure(&["sessions", "spawn", "--json", "--agent", agent]);
    let codex: Value = serde_json::from_slice(&spawn("codex").stdout).expect("JSON");
    assert_eq!(codex["session"]["backendId"], "cli", "as without the mistakes");
    for (agent, wrong) in [("claude", "agents.claude.modle"), ("mine", "agents.mine.acp.command")] {
        let output = spawn(agent);
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && why.contains(wrong), "{agent}: {why}");
    }
}

#[test]
fn configured_limits_apply_unless_a_run_sets_its_own() {
    let install = Install::new();
    std::fs::write(install.config(), "[run]\ntimeout = \"200ms\"\ngrace = \"100ms\"\n").expect("write");
    assert_eq!(install.tenure(&["run", "--", "sleep", "1000"]).status.code(), Some(124));
    assert_eq!(install.tenure(&["run", "--timeout", "0", "--", "sleep", "0.4"]).status.code(), Some(0));
}

#[test]
fn a_unit_is_printed_with_a_warning_if_no_service_manager_runs() {
    let install = Install::new();
    let printed = install.tenure(&["daemon", "install", "--user", "--print"]);
    let unit = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert!(
        printed.status.success() && unit.contains("Delegate=yes") && unit.contains("KillMode=process"),
        "{unit}"
    );
    assert!(unit.contains(&format!("\"TENURE_STATE={}\"", install.state().display())), "{unit}");
    if !Path::new("/run/systemd/system").exists() {
        let output = install.tenure(&["daemon", "install", "--user"]);
        assert_eq!((output.status.code(), &output.stdout), (Some(1), &printed.stdout));
        assert!(String::from_utf8_lossy(&output.stderr).contains("systemd does not run here"));
    }
}
