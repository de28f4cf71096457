//! A recorded pid that is somebody else's now, who was made at another time, is never ended.

use std::process::{Child, Command, Stdio};
use tenure_it::TRANSPORTS;
use tenure_it::matrix::book;
use tenure_it::matrix::home::{Home, player};
use tenure_it::matrix::known::Known;

/// A process that looks like a run's root and is none: the same command, the same user, the same names in its environment.
struct Bystander {
    child: Child,
    known: Known,
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
        let book = book::Book::new(dir.path());
        let child = command.env(book::VARIABLE, book.path()).spawn().expect("a player starts");
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
fn a_recorded_pid_that_is_a_strangers_now_is_never_ended() {
    for flags in TRANSPORTS {
        let bystander = Bystander::start();
        let home = Home::new();
        let run = home.play(flags, &["hold"]);
        let players = home.book().wait_for(&run, 1);
        let killed = [home.daemon().expect("a daemon"), home.nursery(&run), home.keeper(&run)];
        killed.iter().for_each(Known::kill);
        killed.iter().chain(&players).for_each(Known::wait_dead);
        home.rewrite_note(&run, |note| note.root.pid = bystander.known.pid());
        home.begin();
        assert_eq!(home.wait(&run), Some(121), "{}", home.termination(&run));
        let ending = home.termination(&run);
        assert_eq!(ending["reason"], "reconciled-stale", "{ending}");
        assert!(!bystander.known.is_dead(), "a stranger was ended: {ending}");
        home.finish();
        assert!(!bystander.known.is_dead(), "a stranger was ended");
    }
}
