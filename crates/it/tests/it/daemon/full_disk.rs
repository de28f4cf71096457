//! A full disk costs output in the log, and nothing else.

use serde_json::Value;
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::install::Install;

/// A state root on a disk of its own of this size, in this thread's own mount namespace: however the test
/// ends, nothing stays mounted.
#[expect(unsafe_code, reason = "a mount namespace of the test's own")]
fn on_a_small_disk(size: &str) -> Install {
    let install = Install::new();
    let disk = install.dir().join("disk");
    std::fs::create_dir(&disk).expect("mkdir");
    // SAFETY: only this thread's view of the mounts changes, and nothing else relies on that.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0, "a mount namespace needs root");
    mount(&["--make-rprivate", "/"]);
    mount(&["-t", "tmpfs", "-o", &format!("size={size},mode=0777"), "tmpfs", disk.to_str().expect("UTF-8")]);
    install.with_state(disk.join("state"))
}

#[expect(clippy::disallowed_methods, reason = "the test mounts a disk for itself")]
fn mount(args: &[&str]) {
    assert!(
        std::process::Command::new("mount").args(args).status().expect("mount").success(),
        "mount {args:?}"
    );
}

/// The size of the output: many times the disk.
const MUCH: u64 = 12 << 20;

fn pattern() -> Vec<u8> {
    let install = Install::new();
    let actor = install.actor();
    install.tenure(&["run", "--quiet", "--", &actor, "fill", &MUCH.to_string()]).stdout
}

