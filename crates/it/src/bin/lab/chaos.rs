//! Many runs at once, and random kills among the processes that hold them. The seed decides everything but the
//! scheduler.

use rustix::process::Signal;
use std::fs;
use std::time::Duration;
use tenure_it::bystander::Bystander;
use tenure_it::child_program::ChildProgram;
use tenure_it::held_process::HeldProcess;
use tenure_it::install::Install;
use tenure_it::witness::Witness;
use tenure_it::{leftovers, proc, within};
use tenure_keeper::orphaned;
use tenure_keeper::orphaned::by_daemon::OrphanedRun;
use tenure_keeper::rundir::RunDir;

const ROUNDS: u32 = 30;
const RUNS: u64 = 5;

/// Time limit until everything is gone: the graces, and the slowness of a busy machine. Less than a hopper's
/// lifetime.
const END_LIMIT: Duration = Duration::from_secs(15);

/// The possible commands, and whether all of their processes can be found by the lease. A hopper's cannot: it
/// is another process before its environment is read.
const TREES: [(&[&str], bool); 8] = [
    (&["tree"], true),
    (&["exit", "3"], true),
    (&["child", "setsid", "ignore-term", "sleep"], true),
    (&["leave", "setsid", "ignore-term", "sleep"], true),
    (&["daemon", "ignore-all", "sleep"], true),
    (&["chrome-like", "2"], true),
    (&["hop", "--setsid", "--seconds", "40"], false),
    (&["child", "clear-env", "ignore-term", "sleep"], false),
];

/// xorshift64*: the same seed, the same choices.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % sides
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.roll(2) == 0
    }
}

struct Run {
    install: Install,
    witness: Witness,
    cli: ChildProgram,
    cli_held: Option<HeldProcess>,
    what: String,
}

pub(crate) fn main(seed: &str) {
    let mut dice = Dice(seed.parse().expect("a seed"));
    let words = ["--pids", "pids", "child", "setsid", "ignore-term", "sleep"];
    let bystanders =
        [Bystander::start(&words, "child"), Bystander::start(&["--pids", "pids", "tree"], "tree")];
    for round in 0..ROUNDS {
        let mut runs: Vec<Run> = (0..RUNS).map(|_| start(&mut dice)).collect();
        for run in &mut runs {
            wreck(&mut dice, run);
        }
        for run in runs {
            println!("round {round}: {}", run.what);
            settle(run);
        }
        bystanders.iter().for_each(Bystander::assert_untouched);
    }
}

fn start(dice: &mut Dice) -> Run {
    let tree = TREES[usize::try_from(dice.roll(TREES.len() as u64)).expect("small")];
    let (words, marked) = tree;
    // Without either evidence the leftovers could not be found after the last holder's death.
    let install = if marked && dice.coin() { Install::new().without_cgroup() } else { Install::new() };
    let witness = Witness::new(install.dir());
    let actor = install.actor();
    let mut args =
        vec!["run", "--quiet", "--grace", "50ms", "--orphan-grace", "100ms", "--on-escape", "reap"];
    args.extend(dice.coin().then_some("--pty"));
    args.extend(dice.coin().then_some("--bg"));
    args.extend(["--", &actor]);
    args.extend(words);
    let what = args[7..].join(" ");
    let mut command = install.command(&args);
    command.env("ACTOR_WITNESS", witness.path());
    let cli = ChildProgram::new(command);
    let cli_held = HeldProcess::hold(cli.pid());
    Run { install, witness, cli, cli_held, what }
}

/// Kills some of the processes that hold the run, at random moments.
fn wreck(dice: &mut Dice, run: &mut Run) {
    for _ in 0..dice.roll(4) {
        // This is no synchronisation: any moment will do.
        std::thread::park_timeout(Duration::from_micros(dice.roll(15_000)));
        let (nurseries, keepers) = holders(&run.install);
        let (kind, victims) = match dice.roll(3) {
            0 => ("cli", run.cli_held.take().into_iter().collect()),
            1 => ("nursery", nurseries),
            _ => ("keeper", keepers),
        };
        for victim in victims {
            victim.send(Signal::KILL);
            run.what = format!("{}, {kind} {} killed", run.what, victim.pid);
        }
    }
}

/// The nursery and the keeper of an installation: they share a command line, and one is the other's parent.
fn holders(install: &Install) -> (Vec<HeldProcess>, Vec<HeldProcess>) {
    let is_holder = |pid: i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|&b| b == 0).nth(1) == Some(b"nursery")
    };
    let all: Vec<i32> = leftovers::processes(install).into_iter().filter(|&pid| is_holder(pid)).collect();
    let is_keeper = |pid: &i32| proc::stat(*pid).is_some_and(|(_, parent, ..)| all.contains(&parent));
    let (keepers, nurseries): (Vec<i32>, Vec<i32>) = all.iter().partition(|pid| is_keeper(pid));
    let hold = |pids: Vec<i32>| pids.into_iter().filter_map(HeldProcess::hold).collect();
    (hold(nurseries), hold(keepers))
}

/// Waits until the rest of the run has ended within its grace, and checks that only records are left.
fn settle(mut run: Run) {
    // A foreground run without any kill may go on for ever.
    if let Some(cli) = &run.cli_held {
        cli.send(Signal::TERM);
    }
    run.cli.code();
    let nobody_holds = || {
        let (nurseries, keepers) = holders(&run.install);
        (nurseries.is_empty() && keepers.is_empty()).then_some(())
    };
    within(END_LIMIT, &format!("the end of the holder of {}", run.what), nobody_holds);
    for id in run.install.runs() {
        let dir = RunDir::open(&run.install.state().join("runs").join(id)).expect("a run's directory");
        later_look(&dir, &run.what);
        dir.ending().unwrap_or_else(|error| panic!("{error}: {}", run.what));
        let endings = fs::read_dir(dir.path()).expect("a directory").flatten();
        let endings = endings.filter(|entry| entry.file_name() == "ending").count();
        assert!(endings <= 1, "{}", run.what);
    }
    within(END_LIMIT, &format!("the end of {}", run.what), || {
        leftovers::processes(&run.install).is_empty().then_some(())
    });
    run.witness.wait_nobody(END_LIMIT);
    assert_eq!(leftovers::locks(&run.install), Vec::<String>::new(), "{}", run.what);
    assert_eq!(leftovers::groups(&run.install), Vec::<std::path::PathBuf>::new(), "{}", run.what);
    leftovers::forget(&run.install);
}

/// Reconciles the run, which ends the processes that only a later look can end.
fn later_look(dir: &RunDir, what: &str) {
    let Ok(ticket) = dir.ticket() else { return };
    if !matches!(dir.ending(), Ok(Some(_))) {
        let run = OrphanedRun::read(RunDir::open(dir.path()).expect("a run"), &ticket).expect("records");
        let how = run.keeper_killed();
        run.close(how).unwrap_or_else(|error| panic!("{error}: {what}"));
    }
    orphaned::clean_up(dir.path());
}
