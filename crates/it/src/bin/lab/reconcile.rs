//! A daemon that returns to a run whose processes are all dead, and whose pids are reused.

use crate::reuse::{begin, end_stranger};
use crate::stranger::{Stranger, reap};
use rustix::process::Signal;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use tenure_it::background_run::BackgroundRun;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::{eventually, proc};

/// Starts a daemon in the foreground, which has no threads of ours.
#[expect(clippy::zombie_processes, reason = "it is buried by pid")]
fn daemon(install: &Install) -> HeldProcess {
    let mut command = install.command(&["daemon", "run"]);
    let child: Child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a daemon starts");
    let socket = install.state().join("daemon.sock");
    eventually("a daemon", || UnixStream::connect(&socket).is_ok().then_some(()));
    HeldProcess::hold(child.id().cast_signed()).expect("a daemon")
}

fn end(daemon: &HeldProcess) {
    daemon.send(Signal::KILL);
    reap(daemon.pid);
}

pub(crate) fn strangers_with_the_pids_of_a_run_are_left_alone() {
    let alone = begin();
    for install in [Install::new(), Install::new().without_cgroup()] {
        let first = daemon(&install);
        let run = BackgroundRun::start(&install, &[], &["child", "setsid", "sleep"]);
        let pids: Vec<i32> =
            [&run.nursery, &run.keeper].into_iter().chain(&run.members).map(|one| one.pid).collect();
        end(&first);
        run.kill(&[&run.nursery, &run.keeper]);
        run.members.iter().for_each(|member| member.send(Signal::KILL));
        for &pid in &pids {
            eventually("a free pid", || proc::stat(pid).is_none().then_some(()));
        }
        let strangers: Vec<Stranger> = pids.iter().map(|&pid| Stranger::at(&alone, pid)).collect();
        let second = daemon(&install);
        let id = run.dir.id().as_str();
        let shown = eventually("an ending", || {
            let shown = install.show(id);
            (shown["state"] == "exited").then_some(shown)
        });
        let ending = &shown["termination"];
        assert_eq!(ending["reason"], "reconciled-stale", "{ending}");
        assert_eq!(ending["detail"], "its root is gone and its pid is another's", "{ending}");
        install.tenure(&["cancel", "--now", id]);
        install.tenure(&["reap"]);
        strangers.iter().for_each(Stranger::assert_untouched);
        let nursery = proc::children(second.pid);
        end(&second);
        for pid in nursery {
            eventually("the end of its nursery", || proc::stat(pid).is_none().then_some(()));
        }
        tenure_it::leftovers::forget(&install);
        pids.into_iter().for_each(end_stranger);
    }
}
