//! Nothing is left: every kind of process tree × every way to end a run × with and without cgroup and rights.

use rustix::process::Signal;
use std::time::Duration;
use tenure_it::install::Install;
use tenure_it::started::Started;
use tenure_it::witness::Witness;
use tenure_it::{at_some_pace, millis, proc};

type Place = fn() -> Install;
type Tree = &'static [&'static str];

/// The trees, as the actor's words. The first word is what is ready when all are.
#[allow(non_upper_case_globals, reason = "they name tests")]
mod tree {
    use super::Tree;
    pub(super) const a_family: Tree = &["tree"];
    pub(super) const a_child_ignoring_term: Tree = &["child", "ignore-term", "sleep"];
    pub(super) const ones_ignoring_everything: Tree = &["ignore-all", "tree"];
    pub(super) const a_setsid_grandchild: Tree = &["child", "setsid", "sleep"];
    pub(super) const a_daemon: Tree = &["daemon", "sleep"];
    pub(super) const a_stranger_to_see: Tree = &["child", "clear-env", "sleep"];
    pub(super) const a_hopper: Tree = &["hop"];
    pub(super) const a_hopper_of_sessions: Tree = &["hop", "--setsid"];
    pub(super) const a_bomb: Tree = &["bomb", "--limit", "40"];
    pub(super) const a_bomb_of_sessions: Tree = &["bomb", "--setsid", "--limit", "40"];
    pub(super) const one_reforking_at_term: Tree = &["refork"];
    pub(super) const one_reforking_in_its_session: Tree = &["setsid", "refork"];
    pub(super) const a_browser: Tree = &["chrome-like", "3"];
}

/// What roots leave behind when they exit with zero.
#[allow(non_upper_case_globals, reason = "they name tests")]
mod left {
    use super::Tree;
    pub(super) const a_sleeper: Tree = &["leave", "sleep"];
    pub(super) const a_family: Tree = &["leave", "tree"];
    pub(super) const one_ignoring_term: Tree = &["leave", "ignore-term", "sleep"];
    pub(super) const ones_ignoring_everything: Tree = &["leave", "ignore-all", "tree"];
    pub(super) const a_hopper: Tree = &["hop", "--root-exits"];
    pub(super) const a_bomb: Tree = &["leave", "bomb", "--limit", "40"];
    pub(super) const one_reforking_at_term: Tree = &["leave", "refork"];
    pub(super) const a_setsid_grandchild: Tree = &["leave", "setsid", "sleep"];
    pub(super) const a_daemon: Tree = &["daemon", "--exit", "0", "sleep"];
    pub(super) const a_stranger_to_see: Tree = &["leave", "clear-env", "sleep"];
    pub(super) const a_hopper_of_sessions: Tree = &["hop", "--setsid", "--root-exits"];
    pub(super) const a_bomb_of_sessions: Tree = &["leave", "bomb", "--setsid", "--limit", "40"];
    pub(super) const one_reforking_in_its_session: Tree = &["leave", "setsid", "refork"];
    pub(super) const a_browser: Tree = &["leave", "chrome-like", "3"];
}

/// How long the trees may take to leave when asked.
const GRACE: &[&str] = &["--grace", "200ms"];

/// One tree in one installation, with a witness of its death.
struct Case {
    install: Install,
    witness: Witness,
    tree: Tree,
}

impl Case {
    fn new(place: Place, tree: Tree) -> Self {
        let install = place();
        let witness = Witness::new(install.dir());
        Self { install, witness, tree }
    }

    fn command(&self) -> Vec<String> {
        let witness = self.witness.path().to_str().expect("UTF-8").to_owned();
        let words = self.tree.iter().map(ToString::to_string);
        [self.install.actor(), "--witness".to_owned(), witness].into_iter().chain(words).collect()
    }

    fn ready(&self) -> String {
        format!("ready {}\n", self.tree[0])
    }

    /// The tree under a foreground run, all of it there.
    fn foreground(&self, options: &[&str]) -> Started {
        let mut started = self.start(options);
        started.wait_for(&self.ready());
        started
    }

    fn start(&self, options: &[&str]) -> Started {
        let command = self.command();
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        self.install.start(&[&["run"], GRACE, options, &["--"], &command[..]].concat())
    }

    /// The tree under a background run, which may still grow.
    fn background(&self, options: &[&str]) -> String {
        let command = self.command();
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        self.install.start_in_background(&[GRACE, options].concat(), &command)
    }

