//! Impossible commands are refused in one line, with the right code, and leave nothing.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tenure_core::wire::KeeperMessage;
use tenure_it::install::Install;
use tenure_it::nursery_fixture::NurseryFixture;

/// Asserts that a command line fails with this code and one line that holds these words, in the foreground
/// and in the background, and that no half-made run is left.
#[track_caller]
fn refused(install: &Install, options: &[&str], command: &[&str], code: i32, words: &str) {
    for how in [&["run"][..], &["run", "--bg"], &["run", "--pty"], &["run", "--quiet"]] {
        refused_at(install, &[how, options, &["--"], command].concat(), code, words);
        for id in install.runs() {
            let record = install.show(&id);
            assert_eq!(
                (&record["state"], &record["termination"]["reason"]),
                (&"exited".into(), &"spawn-error".into())
            );
            assert_eq!(record["termination"]["exitCode"], code, "{record}");
        }
        install.assert_no_process_left();
    }
}

#[track_caller]
fn refused_at(install: &Install, args: &[&str], code: i32, words: &str) {
    let output = install.tenure(args);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), err.lines().count()), (Some(code), 1), "{args:?}: {err}");
    assert!(err.starts_with("tenure: ") && err.contains(words), "{args:?}: {err}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{args:?}");
}

fn file(install: &Install, name: &str, content: &str, mode: u32) -> String {
    let path = install.dir().join(name);
    fs::write(&path, content).expect("write");
    fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("chmod");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn an_empty_command_is_refused() {
    let install = Install::new();
    refused(&install, &[], &[""], 125, "empty");
    refused_at(&install, &["run"], 125, "COMMAND");
    refused_at(&install, &["run", "--"], 125, "COMMAND");
    assert_eq!(install.runs(), [""; 0]);
}

#[test]
fn a_missing_directory_is_refused() {
    let install = Install::new();
    refused(&install, &["--cwd", "/no/such/place"], &["true"], 126, "/no/such/place");
    let plain = file(&install, "plain", "", 0o644);
    refused(&install, &["--cwd", &plain], &["true"], 126, "not a directory");
}

#[test]
fn a_missing_program_is_refused() {
    let install = Install::new();
    refused(&install, &[], &["no-such-program-anywhere"], 127, "no-such-program-anywhere");
    refused(&install, &[], &["/no/such/program"], 127, "/no/such/program");
    refused(&install, &[], &["./missing", "argument"], 127, "missing");
    refused(&install, &["--env", "PATH=/nowhere"], &["true"], 127, "true");
}

#[test]
fn a_directory_as_program_is_refused() {
    let install = Install::new();
    refused(&install, &[], &["/tmp"], 126, "directory");
}

#[test]
fn a_file_that_may_not_be_executed_is_refused() {
    let install = Install::new();
    let path = file(&install, "data", "#!/bin/sh\nexit 0\n", 0o644);
    refused(&install, &[], &[&path], 126, "permission denied");
    let install = Install::new().unprivileged().without_cgroup();
    let path = file(&install, "secret", "#!/bin/sh\nexit 0\n", 0o700);
    refused(&install, &[], &[&path], 126, "permission denied");
}

#[test]
fn a_script_with_a_missing_interpreter_is_refused() {
    let install = Install::new();
    let path = file(&install, "script", "#!/no/such/interpreter\n", 0o755);
    refused(&install, &[], &[&path], 126, "interpreter");
}

#[test]
fn a_script_without_an_interpreter_is_run_by_the_shell() {
    let install = Install::new();
    let path = file(&install, "script", "echo \"$1-$2\"\nexit 8\n", 0o755);
    let output = install.tenure(&["run", "--quiet", "--", &path, "a b", "c"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(8), &b"a b-c\n"[..]));
}

#[test]
fn arguments_that_are_just_too_long_are_refused() {
    let install = Install::new();
    // The maximum for a program: together with Tenure's additions to the environment it is too much.
    let block = "x".repeat(100_000);
    let run = |blocks: usize, rest: usize| {
        let last = "y".repeat(rest);
        let mut args = vec!["run", "--", "true"];
        args.extend(std::iter::repeat_n(block.as_str(), blocks));
        args.push(&last);
        install.command(&args).output().ok()
    };
    let largest = |mut fits: usize, mut too_much: usize, run: &dyn Fn(usize) -> bool| {
        while too_much - fits > 1 {
            let middle = usize::midpoint(fits, too_much);
            *(if run(middle) { &mut fits } else { &mut too_much }) = middle;
        }
        fits
    };
    let blocks = largest(0, 80, &|blocks| run(blocks, 0).is_some());
    let fits = largest(0, 100_000, &|rest| run(blocks, rest).is_some());
    let output = run(blocks, fits).expect("it fits");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(126), "{err}");
    assert!(err.lines().count() == 1 && err.contains("too long"), "{err}");
    install.assert_no_process_left();
}

