//! kill -9 of the caller, the nursery, the keeper and any two or all three of them, at every pause point: nothing is
//! left, no other process is signalled, and the run has one ending, written by the survivors. Only without survivors
//! does it wait for a later reconcile of its directory.

use rustix::process::Signal;
use std::path::PathBuf;
use std::time::Duration;
use tenure_core::ending::Reason;
use tenure_core::record::{Boundary, KeeperNote};
use tenure_it::bystander::{Bystander, has_role};
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::paused_run::{CHOICES, Holder, PausedRun};
use tenure_it::witness::Witness;
use tenure_it::{eventually, leftovers, proc, within};
use tenure_keeper::orphaned;
use tenure_keeper::orphaned::by_daemon::OrphanedRun;
use tenure_keeper::rundir::RunDir;
use tenure_os::pause;

/// The grace of the runs.
const GRACE: &str = "100ms";
/// Time limit until everything is gone: the grace, and the slowness of a busy machine.
const LIMIT: Duration = Duration::from_secs(15);

/// The command of a case.
#[derive(Debug, Clone, Copy)]
struct Tree {
    /// Verbs of the root, beside waiting or exiting.
    words: &'static [&'static str],
    /// True if all descendants have the lease in their environment.
    marked: bool,
}

const TREES: [Tree; 3] = [
    Tree { words: &["tree"], marked: true },
    Tree { words: &["setsid", "ignore-term", "sleep"], marked: true },
    Tree { words: &["clear-env", "ignore-term", "sleep"], marked: false },
];

/// Expected outcome of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// A survivor ends it, for this reason.
    Ends(Reason),
    /// The run is unharmed.
    GoesOn,
    /// No process that knew of it is left, and none of its own was started.
    NeverStarted,
    /// No holder is left, but its processes can be found.
    Abandoned,
}

fn fate(point: &str, victims: &[Holder]) -> Fate {
    use Holder::{Cli, Keeper, Nursery};
    let passed = |earlier: &str| {
        let place = |name: &str| pause::POINTS.iter().position(|&one| one == name).expect("a pause point");
        place(point) >= place(earlier)
    };
    let dead = |holder| victims.contains(&holder);
    if point == "caller-before-launch" {
        // A caller that cannot launch prints so; a dead one prints nothing.
        return if dead(Cli) { Fate::NeverStarted } else { Fate::Ends(Reason::SpawnError) };
    }
    if point == "nursery-before-fork" {
        return if dead(Cli) && dead(Nursery) { Fate::NeverStarted } else { Fate::Ends(Reason::OwnerLost) };
    }
    match (dead(Cli), dead(Nursery), dead(Keeper)) {
        _ if passed("keeper-after-ending") => Fate::Ends(Reason::Exit),
        (true, true, true) => Fate::Abandoned,
        (_, _, true) => Fate::Ends(Reason::OwnerLost),
        _ if passed("keeper-root-exited") => Fate::Ends(Reason::Exit),
        (true, _, false) => Fate::Ends(Reason::OwnerLost),
        (false, _, false) => Fate::GoesOn,
    }
}

/// A run, a pause point and a choice of victims.
struct Case {
    install: Install,
    point: &'static str,
    victims: &'static [Holder],
    tree: Tree,
    witness: Witness,
    pids: PathBuf,
}

impl Case {
    fn new(install: Install, point: &'static str, victims: &'static [Holder], tree: Tree) -> Self {
        let witness = Witness::new(install.dir());
        let pids = install.dir().join("pids");
        Self { install, point, victims, tree, witness, pids }
    }

    /// True if the command has ended by itself at this point, so it must be one that does.
    fn leaves(&self) -> bool {
        ["keeper-root-exited", "keeper-before-ending", "keeper-after-ending"].contains(&self.point)
    }