    /// The end was told: in this very moment everybody is dead, and the record says why.
    #[track_caller]
    fn is_over(&self, code: (i32, i32), id: &str, reason: &str) {
        assert!(self.witness.all_dead(), "the end was told while a process lived");
        let (seen, expected) = code;
        let ending = self.install.assert_ended_whole(id);
        assert_eq!(ending["reason"], reason, "{ending}");
        assert_eq!(seen, expected, "{ending}");
    }
}

fn cancelled(place: Place, tree: Tree) {
    let case = Case::new(place, tree);
    let id = case.background(&[]);
    case.install.wait_for_output(&id, &case.ready());
    let record = case.install.show(&id);
    assert_eq!(record["state"], "running");
    case.install.assert_boundary(&record);
    case.install.ask_to_cancel(&[&id]);
    case.is_over((case.install.wait(&id), 123), &id, "manual-cancel");
}

fn cancelled_in_the_foreground(place: Place, tree: Tree) {
    let case = Case::new(place, tree);
    let mut run = case.foreground(&[]);
    let id = case.install.only_run();
    case.install.ask_to_cancel(&[&id]);
    case.is_over((run.code(), 123), &id, "manual-cancel");
}

fn its_caller_gets_sigterm(place: Place, tree: Tree) {
    its_caller_gets(Signal::TERM, place, tree);
}

fn its_caller_gets_sigint(place: Place, tree: Tree) {
    its_caller_gets(Signal::INT, place, tree);
}

fn its_caller_gets(signal: Signal, place: Place, tree: Tree) {
    let case = Case::new(place, tree);
    let mut run = case.foreground(&[]);
    proc::send(run.pid(), signal);
    case.is_over((run.code(), 123), &case.install.only_run(), "manual-cancel");
}

fn its_time_is_up(place: Place, tree: Tree) {
    is_ended_by("--timeout", "overall-timeout", place, tree);
}

fn it_is_silent_for_too_long(place: Place, tree: Tree) {
    is_ended_by("--no-output-timeout", "no-output-timeout", place, tree);
}

/// The tree has to be there before the limit is.
fn is_ended_by(limit: &str, reason: &str, place: Place, tree: Tree) {
    at_some_pace(Duration::from_millis(1000), |time| {
        let case = Case::new(place, tree);
        let mut run = case.start(&[limit, &millis(time)]);
        let (was_there, code) = (run.says(&case.ready()), run.code());
        was_there.then(|| case.is_over((code, 124), &case.install.only_run(), reason))
    });
}

fn its_caller_is_killed(place: Place, tree: Tree) {
    let case = Case::new(place, tree);
    let run = case.foreground(&[]);
    let id = case.install.only_run();
    proc::kill(run.pid());
    case.is_over((case.install.wait(&id), 123), &id, "owner-lost");
}

fn nobody_owns_it_in_the_background(place: Place, tree: Tree) {
    at_some_pace(Duration::from_millis(1000), |time| {
        let case = Case::new(place, tree);
        let id = case.background(&["--orphan-grace", &millis(time)]);
        let was_there = case.install.start(&["logs", "-f", &id]).says(&case.ready());
        let code = case.install.wait(&id);
        was_there.then(|| case.is_over((code, 123), &id, "owner-lost"))
    });
}

/// In-session leftovers are ended and counted.
fn its_root_exits(place: Place, tree: Tree) {
    let case = Case::new(place, tree);
    let mut run = case.foreground(&[]);
    case.is_over((run.code(), 0), &case.install.only_run(), "exit");
}

/// Whoever left the session is ended too, and makes the run a failure.
fn its_root_exits_after_an_escape(place: Place, tree: Tree) {
    let case = Case::new(place, tree);
    let mut run = case.foreground(&[]);
    case.is_over((run.code(), 122), &case.install.only_run(), "ownership-escape");
}

/// `HOW::TREE::WHERE`, each a test of its own.
macro_rules! nothing_is_left_when {
    ($($how:ident: $($from:ident::$tree:ident [$($place:ident)+])+;)+) => { $(mod $how { $(
        mod $tree { $(
            #[test]
            fn $place() {
                crate::runs::trees::$how(tenure_it::place::$place, crate::runs::trees::$from::$tree);
            }
        )+ }
    )+ })+ };
    ($how:ident, everywhere: $($from:ident::$tree:ident)+) => { nothing_is_left_when! { $how: $(
        $from::$tree [as_root_with_cgroup as_root_without_cgroup unprivileged_with_cgroup unprivileged_without_cgroup]
    )+; } };
}

