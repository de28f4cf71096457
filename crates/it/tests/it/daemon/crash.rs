//! kill -9 of the caller, the nursery, the keeper and any two or all three of them, at every pause point: nothing is
//! left, nobody else is signalled, and the run has one ending, by whoever was left to write it. Only where nobody
//! was left does it wait for a later look at its directory.

use rustix::process::Signal;
use std::path::PathBuf;
use std::time::Duration;
use tenure_core::ending::Reason;
use tenure_core::record::{Boundary, KeeperNote};
use tenure_it::bystander::{Bystander, has_role};
use tenure_it::install::Install;
use tenure_it::known::Known;
use tenure_it::pauses::{CHOICES, Holder, Paused};
use tenure_it::witness::Witness;
use tenure_it::{eventually, proc, remains, within};
use tenure_keeper::forsaken::Forsaken;
use tenure_keeper::rundir::RunDir;
use tenure_keeper::salvage;
use tenure_os::pause;

/// The grace that the runs are started with.
const GRACE: &str = "100ms";
/// Within what everything is gone: the grace and whatever a busy machine needs.
const LIMIT: Duration = Duration::from_secs(15);

/// What the command is.
#[derive(Debug, Clone, Copy)]
struct Tree {
    /// What the root does beside waiting, or leaving.
    words: &'static [&'static str],
    /// Whether the lease is in the environment of everybody whom the root starts.
    marked: bool,
}

const TREES: [Tree; 3] = [
    Tree { words: &["tree"], marked: true },
    Tree { words: &["setsid", "ignore-term", "sleep"], marked: true },
    Tree { words: &["clear-env", "ignore-term", "sleep"], marked: false },
];

/// What must become of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Whoever is left ends it, for this reason.
    Ends(Reason),
    /// It is as well as before.
    GoesOn,
    /// Nobody is left who knew of it, and nothing of it was started.
    NeverStarted,
    /// Nobody is left, but what is left of it can be found.
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
        // A caller that cannot launch says so; a dead one says nothing.
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

/// One run, one point, one choice of victims.
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

    /// From here on the command has ended by itself, so it must be one that does.
    fn leaves(&self) -> bool {
        ["keeper-root-exited", "keeper-before-ending", "keeper-after-ending"].contains(&self.point)
    }

    /// The root's verb, which is ready when everybody is there.
    fn verb(&self) -> &'static str {
        if self.leaves() { "leave" } else { "child" }
    }

    fn pause(&self) -> Paused {
        let actor = self.install.actor();
        let mut args =
            vec!["run", "--grace", GRACE, "--on-escape", "reap", "--quiet", "--", &actor, "--pids", "pids"];
        args.push(self.verb());
        args.extend(self.tree.words);
        Paused::start(&self.install, self.point, &args, &[("ACTOR_WITNESS", self.witness.path())])
    }

    fn wait_for_tree(&self) {
        eventually("the tree", || has_role(&self.pids, self.verb()).then_some(()));
    }

    fn play(&self, bystanders: &[Bystander]) {
        let mut paused = self.pause();
        // Only a root that was let through the gate and does not stand still itself gets as far as that.
        if ["keeper-released", "keeper-started"].contains(&self.point) {
            self.wait_for_tree();
        }
        let members: Vec<Known> =
            proc::descendants(paused.cli.pid()).into_iter().filter_map(Known::hold).collect();
        let dir =
            RunDir::open(&self.install.state().join("runs").join(self.install.only_run())).expect("the run");
        paused.kill(self.victims);
        let fate = fate(self.point, self.victims);
        match fate {
            Fate::GoesOn => {
                self.wait_for_tree();
                eventually("a control socket", || dir.path().join("ctl.sock").exists().then_some(()));
                assert!(!self.witness.all_dead(), "the run goes on");
                let cancel = self.install.tenure(&["cancel", dir.id().as_str()]);
                assert!(cancel.status.success(), "{cancel:?}");
            }
            Fate::Abandoned => self.salvage(&dir, &members),
            Fate::Ends(_) | Fate::NeverStarted => {}
        }
        let code = (!self.victims.contains(&Holder::Cli)).then(|| paused.cli.code());
        paused.everybody().iter().chain(&members).for_each(|process| process.wait_dead(LIMIT));
        within(LIMIT, "an end of all that names the state root", || {
            remains::processes(&self.install).is_empty().then_some(())
        });
        self.witness.wait_nobody(LIMIT);
        if self.victims.len() == 3 {
            // Nobody was left to clear away: that is for the later look too.
            salvage::tidy(dir.path());
        }
        self.check_records(&dir, fate, code);
        bystanders.iter().for_each(Bystander::assert_untouched);
        remains::forget(&self.install);
    }

    /// A later look at the directory finds the rest by cgroup, or by the lease in the environment. Whoever has
    /// neither is beyond it, and is the test's to end.
    fn salvage(&self, dir: &RunDir, members: &[Known]) {
        let ticket = dir.ticket().expect("a ticket");
        let has_cgroup =
            dir.note().expect("a note").is_some_and(|note| matches!(note.boundary, Boundary::Cgroup { .. }));
        assert_eq!(dir.ending().expect("no torn ending"), None, "an abandoned run has no ending");
        let forsaken = Forsaken::read(RunDir::open(dir.path()).expect("the run"), ticket).expect("records");
        let how = forsaken.keeper_killed();
        forsaken.close(how).expect("an ending");
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
        // A command executes only after there is a note, so without one nobody lost anything.
        let noted = dir.note().expect("a note that is whole").is_some();
        let expected = expected
            .map(|reason| if reason == Reason::OwnerLost && !noted { Reason::SpawnError } else { reason });
        assert_eq!(reason, expected, "{ending:?}");
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
        assert_eq!(remains::locks(&self.install), Vec::<String>::new(), "locks are held");
        assert_eq!(remains::groups(&self.install), Vec::<PathBuf>::new(), "control groups are left");
        assert!(!dir.path().join("ctl.sock").exists(), "a socket is left");
    }
}

/// All choices of victims that differ at this point: some are not there yet.
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

/// A user without rights has no cgroup. What nobody is left to end is left out: a look at another user's runs is
/// not what the test's own user may have.
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
