//! Many runs of every kind through one daemon that is killed again and again. The seed decides everything but the
//! scheduler. A caller with an id has a run that ends as its command says. A caller with an error may still have
//! started a run, which then ends as truly.

use crate::chaos::Dice;
use rustix::process::Signal;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tenure_it::daemon_fixture::DaemonFixture;
use tenure_it::registry_file::{RegistryFile, RunRow};
use tenure_it::{WAIT_LIMIT, eventually, install};

const RUNS: usize = 200;
const DAEMON_KILLS: usize = 50;
const STARTERS: usize = 4;
/// Number of retries of a start that fell into a crash.
const START_RETRIES: usize = 10;

/// A command, and the ending that its run must have.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Exits(u64),
    Writes { bytes: u64, pty: bool },
    Ticks { pty: bool },
    Cancelled { stubborn: bool, pty: bool },
    Times { silent: bool },
    Escapes,
    InFront(u64),
}

impl Kind {
    fn roll(dice: &mut Dice) -> Self {
        let pty = dice.coin();
        match dice.roll(8) {
            0 => Kind::Exits(dice.roll(100)),
            1 | 2 => Kind::Writes { bytes: 1 + dice.roll(400_000), pty },
            3 => Kind::Ticks { pty },
            4 => Kind::Cancelled { stubborn: dice.coin(), pty },
            5 => Kind::Times { silent: pty },
            6 => Kind::Escapes,
            _ => Kind::InFront(1 + dice.roll(200_000)),
        }
    }

    fn words(&self) -> Vec<String> {
        let words = |text: String| text.split(' ').map(str::to_owned).collect();
        match self {
            Kind::Exits(code) => words(format!("exit {code}")),
            Kind::Writes { bytes, .. } | Kind::InFront(bytes) => words(format!("fill {bytes} --chunk 4096")),
            Kind::Ticks { .. } => words("tick 40 20".to_owned()),
            Kind::Cancelled { stubborn: true, .. } => words("child ignore-term sleep".to_owned()),
            Kind::Cancelled { stubborn: false, .. } => words("tree".to_owned()),
            Kind::Times { .. } => words("sleep".to_owned()),
            Kind::Escapes => words("leave setsid sleep".to_owned()),
        }
    }

    fn flags(&self) -> &'static [&'static str] {
        match self {
            Kind::Writes { pty: true, .. }
            | Kind::Ticks { pty: true }
            | Kind::Cancelled { pty: true, .. } => &["--bg", "--pty"],
            Kind::Times { silent: true } => &["--bg", "--no-output-timeout", "400ms"],
            Kind::Times { silent: false } => &["--bg", "--timeout", "400ms"],
            Kind::InFront(_) => &[],
            Kind::Exits(_)
            | Kind::Writes { .. }
            | Kind::Ticks { .. }
            | Kind::Cancelled { .. }
            | Kind::Escapes => &["--bg"],
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Kind::Exits(_) | Kind::Writes { .. } | Kind::Ticks { .. } | Kind::InFront(_) => "exit",
            Kind::Cancelled { .. } => "manual-cancel",
            Kind::Times { silent: true } => "no-output-timeout",
            Kind::Times { silent: false } => "overall-timeout",
            Kind::Escapes => "ownership-escape",
        }
    }

    fn code(&self) -> i32 {
        match self {
            Kind::Exits(code) => i32::try_from(*code).expect("small"),
            Kind::Writes { .. } | Kind::Ticks { .. } | Kind::InFront(_) => 0,
            Kind::Cancelled { .. } => 123,
            Kind::Times { .. } => 124,
            Kind::Escapes => 122,
        }
    }

    /// Its output, where that is known.
    fn output(&self) -> Option<Vec<u8>> {
        let pty = match self {
            Kind::Writes { pty, .. } | Kind::Ticks { pty } => *pty,
            Kind::InFront(_) => false,
            Kind::Exits(_) | Kind::Cancelled { .. } | Kind::Times { .. } | Kind::Escapes => return None,
        };
        let written = alone(&self.words());
        let ended = |byte: u8| if pty && byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] };
        Some(written.into_iter().flat_map(ended).collect())
    }
}

/// Output of the actor without Tenure.
#[expect(clippy::disallowed_methods, reason = "the same command without Tenure")]
fn alone(words: &[String]) -> Vec<u8> {
    let mut command = Command::new(install::actor());
    command.args(words).stdin(Stdio::null()).stderr(Stdio::null());
    command.env_remove("ACTOR_WITNESS").output().expect("the actor starts").stdout
}

/// A requested run.
#[derive(Debug)]
struct RequestedRun {
    label: String,
    kind: Kind,
    /// The id, if the caller got one.
    id: Option<String>,
    /// Exit code and output of a caller that waited for the end.
    in_front: Option<(i32, Vec<u8>)>,
}

pub(crate) fn main(seed: &str) {
    let seed: u64 = seed.parse().expect("a seed");
    let fixture = DaemonFixture::with_warden();
    let began = Instant::now();
    let done = AtomicBool::new(false);
    let asked = std::thread::scope(|scope| {
        let deaths = scope.spawn(|| kill_again_and_again(&fixture, Dice(seed), &done));
        let starters: Vec<_> = (0..STARTERS)
            .map(|n| {
                scope.spawn({
                    let fixture = &fixture;
                    move || start_all(fixture, seed, n)
                })
            })
            .collect();
        let asked: Vec<RequestedRun> =
            starters.into_iter().flat_map(|one| one.join().expect("no starter panics")).collect();
        done.store(true, Ordering::Relaxed);
        deaths.join().expect("the killer does not panic");
        asked
    });
    println!("{} asked for in {:?}", asked.len(), began.elapsed());
    fixture.start_daemon();
    cancel_remaining(&fixture, &asked);
    for one in &asked {
        settle(&fixture, one);
    }
    let ledger = eventually("every ending is recorded", || {
        let ledger = RegistryFile::read(&fixture);
        ledger.runs.iter().all(|run| run.ending.is_some()).then_some(ledger)
    });
    for one in &asked {
        judge(one, &ledger);
    }
    println!("{} rows, settled in {:?}", ledger.runs.len(), began.elapsed());
    fixture.finish();
}

