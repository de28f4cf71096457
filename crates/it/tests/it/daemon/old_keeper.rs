//! A keeper of an older Tenure under a newer daemon, which uses only the keeper's own protocol version.

use std::path::PathBuf;
use tenure_it::api::Api;
use tenure_it::child_program::ChildProgram;
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_it::namespace::laboratory;
use tenure_it::owned_daemon::OwnedDaemon;

/// A run under a keeper of version one, and the requests that the keeper got.
struct Old {
    run: String,
    keeper: ChildProgram,
    record: PathBuf,
}

impl Old {
    /// The directory is of a run that was started without a daemon; all but its ticket is the old keeper's.
    #[track_caller]
    fn start(install: &Install, flags: &[&str]) -> Self {
        let run = install.start_in_background(flags, &["sleep", "600"]);
        install.cancel(&run);
        let path = install.state().join("runs").join(&run);
        eventually("its keeper is gone", || (!path.join("ctl.sock").exists()).then_some(()));
        for entry in std::fs::read_dir(&path).expect("a directory").flatten() {
            if entry.path().is_dir() {
                std::fs::remove_dir_all(entry.path()).expect("removed");
            } else if entry.file_name() != "ticket" {
                std::fs::remove_file(entry.path()).expect("removed");
            }
        }
        let record = install.dir().join("asked");
        let words = ["old-keeper", path.to_str().expect("UTF-8"), record.to_str().expect("UTF-8")];
        let mut keeper = ChildProgram::new(laboratory(&words));
        keeper.wait_for("ready");
        Self { run, keeper, record }
    }

    /// Its requests, in one text.
    fn asked(&self) -> String {
        std::fs::read_to_string(&self.record).unwrap_or_default()
    }

    #[track_caller]
    fn assert_was_asked_in_its_own_words(&self) {
        let asked = self.asked();
        for word in ["unfollow", "abandon", "type"] {
            assert!(!asked.contains(&format!("\"ask\":\"{word}\"")), "{word}: {asked}");
        }
        assert!(asked.contains("\"version\":1"), "{asked}");
    }
}

/// Follows a run's output through the daemon until it holds this text, and hangs up.
#[track_caller]
fn follow(served: &OwnedDaemon, run: &str, text: &str) {
    let api = Api::Local(served.install.state().join("daemon.sock"));
    api.follow(&format!("/v1/runs/{run}/output?follow=true"), &[]).wait_for(text);
}

#[test]
fn an_old_keeper_can_be_resumed_followed_and_cancelled_and_its_ending_is_recorded() {
    let install = Install::new().without_cgroup();
    let mut old = Old::start(&install, &[]);
    let mut served = OwnedDaemon::start(install);
    let run = old.run.clone();
    served.assert_judged(&run, &["resume"]);
    assert_eq!(served.install.show(&run)["state"], "running");
    follow(&served, &run, "followed");
    // The end of following is not sent; the next request is.
    assert_eq!(served.install.logs(&[&run]), b"old\nfollowed\n");
    assert_eq!(served.install.tenure(&["send-keys", &run, "Enter"]).status.code(), Some(1));
    served.kill();
    served.restart();
    served.assert_judged(&run, &["resume", "resume"]);
    served.install.cancel(&run);
    let ending = served.ending(&run);
    assert_eq!((&ending["reason"], &ending["signal"]), (&"manual-cancel".into(), &15.into()), "{ending}");
    assert_eq!(served.events_of(&run, "run-ended").len(), 1);
    assert_eq!(old.keeper.code(), 0);
    old.assert_was_asked_in_its_own_words();
    assert!(old.asked().contains("\"ask\":\"follow\""), "{}", old.asked());
}

#[test]
fn an_old_keeper_of_a_lost_owner_is_cancelled_in_its_own_protocol_version() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("registry.db");
    let thief = OwnedDaemon::start(OwnedDaemon::sharing(&path));
    let install = OwnedDaemon::sharing(&path).without_cgroup();
    let mut old = Old::start(&install, &["--orphan", "terminate"]);
    let mut owner = OwnedDaemon::start(install);
    owner.assert_judged(&old.run, &["resume"]);
    owner.kill();
    assert_eq!(thief.ending(&old.run)["confirmed"], true);
    assert_eq!(thief.install.show(&old.run)["leaseEpoch"], 2);
    assert_eq!(old.keeper.code(), 0);
    old.assert_was_asked_in_its_own_words();
    assert!(old.asked().contains("\"epoch\":2"), "the thief came as the holder: {}", old.asked());
}

#[test]
fn an_old_keeper_continues_after_a_deliberate_daemon_stop() {
    let install = Install::new().without_cgroup();
    let mut old = Old::start(&install, &[]);
    let mut served = OwnedDaemon::start(install);
    served.stop();
    eventually("it is released", || old.asked().contains("\"ask\":\"release\"").then_some(()));
    assert!(old.keeper.ended().is_none());
    served.restart();
    served.install.cancel(&old.run);
    assert_eq!(old.keeper.code(), 0);
    old.assert_was_asked_in_its_own_words();
}