    /// The root's verb, which is ready when the whole tree is.
    fn verb(&self) -> &'static str {
        if self.leaves() { "leave" } else { "child" }
    }

    fn pause(&self) -> PausedRun {
        let actor = self.install.actor();
        let mut args =
            vec!["run", "--grace", GRACE, "--on-escape", "reap", "--quiet", "--", &actor, "--pids", "pids"];
        args.push(self.verb());
        args.extend(self.tree.words);
        PausedRun::start(&self.install, self.point, &args, &[("ACTOR_WITNESS", self.witness.path())])
    }

    fn wait_for_tree(&self) {
        eventually("the tree", || has_role(&self.pids, self.verb()).then_some(()));
    }

    fn play(&self, bystanders: &[Bystander]) {
        let mut paused = self.pause();
        // Only a root that passed the gate and is not paused itself gets that far.
        if ["keeper-released", "keeper-started"].contains(&self.point) {
            self.wait_for_tree();
        }
        let members: Vec<HeldProcess> =
            proc::descendants(paused.cli.pid()).into_iter().filter_map(HeldProcess::hold).collect();
        let dir =
            RunDir::open(&self.install.state().join("runs").join(self.install.only_run())).expect("the run");
        paused.kill(self.victims);
        let fate = fate(self.point, self.victims);
        match fate {
            Fate::GoesOn => {
                self.wait_for_tree();
                eventually("a control socket", || dir.path().join("ctl.sock").exists().then_some(()));
                assert!(!self.witness.all_dead(), "the run is alive");
                let cancel = self.install.tenure(&["cancel", dir.id().as_str()]);
                assert!(cancel.status.success(), "{cancel:?}");
            }
            Fate::Abandoned => self.salvage(&dir, &members),
            Fate::Ends(_) | Fate::NeverStarted => {}
        }
        let code = (!self.victims.contains(&Holder::Cli)).then(|| paused.cli.code());
        paused.all_processes().iter().chain(&members).for_each(|process| process.wait_dead(LIMIT));
        within(LIMIT, "the end of all processes that name the state root", || {
            leftovers::processes(&self.install).is_empty().then_some(())
        });
        self.witness.wait_nobody(LIMIT);
        if self.victims.len() == 3 {
            // Cleanup without survivors is left to the later reconcile too.
            orphaned::clean_up(dir.path());
        }
        self.check_records(&dir, fate, code);
        bystanders.iter().for_each(Bystander::assert_untouched);
        leftovers::forget(&self.install);
    }

    /// A later reconcile of the directory finds the rest by cgroup, or by the lease in the environment. A
    /// process with neither is out of reach, and the test kills it.
    fn salvage(&self, dir: &RunDir, members: &[HeldProcess]) {
        let ticket = dir.ticket().expect("a ticket");
        let has_cgroup =
            dir.note().expect("a note").is_some_and(|note| matches!(note.boundary, Boundary::Cgroup { .. }));
        assert_eq!(dir.ending().expect("no torn ending"), None, "an abandoned run has no ending");
        let run = OrphanedRun::read(RunDir::open(dir.path()).expect("the run"), &ticket).expect("records");
        let how = run.keeper_killed();
        run.close(how).expect("an ending");
        if !has_cgroup && !self.tree.marked {
            for member in members {
                member.send(Signal::KILL);
            }
        }
    }

    fn check_records(&self, dir: &RunDir, fate: Fate, code: Option<i32>) {
        let ending = dir.ending().expect("an ending that is whole");
        let reason = ending.as_ref().map(|ending| ending.termination.reason);
        let expected = match fate {
            Fate::Ends(reason) => Some(reason),
            Fate::GoesOn => Some(Reason::ManualCancel),
            Fate::Abandoned => Some(Reason::OwnerLost),
            Fate::NeverStarted => None,
        };
        // A command executes only after its note, so without one nothing was lost.
        let noted = dir.note().expect("a note that is whole").is_some();
        let expected = expected
            .map(|reason| if reason == Reason::OwnerLost && !noted { Reason::SpawnError } else { reason });
        assert_eq!(reason, expected, "{ending:?}; the caller exited with {code:?}");
        let shown = self.install.show(dir.id().as_str());
        assert_eq!(
            shown["termination"]["reason"].as_str(),
            expected.map(|reason| reason.to_string()).as_deref()
        );
        let state = if expected.is_some() { "exited" } else { "starting" };
        assert_eq!(shown["state"], state);
        if let Some(ending) = ending {
            let note = dir.note().expect("a note that is whole");
            let has_cgroup = |note: &KeeperNote| matches!(note.boundary, Boundary::Cgroup { .. });
            let sure = fate != Fate::Abandoned || note.as_ref().is_none_or(has_cgroup);
            assert_eq!(ending.termination.confirmed, sure, "{ending:?}");
            if let Some(code) = code {
                let expected = if fate == Fate::Ends(Reason::SpawnError) {
                    125
                } else {
                    ending.termination.code().into()
                };
                assert_eq!(code, expected, "the caller's exit code");
            }
        }
        assert_eq!(leftovers::locks(&self.install), Vec::<String>::new(), "locks are held");
        assert_eq!(leftovers::groups(&self.install), Vec::<PathBuf>::new(), "control groups are left");
        assert!(!dir.path().join("ctl.sock").exists(), "a socket is left");
    }
}