/// Kills the daemon at random moments, and lets any client start the next one.
fn kill_again_and_again(fixture: &DaemonFixture, mut dice: Dice, done: &AtomicBool) {
    for death in 0..DAEMON_KILLS {
        // This is no synchronisation: any moment will do.
        let most = if done.load(Ordering::Relaxed) { 60_000 } else { 700_000 };
        std::thread::park_timeout(Duration::from_micros(dice.roll(most)));
        let Some(daemon) = fixture.lock_holder() else {
            fixture.start_with_autostart(&["daemon", "start"]).code();
            continue;
        };
        daemon.send(Signal::KILL);
        daemon.wait_dead(WAIT_LIMIT);
        if dice.roll(4) > 0 {
            let mut start = fixture.start_with_autostart(&["daemon", "start"]);
            // A start that is killed, or that finds a daemon running, does not matter here.
            start.code();
        }
        println!("death {death}: {}", daemon.pid);
    }
}

fn start_all(fixture: &DaemonFixture, seed: u64, starter: usize) -> Vec<RequestedRun> {
    let mut dice = Dice(seed ^ (0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(starter as u64 + 1)) | 1);
    let mut asked = Vec::new();
    for n in (0..RUNS).filter(|n| n % STARTERS == starter) {
        let kind = Kind::roll(&mut dice);
        for attempt in 0..START_RETRIES {
            let one = start(fixture, &kind, format!("{n}.{attempt}"));
            let told = one.id.is_some() || one.in_front.as_ref().is_some_and(|(code, _)| *code != 125);
            asked.push(one);
            if told {
                break;
            }
        }
    }
    asked
}

fn start(fixture: &DaemonFixture, kind: &Kind, label: String) -> RequestedRun {
    let (actor, words) = (fixture.actor(), kind.words());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let flags = ["run", "--quiet", "--grace", "100ms", "--label", &label];
    let output = fixture.tenure(&[&flags, kind.flags(), &["--", &actor], &words].concat());
    let code = output.status.code().unwrap_or(-1);
    if let Kind::InFront(_) = kind {
        return RequestedRun { label, kind: kind.clone(), id: None, in_front: Some((code, output.stdout)) };
    }
    assert!(code == 0 || code == 125, "{code} {kind:?}: {}", String::from_utf8_lossy(&output.stderr));
    let id = (code == 0).then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    if let (Kind::Cancelled { .. }, Some(id)) = (kind, &id) {
        // A request that fell into a crash is repeated.
        eventually("an accepted cancel", || fixture.tenure(&["cancel", id]).status.success().then_some(()));
    }
    RequestedRun { label, kind: kind.clone(), id, in_front: None }
}

/// Cancels the runs that stay and whose caller did not get their ids.
fn cancel_remaining(fixture: &DaemonFixture, asked: &[RequestedRun]) {
    let ledger = RegistryFile::read(fixture);
    for run in ledger.runs.iter().filter(|run| run.ending.is_none()) {
        let kind = asked.iter().find(|one| run.label.as_deref() == Some(&one.label)).map(|one| &one.kind);
        if matches!(kind, Some(Kind::Cancelled { .. })) {
            fixture.ask_to_cancel(&[&run.id]);
        }
    }
}

/// Checks the caller's view of its run.
fn settle(fixture: &DaemonFixture, one: &RequestedRun) {
    if let Some((code, printed)) = &one.in_front {
        assert!([0, 125].contains(code), "{one:?}");
        assert!(
            *code == 125 || Some(printed) == one.kind.output().as_ref(),
            "{:?}: {} bytes",
            one.kind,
            printed.len()
        );
    }
    let Some(id) = &one.id else { return };
    assert_eq!(fixture.wait(id), one.kind.code(), "{one:?}: {}", fixture.show(id)["termination"]);
    if let Some(expected) = one.kind.output() {
        let kept = fixture.logs(&[id]);
        assert!(kept == expected, "{one:?}: {} bytes of {}", kept.len(), expected.len());
    }
}

/// Checks that a run was started at most once and ended as it must; one whose start was cut off may not
/// exist.
fn judge(one: &RequestedRun, ledger: &RegistryFile) {
    let rows: Vec<&RunRow> =
        ledger.runs.iter().filter(|run| run.label.as_deref() == Some(&one.label)).collect();
    assert!(rows.len() <= 1, "{one:?}: {rows:?}");
    let told = one.id.is_some() || one.in_front.as_ref().is_some_and(|(code, _)| *code == 0);
    assert!(!told || rows.len() == 1, "{one:?} has no row");
    for row in rows {
        let cut_off = !told && row.reason() == Some("spawn-error");
        // A foreground caller that got an error has exited, and its run with it.
        let left = !told && one.in_front.is_some() && row.reason() == Some("owner-lost");
        assert!(cut_off || left || row.reason() == Some(one.kind.reason()), "{one:?}: {row:?}");
    }
}