#[test]
fn the_caller_gets_every_byte_and_the_log_names_its_gap() {
    let install = on_a_small_disk("700k");
    let actor = install.actor();
    let output = install.tenure(&["run", "--", &actor, "fill", &MUCH.to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = pattern();
    assert!(output.stdout == expected, "{} bytes of {}", output.stdout.len(), expected.len());
    let id = install.only_run();
    let record = install.show(&id);
    assert_eq!(
        (&record["state"], &record["termination"]["reason"]),
        (&Value::from("exited"), &Value::from("exit"))
    );
    assert_eq!(record["output"]["bytes"], MUCH);
    let dropped = record["output"]["droppedBytes"].as_u64().expect("a number");
    assert!(dropped > MUCH - (1 << 20) && dropped < MUCH, "{dropped}");
    let logs = install.tenure(&["logs", &id]);
    assert!(logs.status.success());
    assert_eq!(logs.stdout.len() as u64, MUCH - dropped);
    assert!(expected.starts_with(&logs.stdout[..100_000]), "the stored output is the written one");
    assert!(
        String::from_utf8_lossy(&logs.stderr).contains("lost"),
        "{}",
        String::from_utf8_lossy(&logs.stderr)
    );
}

#[test]
fn a_background_command_is_neither_blocked_nor_killed() {
    let install = on_a_small_disk("700k");
    let actor = install.actor();
    let id = install.start_in_background(&[], &[&actor, "fill", &MUCH.to_string()]);
    assert_eq!(install.wait(&id), 0);
    let record = install.show(&id);
    assert_eq!(record["termination"]["reason"], "exit");
    assert_eq!(record["output"]["bytes"], MUCH);
}

#[test]
fn a_cancel_on_a_full_disk_is_confirmed_and_recorded() {
    let install = on_a_small_disk("700k");
    let actor = install.actor();
    let id = install.start_in_background(&["--grace", "200ms"], &[&actor, "flood"]);
    tenure_it::eventually("the disk is full", || {
        let record = install.show(&id);
        record["output"]["droppedBytes"].as_u64().is_some_and(|lost| lost > 0).then_some(())
    });
    install.ask_to_cancel(&[&id]);
    assert_eq!(install.wait(&id), 123);
    assert_eq!(install.show(&id)["termination"]["confirmed"], true);
}

#[test]
fn a_run_without_disk_space_to_start_is_refused_in_one_line() {
    let install = on_a_small_disk("64k");
    let full = install.dir().join("disk/full");
    // The write fails when the disk is full, as intended.
    let _ = std::fs::write(&full, vec![0; 128 << 10]);
    let output = install.tenure(&["run", "--", "echo", "not reached"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(125 | 126)), "{:?} {err}", output.status);
    assert_eq!((output.stdout.len(), err.lines().count()), (0, 1), "{err}");
}

/// Removes the draft of the ending, like a disk that fails at the worst moment.
const SPOIL: &str = "until rm $TENURE_STATE/runs/$TENURE_RUN_ID/ending.* 2>/dev/null; do :; done";

#[test]
fn an_ending_that_cannot_be_written_is_recorded_by_the_daemon() {
    let fixture = DaemonFixture::without_warden();
    let id = fixture.start_in_background(&[], &["sh", "-c", &format!("{SPOIL}; exit 7")]);
    assert_eq!(fixture.wait(&id), 7);
    let record = fixture.show(&id);
    assert_eq!((&record["state"], &record["termination"]["exitCode"]), (&"exited".into(), &7.into()));
    assert!(!fixture.state().join("runs").join(&id).join("ending").exists(), "the disk has none");
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
    fixture.assert_nothing_left();
}

#[test]
fn a_lost_ending_is_not_invented_and_the_run_is_closed() {
    let fixture = DaemonFixture::without_warden();
    let line = format!("read line; {SPOIL}; exit 7");
    let id = fixture.start_in_background(&["--stdin", "open"], &["sh", "-c", &line]);
    fixture.kill();
    assert!(fixture.tenure(&["write", &id, "go\n"]).status.success());
    fixture.wait(&id);
    fixture.start_daemon();
    let ended = fixture.show(&id)["termination"].clone();
    assert_eq!((&ended["reason"], &ended["exitCode"]), (&"owner-lost".into(), &Value::Null), "{ended}");
    assert_eq!(ended["detail"], "ending-unrecorded");
    fixture.finish();
}

/// Fills the rest of the disk with a file that is not Tenure's.
fn fill(install: &Install) {
    // The write fails when the disk is full, as intended.
    let _ = std::fs::write(install.dir().join("disk/full"), vec![0; 32 << 20]);
}

#[test]
fn a_full_disk_is_healed_by_removing_runs_and_a_run_still_starts() {
    let fixture = DaemonFixture::of(on_a_small_disk("16m").with_env("TENURE_HEARTBEAT", "500ms"));
    fixture.start_daemon();
    let ids: Vec<String> = (0..5).map(|_| fixture.start_in_background(&[], &["true"])).collect();
    ids.iter().for_each(|id| assert_eq!(fixture.wait(id), 0));
    fill(&fixture);
    // The write-ahead log can reuse its old space. After that, there is the reserve.
    tenure_it::eventually("the reserve is needed", || {
        let _ = fixture.tenure(&["run", "--", "true"]);
        (!fixture.state().join("reserve").exists()).then_some(())
    });
    for id in &ids {
        let removed = fixture.tenure(&["rm", id]);
        assert!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
    }
    let output = fixture.tenure(&["run", "--", "echo", "started"]);
    assert_eq!(output.stdout, b"started\n", "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::remove_file(fixture.dir().join("disk/full")).expect("it is there");
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
    fixture.start_daemon();
    assert!(fixture.state().join("reserve").exists(), "it is set aside again");
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
}

#[test]
fn output_leaves_room_for_records() {
    let fixture = DaemonFixture::of(on_a_small_disk("16m"));
    fixture.start_daemon();
    let actor = fixture.actor();
    let id = fixture.start_in_background(&[], &[&actor, "flood"]);
    tenure_it::eventually("the log is full", || {
        let record = fixture.show(&id);
        record["output"]["droppedBytes"].as_u64().is_some_and(|lost| lost > (1 << 20)).then_some(())
    });
    let (free, _) = tenure_os::filesystem::space(fixture.state()).expect("a disk");
    assert!(free > 500 << 10, "{free}");
    let output = fixture.tenure(&["run", "--", "echo", "started"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fixture.tenure(&["cancel", "--now", &id]).status.success());
    assert_eq!(fixture.wait(&id), 123);
    assert!(fixture.tenure(&["rm", &id]).status.success());
    assert!(fixture.tenure(&["daemon", "stop"]).status.success());
}

#[test]
fn a_first_start_on_a_full_disk_says_so() {
    let install = on_a_small_disk("4m").with_daemon();
    fill(&install);
    for args in [&["daemon", "start"][..], &["ps"], &["run", "--", "true"], &["daemon", "stop"]] {
        let output = install.tenure(args);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{args:?}");
        assert!(err.contains("the disk of ") && err.contains("is full"), "{args:?}: {err}");
    }
    // Its warden would keep trying, on a disk that only this test sees.
    std::fs::remove_file(install.dir().join("disk/full")).expect("it is there");
    assert!(install.tenure(&["daemon", "start"]).status.success());
    assert!(install.tenure(&["daemon", "stop"]).status.success());
}
