//! A keeper that an older Tenure started goes on under a newer daemon, which tells it only what it has words for.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use tenure_it::eventually;
use tenure_it::install::Install;
use tenure_it::namespace::laboratory;
use tenure_it::served::Served;
use tenure_it::started::Started;

/// A run that a keeper of version one keeps, and what that is asked.
struct Old {
    run: String,
    keeper: Started,
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
        let mut keeper = Started::new(laboratory(&words));
        keeper.wait_for("ready");
        Self { run, keeper, record }
    }

    /// What it was asked, in one text.
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
fn follow(served: &Served, run: &str, text: &str) {
    let mut stream = UnixStream::connect(served.install.state().join("daemon.sock")).expect("a daemon");
    stream.set_read_timeout(Some(tenure_it::PATIENCE)).expect("a timeout");
    let request = format!("GET /v1/runs/{run}/output?follow=true HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("asked");
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains(text) {
        let mut chunk = [0; 4096];
        let n = stream.read(&mut chunk).expect("an answer");
        assert!(n > 0, "no {text:?}: {}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&chunk[..n]);
    }
}

#[test]
fn an_old_keeper_is_resumed_followed_cancelled_and_its_ending_taken() {
    let install = Install::new().without_cgroup();
    let mut old = Old::start(&install, &[]);
    let mut served = Served::start(install);
    let run = old.run.clone();
    served.assert_judged(&run, &["resume"]);
    assert_eq!(served.install.show(&run)["state"], "running");
    follow(&served, &run, "followed");
    // That nobody follows any more is not said; the next word is.
    assert_eq!(served.install.logs(&[&run]), b"old\nfollowed\n");
    assert_eq!(served.install.tenure(&["send-keys", &run, "Enter"]).status.code(), Some(1));
    served.kill();
    served.restart();
    served.assert_judged(&run, &["resume", "resume"]);
    served.install.cancel(&run);
    let ending = served.ending(&run);
    assert_eq!((&ending["reason"], &ending["signal"]), (&"manual-cancel".into(), &15.into()), "{ending}");
    assert_eq!(served.told(&run, "run-ended").len(), 1);
    assert_eq!(old.keeper.code(), 0);
    old.assert_was_asked_in_its_own_words();
    assert!(old.asked().contains("\"ask\":\"follow\""), "{}", old.asked());
}

#[test]
fn an_old_keeper_of_a_lost_owner_is_asked_to_end_in_the_words_that_it_has() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("registry.db");
    let thief = Served::start(Served::sharing(&path));
    let install = Served::sharing(&path).without_cgroup();
    let mut old = Old::start(&install, &["--orphan", "terminate"]);
    let mut owner = Served::start(install);
    owner.assert_judged(&old.run, &["resume"]);
    owner.kill();
    assert_eq!(thief.ending(&old.run)["confirmed"], true);
    assert_eq!(thief.install.show(&old.run)["leaseEpoch"], 2);
    assert_eq!(old.keeper.code(), 0);
    old.assert_was_asked_in_its_own_words();
    assert!(old.asked().contains("\"epoch\":2"), "the thief came as the holder: {}", old.asked());
}

#[test]
fn an_old_keeper_goes_on_after_the_daemon_is_stopped_on_purpose() {
    let install = Install::new().without_cgroup();
    let mut old = Old::start(&install, &[]);
    let mut served = Served::start(install);
    served.stop();
    eventually("it is released", || old.asked().contains("\"ask\":\"release\"").then_some(()));
    assert!(old.keeper.ended().is_none());
    served.restart();
    served.install.cancel(&old.run);
    assert_eq!(old.keeper.code(), 0);
    old.assert_was_asked_in_its_own_words();
}