/// All choices of victims that differ at this point: some do not exist yet.
fn choices(point: &str) -> impl Iterator<Item = &'static [Holder]> {
    let no_keeper = ["caller-before-launch", "nursery-before-fork"].contains(&point);
    CHOICES.into_iter().filter(move |victims| !no_keeper || !victims.contains(&Holder::Keeper))
}

fn bystanders() -> Vec<Bystander> {
    TREES
        .iter()
        .map(|tree| Bystander::start(&[&["--pids", "pids", "child"], tree.words].concat(), "child"))
        .collect()
}

/// Plays all choices of victims at one point.
fn play_all(point: &'static str, trees: &[Tree], install: fn() -> Install) {
    let bystanders = bystanders();
    for victims in choices(point) {
        for &tree in trees {
            eprintln!("{point}: {victims:?} die, of {:?}", tree.words);
            Case::new(install(), point, victims, tree).play(&bystanders);
        }
    }
}

macro_rules! at_every_point {
    ($($name:ident: $point:literal,)*) => {
        const TESTED: &[&str] = &[$($point),*];

        mod with_a_cgroup {
            use super::*;
            $(#[test] fn $name() { play_all($point, &TREES, Install::new) })*
        }
        mod without_a_cgroup {
            use super::*;
            $(#[test] fn $name() { play_all($point, &TREES, || Install::new().without_cgroup()) })*
        }
        mod unprivileged {
            use super::*;
            $(#[test] fn $name() { play_unprivileged($point) })*
        }
    };
}

at_every_point! {
    before_a_launch: "caller-before-launch",
    before_a_keeper_is_forked: "nursery-before-fork",
    before_a_keeper_has_a_session: "keeper-begun",
    when_a_keeper_has_its_lock: "keeper-locked",
    when_a_root_is_forked: "keeper-root-forked",
    when_a_root_waits_at_the_gate: "root-before-gate",
    when_a_root_is_noted: "keeper-note-written",
    when_a_root_is_about_to_execute: "root-before-exec",
    when_the_gate_was_opened: "keeper-released",
    when_the_command_executes: "keeper-started",
    when_the_root_has_exited: "keeper-root-exited",
    before_the_ending: "keeper-before-ending",
    after_the_ending: "keeper-after-ending",
}

/// An unprivileged user has no cgroup. Cases without survivors are left out: the test's own user may not
/// reconcile another user's runs.
fn play_unprivileged(point: &'static str) {
    let bystanders = bystanders();
    let ended = choices(point).filter(|victims| fate(point, victims) != Fate::Abandoned);
    for victims in ended {
        let tree = TREES[1];
        eprintln!("{point}: {victims:?} die, of {:?}", tree.words);
        Case::new(Install::new().unprivileged(), point, victims, tree).play(&bystanders);
    }
}

#[test]
fn every_pause_point_is_tested() {
    assert_eq!(TESTED, pause::POINTS);
}
