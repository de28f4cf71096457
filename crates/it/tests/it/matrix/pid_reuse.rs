//! A recorded pid that was reused by a process with another start time is never killed.

use std::process::{Child, Command, Stdio};
use tenure_it::TRANSPORTS;
use tenure_it::matrix::held_process::HeldProcess;
use tenure_it::matrix::install::{MatrixInstall, player};
use tenure_it::matrix::player_log;

/// A process that looks like a run's root and is none: the same command, the same user, the same names in its
/// environment.
struct Bystander {
    child: Child,
    known: HeldProcess,
    _dir: tempfile::TempDir,
}

impl Bystander {
    #[expect(clippy::disallowed_methods, reason = "a process that is not Tenure's")]
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(player());
        command.arg("hold").stdin(Stdio::null()).stdout(Stdio::null());
        for name in ["TENURE_RUN_ID", "TENURE_LEASE_ID", "TENURE_INSTANCE_ID"] {
            command.env(name, "0123456789abcdef01234567");
        }
        let book = player_log::PlayerLog::new(dir.path());
        let child = command.env(player_log::VARIABLE, book.path()).spawn().expect("a player starts");
        let known = book.wait_for("0123456789abcdef01234567", 1).remove(0);
        assert_eq!(known.pid(), child.id().cast_signed());
        Self { child, known, _dir: dir }
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_recorded_pid_reused_by_a_stranger_is_never_killed() {
    for flags in TRANSPORTS {
        let bystander = Bystander::start();
        let fixture = MatrixInstall::new();
        let run = fixture.play(flags, &["hold"]);
        let players = fixture.book().wait_for(&run, 1);
        let killed = [fixture.daemon().expect("a daemon"), fixture.nursery(&run), fixture.keeper(&run)];
        killed.iter().for_each(HeldProcess::kill);
        killed.iter().chain(&players).for_each(HeldProcess::wait_dead);
        fixture.rewrite_note(&run, |note| note.root.pid = bystander.known.pid());
        fixture.start_daemon();
        assert_eq!(fixture.wait(&run), Some(121), "{}", fixture.termination(&run));
        let ending = fixture.termination(&run);
        assert_eq!(ending["reason"], "reconciled-stale", "{ending}");
        assert!(!bystander.known.is_dead(), "a stranger was ended: {ending}");
        fixture.finish();
        assert!(!bystander.known.is_dead(), "a stranger was ended");
    }
}