nothing_is_left_when! { cancelled, everywhere:
    tree::a_family
    tree::a_child_ignoring_term
    tree::ones_ignoring_everything
    tree::a_setsid_grandchild
    tree::a_daemon
    tree::a_stranger_to_see
    tree::a_hopper
    tree::a_hopper_of_sessions
    tree::a_bomb
    tree::a_bomb_of_sessions
    tree::one_reforking_at_term
    tree::one_reforking_in_its_session
    tree::a_browser
}

// Each tree, each place and each end at least once beside the full table above.
nothing_is_left_when! {
    cancelled_in_the_foreground:
        tree::a_family [as_root_with_cgroup]
        tree::a_hopper_of_sessions [unprivileged_without_cgroup]
        tree::a_browser [as_root_without_cgroup];
    its_caller_gets_sigterm:
        tree::a_daemon [as_root_with_cgroup unprivileged_without_cgroup]
        tree::a_bomb_of_sessions [as_root_without_cgroup]
        tree::one_reforking_at_term [unprivileged_with_cgroup];
    its_caller_gets_sigint:
        tree::a_family [unprivileged_without_cgroup]
        tree::ones_ignoring_everything [as_root_without_cgroup]
        tree::a_stranger_to_see [as_root_with_cgroup];
    its_time_is_up:
        tree::a_family [as_root_with_cgroup]
        tree::a_child_ignoring_term [unprivileged_without_cgroup]
        tree::a_daemon [as_root_without_cgroup]
        tree::a_hopper [unprivileged_with_cgroup]
        tree::a_bomb [as_root_without_cgroup]
        tree::a_stranger_to_see [unprivileged_without_cgroup]
        tree::one_reforking_in_its_session [as_root_with_cgroup]
        tree::a_browser [unprivileged_without_cgroup];
    it_is_silent_for_too_long:
        tree::a_family [unprivileged_without_cgroup]
        tree::ones_ignoring_everything [as_root_with_cgroup]
        tree::a_setsid_grandchild [as_root_without_cgroup]
        tree::a_hopper_of_sessions [as_root_without_cgroup]
        tree::a_bomb_of_sessions [unprivileged_without_cgroup]
        tree::one_reforking_at_term [as_root_without_cgroup]
        tree::a_daemon [unprivileged_with_cgroup];
    its_caller_is_killed:
        tree::a_family [as_root_with_cgroup unprivileged_without_cgroup]
        tree::a_child_ignoring_term [as_root_without_cgroup]
        tree::ones_ignoring_everything [unprivileged_without_cgroup]
        tree::a_setsid_grandchild [unprivileged_with_cgroup]
        tree::a_daemon [as_root_without_cgroup]
        tree::a_stranger_to_see [as_root_without_cgroup]
        tree::a_hopper_of_sessions [as_root_with_cgroup]
        tree::a_bomb [unprivileged_without_cgroup]
        tree::a_browser [as_root_with_cgroup unprivileged_without_cgroup];
    nobody_owns_it_in_the_background:
        tree::a_family [as_root_with_cgroup]
        tree::a_daemon [unprivileged_without_cgroup]
        tree::a_hopper [as_root_without_cgroup]
        tree::a_child_ignoring_term [unprivileged_with_cgroup];
}

nothing_is_left_when! { its_root_exits, everywhere:
    left::a_sleeper
    left::one_ignoring_term
    left::a_hopper
    left::a_bomb
}

nothing_is_left_when! { its_root_exits_after_an_escape, everywhere:
    left::a_daemon
    left::a_stranger_to_see
    left::a_bomb_of_sessions
    left::a_browser
}

mod in_other_places {
    nothing_is_left_when! {
        its_root_exits:
            left::a_family [as_root_with_cgroup unprivileged_without_cgroup]
            left::ones_ignoring_everything [as_root_without_cgroup unprivileged_with_cgroup]
            left::one_reforking_at_term [as_root_with_cgroup unprivileged_without_cgroup];
        its_root_exits_after_an_escape:
            left::a_setsid_grandchild [as_root_with_cgroup unprivileged_without_cgroup]
            left::a_hopper_of_sessions [as_root_without_cgroup unprivileged_with_cgroup]
            left::one_reforking_in_its_session [as_root_with_cgroup unprivileged_without_cgroup];
    }
}
