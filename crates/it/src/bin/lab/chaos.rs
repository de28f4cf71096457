//! Many runs at once, and random deaths among those who hold them. The seed decides everything but the scheduler.

use rustix::process::Signal;
use std::fs;
use std::time::Duration;
use tenure_it::bystander::Bystander;
use tenure_it::install::Install;
use tenure_it::known::Known;
use tenure_it::started::Started;
use tenure_it::witness::Witness;
use tenure_it::{proc, remains, within};
use tenure_keeper::forsaken::Forsaken;
use tenure_keeper::rundir::RunDir;
use tenure_keeper::salvage;

const ROUNDS: u32 = 30;
const RUNS: u64 = 5;

/// Within what everything is gone: the graces, and whatever a busy machine needs. Less than a hopper goes on for.
const LIMIT: Duration = Duration::from_secs(15);

/// What a command may be, and whether everybody whom it starts can be found by the lease. A hopper cannot: it is
/// another process before its environment is read.
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
    cli: Started,
    cli_held: Option<Known>,
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
    // Without either evidence nobody could find the rest after the last holder's death.
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
    let cli = Started::new(command);
    let cli_held = Known::hold(cli.pid());
    Run { install, witness, cli, cli_held, what }
}

/// Kills some of those who hold the run, at moments of chance.
fn wreck(dice: &mut Dice, run: &mut Run) {
    for _ in 0..dice.roll(4) {
        // This is no synchronisation: any moment is as good as another.
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
fn holders(install: &Install) -> (Vec<Known>, Vec<Known>) {
    let is_holder = |pid: i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|&b| b == 0).nth(1) == Some(b"nursery")
    };
    let all: Vec<i32> = remains::processes(install).into_iter().filter(|&pid| is_holder(pid)).collect();
    let is_keeper = |pid: &i32| proc::stat(*pid).is_some_and(|(_, parent, ..)| all.contains(&parent));
    let (keepers, nurseries): (Vec<i32>, Vec<i32>) = all.iter().partition(|pid| is_keeper(pid));
    let hold = |pids: Vec<i32>| pids.into_iter().filter_map(Known::hold).collect();
    (hold(nurseries), hold(keepers))
}

/// Whatever is left of the run ends within its grace, and leaves nothing but records.
fn settle(mut run: Run) {
    // A foreground run that nobody has hurt may go on for ever.
    if let Some(cli) = &run.cli_held {
        cli.send(Signal::TERM);
    }
    run.cli.code();
    let nobody_holds = || {
        let (nurseries, keepers) = holders(&run.install);
        (nurseries.is_empty() && keepers.is_empty()).then_some(())
    };
    within(LIMIT, &format!("the end of who holds {}", run.what), nobody_holds);
    for id in run.install.runs() {
        let dir = RunDir::open(&run.install.state().join("runs").join(id)).expect("a run's directory");
        later_look(&dir, &run.what);
        dir.ending().unwrap_or_else(|error| panic!("{error}: {}", run.what));
        let endings = fs::read_dir(dir.path()).expect("a directory").flatten();
        let endings = endings.filter(|entry| entry.file_name() == "ending").count();
        assert!(endings <= 1, "{}", run.what);
    }
    within(LIMIT, &format!("the end of {}", run.what), || {
        remains::processes(&run.install).is_empty().then_some(())
    });
    run.witness.wait_nobody(LIMIT);
    assert_eq!(remains::locks(&run.install), Vec::<String>::new(), "{}", run.what);
    assert_eq!(remains::groups(&run.install), Vec::<std::path::PathBuf>::new(), "{}", run.what);
    remains::forget(&run.install);
}

/// What only a later look can end, it ends.
fn later_look(dir: &RunDir, what: &str) {
    let Ok(ticket) = dir.ticket() else { return };
    if !matches!(dir.ending(), Ok(Some(_))) {
        let forsaken = Forsaken::read(RunDir::open(dir.path()).expect("a run"), ticket).expect("records");
        let how = forsaken.keeper_killed();
        forsaken.close(how).unwrap_or_else(|error| panic!("{error}: {what}"));
    }
    salvage::tidy(dir.path());
}