#[test]
fn bad_durations_are_refused() {
    let install = Install::new();
    let limits = ["--timeout", "--no-output-timeout", "--grace", "--orphan-grace"];
    for text in [
        "-1s",
        "-5",
        "1",
        "1.5s",
        "1d",
        "soon",
        "",
        " 1s",
        "1s2",
        "∞",
        "99999999999999999999h",
        "18446744073709551615ms",
    ] {
        for limit in limits {
            refused_at(&install, &["run", limit, text, "--", "true"], 125, limit);
        }
    }
    refused_at(&install, &["wait", "--timeout", "-1s", "whatever"], 125, "--timeout");
    assert_eq!(install.runs(), [""; 0], "nothing was started");
}

#[test]
fn an_invalid_session_key_is_refused_with_and_without_a_daemon() {
    let (alone, served) = (Install::new(), Install::new().with_daemon());
    let keys = [
        ("", "empty"),
        ("/etc", "path"),
        ("agent:", "names no agent"),
        ("a\u{1b}[2J", "invisible character"),
    ];
    for (key, words) in keys {
        refused(&alone, &["--session", key], &["true"], 125, words);
        for how in [&["run"][..], &["run", "--bg"]] {
            refused_at(&served, &[how, &["--session", key, "--", "true"]].concat(), 125, words);
        }
        refused_at(&served, &["exec", "--session", key, "--", "true"], 1, words);
        refused_at(&served, &["mcp", "--session", key], 1, words);
    }
    assert_eq!((alone.runs(), served.runs()), (Vec::new(), Vec::new()));
}

#[test]
fn bad_settings_are_refused() {
    let install = Install::new();
    for (option, text) in
        [("--env", "NAME"), ("--env", "=value"), ("--on-escape", "forgive"), ("--orphan", "adopt")]
    {
        refused_at(&install, &["run", option, text, "--", "true"], 125, text);
    }
    refused_at(&install, &["run", "--activity", "cpu", "--", "true"], 125, "--no-output-timeout");
    refused_at(&install, &["run", "--no-such-option", "--", "true"], 125, "--no-such-option");
    refused_at(&install, &["no-such-verb"], 2, "no-such-verb");
    assert_eq!(install.runs(), [""; 0], "nothing was started");
}

#[test]
fn an_option_after_the_command_belongs_to_the_command() {
    let install = Install::new();
    for dashes in [&[][..], &["--"]] {
        let output =
            install.tenure(&[&["run", "--quiet"], dashes, &["echo", "--quiet", "-n", "--", "x"]].concat());
        assert_eq!(String::from_utf8_lossy(&output.stdout), "--quiet -n -- x\n");
    }
    refused_at(&install, &["run", "--", "--no-such-program"], 127, "--no-such-program");
}

#[test]
fn an_unknown_id_exits_with_4_everywhere() {
    let install = Install::new();
    let id = install.start_in_background(&[], &["true"]);
    assert_eq!(install.wait(&id), 0);
    for text in ["0000dead", "..", "../..", "", "/", "zz"] {
        for verb in ["show", "logs", "wait", "cancel", "tree", "rm"] {
            refused_at(&install, &[verb, "--", text], 4, "id");
        }
        refused_at(&install, &["write", "--", text, "x"], 4, "id");
        refused_at(&install, &["resize", "--", text, "80x24"], 4, "id");
    }
    // Any unique prefix of an id will do.
    assert_eq!(install.show(&id[..6]), install.show(&id));
}

#[test]
fn a_prefix_below_four_characters_ends_and_removes_nothing() {
    let install = Install::new();
    let id = install.start_in_background(&["--orphan-grace", "1h"], &["sleep", "1000"]);
    for text in [&id[..1], &id[..3]] {
        for verb in ["cancel", "rm"] {
            refused_at(&install, &[verb, text], 1, "is too short: give at least 4 characters");
        }
        assert_eq!(install.show(text)["state"], "running", "it can be shown");
    }
    assert!(install.tenure(&["rm", &id[..4]]).status.success());
    assert_eq!(install.runs(), [""; 0]);
}

#[test]
fn an_unusable_state_root_is_refused() {
    let install = Install::new().unprivileged();
    let closed = install.dir().join("closed");
    fs::create_dir(&closed).expect("mkdir");
    fs::set_permissions(&closed, PermissionsExt::from_mode(0o755)).expect("chmod");
    let install = install.with_state(closed.join("state"));
    refused_at(&install, &["run", "--", "true"], 125, "TENURE_STATE");
    refused_at(&install, &["run", "--bg", "--", "true"], 125, "TENURE_STATE");
    refused_at(&install, &["ps"], 1, "TENURE_STATE");
    install.assert_no_process_left();
}

#[test]
fn a_file_as_state_root_is_refused() {
    let install = Install::new();
    let plain = file(&install, "plain", "", 0o644);
    let install = install.with_state(PathBuf::from(plain));
    refused_at(&install, &["run", "--", "true"], 125, "TENURE_STATE");
}

