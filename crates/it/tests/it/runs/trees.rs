//! Nothing is left: every kind of process tree × every way to end a run × with and without cgroup and rights.

use rustix::process::Signal;
use std::time::Duration;
use tenure_it::child_program::ChildProgram;
use tenure_it::install::Install;
use tenure_it::witness::Witness;
use tenure_it::{at_some_pace, millis, proc};

type Privileges = fn() -> Install;
type Tree = &'static [&'static str];

/// The trees, as the actor's words. The first word is ready when all are.
#[allow(non_upper_case_globals, reason = "they name tests")]
mod tree {
    use super::Tree;
    pub(super) const a_family: Tree = &["tree"];
    pub(super) const a_child_ignoring_term: Tree = &["child", "ignore-term", "sleep"];
    pub(super) const a_family_ignoring_all_signals: Tree = &["ignore-all", "tree"];
    pub(super) const a_setsid_grandchild: Tree = &["child", "setsid", "sleep"];
    pub(super) const a_daemon: Tree = &["daemon", "sleep"];
    pub(super) const a_child_with_a_clean_environment: Tree = &["child", "clear-env", "sleep"];
    pub(super) const a_hopper: Tree = &["hop"];
    pub(super) const a_hopper_of_sessions: Tree = &["hop", "--setsid"];
    pub(super) const a_bomb: Tree = &["bomb", "--limit", "40"];
    pub(super) const a_bomb_of_sessions: Tree = &["bomb", "--setsid", "--limit", "40"];
    pub(super) const a_process_reforking_on_sigterm: Tree = &["refork"];
    pub(super) const a_process_reforking_in_its_own_session: Tree = &["setsid", "refork"];
    pub(super) const a_browser: Tree = &["chrome-like", "3"];
}

/// Leftovers of roots that exit with zero.
#[allow(non_upper_case_globals, reason = "they name tests")]
mod left {
    use super::Tree;
    pub(super) const a_sleeper: Tree = &["leave", "sleep"];
    pub(super) const a_family: Tree = &["leave", "tree"];
    pub(super) const one_ignoring_term: Tree = &["leave", "ignore-term", "sleep"];
    pub(super) const a_family_ignoring_all_signals: Tree = &["leave", "ignore-all", "tree"];
    pub(super) const a_hopper: Tree = &["hop", "--root-exits"];
    pub(super) const a_bomb: Tree = &["leave", "bomb", "--limit", "40"];
    pub(super) const a_process_reforking_on_sigterm: Tree = &["leave", "refork"];
    pub(super) const a_setsid_grandchild: Tree = &["leave", "setsid", "sleep"];
    pub(super) const a_daemon: Tree = &["daemon", "--exit", "0", "sleep"];
    pub(super) const a_child_with_a_clean_environment: Tree = &["leave", "clear-env", "sleep"];
    pub(super) const a_hopper_of_sessions: Tree = &["hop", "--setsid", "--root-exits"];
    pub(super) const a_bomb_of_sessions: Tree = &["leave", "bomb", "--setsid", "--limit", "40"];
    pub(super) const a_process_reforking_in_its_own_session: Tree = &["leave", "setsid", "refork"];
    pub(super) const a_browser: Tree = &["leave", "chrome-like", "3"];
}

/// The grace of the trees.
const GRACE: &[&str] = &["--grace", "200ms"];

/// A tree in an installation, with a witness of its death.
struct Case {
    install: Install,
    witness: Witness,
    tree: Tree,
}