#[test]
fn a_state_root_that_is_not_text_works_or_is_refused_in_one_line() {
    let install = Install::new();
    let odd = install.dir().join(std::ffi::OsStr::from_bytes(b"odd-\xff"));
    let install = install.with_state(odd);
    refused_at(&install, &["run", "--", "true"], 125, "UTF-8");
    install.assert_no_process_left();
}

#[test]
fn a_state_root_longer_than_a_socket_address_works() {
    let install = Install::new();
    let long = install.dir().join("long/".repeat(60)).join("name with spaces");
    assert!(long.as_os_str().len() > 300);
    let install = install.with_state(long);
    let id = install.start_in_background(&["--stdin", "open"], &["cat"]);
    assert!(install.tenure(&["write", &id, "hello"]).status.success());
    install.wait_for_output(&id, "hello");
    install.cancel(&id);
    assert_eq!(install.assert_ended_cleanly(&id)["reason"], "manual-cancel");
    let output = install.tenure(&["run", "--quiet", "--", "echo", "there"]);
    assert_eq!(output.stdout, b"there\n");
}

#[test]
fn a_second_keeper_for_a_run_is_refused_and_the_first_goes_on() {
    let install = Install::new();
    let id = install.start_in_background(&["--stdin", "open"], &["cat"]);
    let directory = install.state().join("runs").join(&id);
    let before = fs::read(directory.join("keeper")).expect("the keeper's note");
    let nursery = NurseryFixture::new(&install);
    let marker = install.dir().join("second");
    let told =
        nursery.launch(directory.to_str().expect("UTF-8"), &["touch", marker.to_str().expect("UTF-8")]);
    assert!(
        matches!(&told, KeeperMessage::Refused { why } if why.contains("already has a keeper")),
        "{told:?}"
    );
    drop(nursery);
    assert!(!marker.exists(), "the second command was never executed");
    assert_eq!(fs::read(directory.join("keeper")).expect("the keeper's note"), before);
    assert!(install.tenure(&["write", "--eof", &id, "still here"]).status.success());
    assert_eq!(install.wait(&id), 0);
    assert_eq!(install.logs(&[&id]), b"still here");
    install.assert_ended_cleanly(&id);
}

#[test]
fn a_keeper_for_a_run_that_has_ended_is_refused() {
    let install = Install::new();
    let id = install.start_in_background(&[], &["true"]);
    assert_eq!(install.wait(&id), 0);
    let directory = install.state().join("runs").join(&id);
    let before = install.show(&id);
    let marker = install.dir().join("again");
    let told = NurseryFixture::new(&install)
        .launch(directory.to_str().expect("UTF-8"), &["touch", marker.to_str().expect("UTF-8")]);
    assert!(matches!(told, KeeperMessage::Refused { .. }), "{told:?}");
    assert_eq!((marker.exists(), install.show(&id)), (false, before));
}

#[test]
fn an_empty_id_matches_no_run_with_and_without_a_daemon() {
    for install in [Install::new(), Install::new().with_daemon()] {
        install.tenure(&["run", "--quiet", "--", "true"]);
        for verb in ["show", "wait", "cancel", "rm", "logs", "tree", "attach", "screen"] {
            refused_at(&install, &[verb, ""], 4, "no run has the id");
        }
        assert_eq!(install.runs().len(), 1, "nothing was removed");
    }
    let install = Install::new().with_daemon();
    refused_at(&install, &["why", ""], 4, "no run has the id");
    refused_at(&install, &["allowlist", "remove", ""], 4, "no entry has the id");
    for verb in ["show", "allow-once", "allow-always", "deny"] {
        refused_at(&install, &["approvals", verb, ""], 4, "no approval request has the id");
    }
    refused_at(&install, &["approvals", "choose", "", "yes"], 4, "no approval request has the id");
    for words in
        [["sessions", "status", ""], ["sessions", "close", ""], ["tasks", "show", ""], ["acp", "close", ""]]
    {
        refused_at(&install, &words, 2, "a value is required");
    }
}

#[test]
fn a_command_without_effect_says_so() {
    let install = Install::new().with_daemon();
    let cases = [
        (["--agent", "nobody"], "agent"),
        (["--scope", "nosuch"], "scope"),
        (["--session", "agent:x:y"], "session"),
    ];
    for (which, what) in cases {
        let output = install.tenure(&[&["cancel"], &which[..]].concat());
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b""[..]), "{err}");
        assert_eq!(err, format!("tenure: {what} {:?} has no live run: nothing was cancelled\n", which[1]));
    }
    let id = install.start_in_background(&["--pty"], &["sleep", "1000"]);
    refused_at(&install, &["send-keys", &id], 2, "no keys");
    refused_at(&install, &["process", "send-keys", &id], 2, "no keys");
    install.cancel(&id);
}