impl Case {
    fn new(privileges: Privileges, tree: Tree) -> Self {
        let install = privileges();
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

    /// The complete tree under a foreground run.
    fn foreground(&self, options: &[&str]) -> ChildProgram {
        let mut started = self.start(options);
        started.wait_for(&self.ready());
        started
    }

    fn start(&self, options: &[&str]) -> ChildProgram {
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

    /// Checks that every process is dead at the moment the end is reported, and that the record names the
    /// reason.
    #[track_caller]
    fn is_over(&self, code: (i32, i32), id: &str, reason: &str) {
        assert!(self.witness.all_dead(), "the end was reported while a process lived");
        let (seen, expected) = code;
        let ending = self.install.assert_ended_cleanly(id);
        assert_eq!(ending["reason"], reason, "{ending}");
        assert_eq!(seen, expected, "{ending}");
    }
}

fn cancelled(privileges: Privileges, tree: Tree) {
    let case = Case::new(privileges, tree);
    let id = case.background(&[]);
    case.install.wait_for_output(&id, &case.ready());
    let record = case.install.show(&id);
    assert_eq!(record["state"], "running");
    case.install.assert_boundary(&record);
    case.install.ask_to_cancel(&[&id]);
    case.is_over((case.install.wait(&id), 123), &id, "manual-cancel");
}

fn cancelled_in_the_foreground(privileges: Privileges, tree: Tree) {
    let case = Case::new(privileges, tree);
    let mut run = case.foreground(&[]);
    let id = case.install.only_run();
    case.install.ask_to_cancel(&[&id]);
    case.is_over((run.code(), 123), &id, "manual-cancel");
}

fn its_caller_gets_sigterm(privileges: Privileges, tree: Tree) {
    its_caller_gets(Signal::TERM, privileges, tree);
}

fn its_caller_gets_sigint(privileges: Privileges, tree: Tree) {
    its_caller_gets(Signal::INT, privileges, tree);
}

fn its_caller_gets(signal: Signal, privileges: Privileges, tree: Tree) {
    let case = Case::new(privileges, tree);
    let mut run = case.foreground(&[]);
    proc::send(run.pid(), signal);
    case.is_over((run.code(), 123), &case.install.only_run(), "manual-cancel");
}

fn its_time_limit_expires(privileges: Privileges, tree: Tree) {
    limit_expires("--timeout", "overall-timeout", privileges, tree);
}

fn its_silence_limit_expires(privileges: Privileges, tree: Tree) {
    limit_expires("--no-output-timeout", "no-output-timeout", privileges, tree);
}

/// The tree must be complete before the limit.
fn limit_expires(limit: &str, reason: &str, privileges: Privileges, tree: Tree) {
    at_some_pace(Duration::from_millis(1000), |time| {
        let case = Case::new(privileges, tree);
        let mut run = case.start(&[limit, &millis(time)]);
        let (was_there, code) = (run.prints(&case.ready()), run.code());
        was_there.then(|| case.is_over((code, 124), &case.install.only_run(), reason))
    });
}

fn its_caller_is_killed(privileges: Privileges, tree: Tree) {
    let case = Case::new(privileges, tree);
    let run = case.foreground(&[]);
    let id = case.install.only_run();
    proc::kill(run.pid());
    case.is_over((case.install.wait(&id), 123), &id, "owner-lost");
}

fn its_owner_is_gone_in_the_background(privileges: Privileges, tree: Tree) {
    at_some_pace(Duration::from_millis(1000), |time| {
        let case = Case::new(privileges, tree);
        let id = case.background(&["--orphan-grace", &millis(time)]);
        let was_there = case.install.start(&["logs", "-f", &id]).prints(&case.ready());
        let code = case.install.wait(&id);
        was_there.then(|| case.is_over((code, 123), &id, "owner-lost"))
    });
}

/// In-session leftovers are ended and counted.
fn its_root_exits(privileges: Privileges, tree: Tree) {
    let case = Case::new(privileges, tree);
    let mut run = case.foreground(&[]);
    case.is_over((run.code(), 0), &case.install.only_run(), "exit");
}

/// Escapees are ended too, and make the run a failure.
fn its_root_exits_after_an_escape(privileges: Privileges, tree: Tree) {
    let case = Case::new(privileges, tree);
    let mut run = case.foreground(&[]);
    case.is_over((run.code(), 122), &case.install.only_run(), "ownership-escape");
}

/// `REASON::TREE::PRIVILEGES`, each a test of its own.
macro_rules! nothing_is_left_when {
    ($($how:ident: $($from:ident::$tree:ident [$($privileges:ident)+])+;)+) => { $(mod $how { $(
        mod $tree { $(
            #[test]
            fn $privileges() {
                crate::runs::trees::$how(tenure_it::privileges::$privileges, crate::runs::trees::$from::$tree);
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
    tree::a_family_ignoring_all_signals
    tree::a_setsid_grandchild
    tree::a_daemon
    tree::a_child_with_a_clean_environment
    tree::a_hopper
    tree::a_hopper_of_sessions
    tree::a_bomb
    tree::a_bomb_of_sessions
    tree::a_process_reforking_on_sigterm
    tree::a_process_reforking_in_its_own_session
    tree::a_browser
}

// Each tree, each privilege and each end at least once beside the full table above.
nothing_is_left_when! {
    cancelled_in_the_foreground:
        tree::a_family [as_root_with_cgroup]
        tree::a_hopper_of_sessions [unprivileged_without_cgroup]
        tree::a_browser [as_root_without_cgroup];
    its_caller_gets_sigterm:
        tree::a_daemon [as_root_with_cgroup unprivileged_without_cgroup]
        tree::a_bomb_of_sessions [as_root_without_cgroup]
        tree::a_process_reforking_on_sigterm [unprivileged_with_cgroup];
    its_caller_gets_sigint:
        tree::a_family [unprivileged_without_cgroup]
        tree::a_family_ignoring_all_signals [as_root_without_cgroup]
        tree::a_child_with_a_clean_environment [as_root_with_cgroup];
    its_time_limit_expires:
        tree::a_family [as_root_with_cgroup]
        tree::a_child_ignoring_term [unprivileged_without_cgroup]
        tree::a_daemon [as_root_without_cgroup]
        tree::a_hopper [unprivileged_with_cgroup]
        tree::a_bomb [as_root_without_cgroup]
        tree::a_child_with_a_clean_environment [unprivileged_without_cgroup]
        tree::a_process_reforking_in_its_own_session [as_root_with_cgroup]
        tree::a_browser [unprivileged_without_cgroup];
    its_silence_limit_expires:
        tree::a_family [unprivileged_without_cgroup]
        tree::a_family_ignoring_all_signals [as_root_with_cgroup]
        tree::a_setsid_grandchild [as_root_without_cgroup]
        tree::a_hopper_of_sessions [as_root_without_cgroup]
        tree::a_bomb_of_sessions [unprivileged_without_cgroup]
        tree::a_process_reforking_on_sigterm [as_root_without_cgroup]
        tree::a_daemon [unprivileged_with_cgroup];
    its_caller_is_killed:
        tree::a_family [as_root_with_cgroup unprivileged_without_cgroup]
        tree::a_child_ignoring_term [as_root_without_cgroup]
        tree::a_family_ignoring_all_signals [unprivileged_without_cgroup]
        tree::a_setsid_grandchild [unprivileged_with_cgroup]
        tree::a_daemon [as_root_without_cgroup]
        tree::a_child_with_a_clean_environment [as_root_without_cgroup]
        tree::a_hopper_of_sessions [as_root_with_cgroup]
        tree::a_bomb [unprivileged_without_cgroup]
        tree::a_browser [as_root_with_cgroup unprivileged_without_cgroup];
    its_owner_is_gone_in_the_background:
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
    left::a_child_with_a_clean_environment
    left::a_bomb_of_sessions
    left::a_browser
}

mod in_other_places {
    nothing_is_left_when! {
        its_root_exits:
            left::a_family [as_root_with_cgroup unprivileged_without_cgroup]
            left::a_family_ignoring_all_signals [as_root_without_cgroup unprivileged_with_cgroup]
            left::a_process_reforking_on_sigterm [as_root_with_cgroup unprivileged_without_cgroup];
        its_root_exits_after_an_escape:
            left::a_setsid_grandchild [as_root_with_cgroup unprivileged_without_cgroup]
            left::a_hopper_of_sessions [as_root_without_cgroup unprivileged_with_cgroup]
            left::a_process_reforking_in_its_own_session [as_root_with_cgroup unprivileged_without_cgroup];
    }
}
