//! The boundary of runs that are started from here. Only a trial shows it: make a group or job, start a process in it,
//! end the process before it executes anything, and remove the group.

use super::{Check, Verdict};
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::ids::{InstanceId, RunId};
use tenure_os::enclosure::Enclosure;
use tenure_os::fork::SingleThread;
use tenure_os::host::{self, OwnGroup};
use tenure_os::platform::{self, Family};
use tenure_os::spawn::{self, NoRoot, Plan};
use tenure_os::stdio::Stdio;
use tenure_os::{clock, place, poll, random, text};
use tenure_settings::Settings;

/// Time limit for a group to become empty after its only process is gone.
const EMPTY_LIMIT: Duration = Duration::from_secs(1);
/// Controllers that could limit a run.
const CONTROLLERS: [&str; 3] = ["memory", "cpu", "pids"];

const NAME: &str = "boundary";

pub(super) fn checks(settings: &Settings) -> Vec<Check> {
    match platform::here() {
        Family::Linux => {
            let group = host::own_group();
            let tried = if settings.cgroup { Some(trial()) } else { None };
            let mut checks = vec![judge(settings, &group, tried)];
            checks.extend(group.ok().map(|group| controllers(&group.directory)));
            checks
        }
        Family::MacOs => vec![without_boundary()],
        Family::Windows => vec![job(trial())],
    }
}

/// The finding for a system without inescapable boundaries.
fn without_boundary() -> Check {
    let finding = "runs have only their keeper, session, group and lease: macOS has no inescapable boundary";
    let advice = "nothing to do: the ending names a process that leaves all of them, if Tenure can see it";
    Check::new(NAME, Verdict::Note, finding, advice)
}

/// The finding for a system with jobs.
fn job(tried: Result<(), String>) -> Check {
    match tried {
        Ok(()) => Check::ok(NAME, "runs get a job, which no process of theirs can leave"),
        Err(why) => Check::new(
            NAME,
            Verdict::Problem,
            format!("runs cannot get a job: {why}"),
            "use Windows 8 or newer, and start Tenure outside of jobs that forbid nested jobs",
        ),
    }
}

/// Judges the boundary, with the reason if it has no cgroup.
fn judge(settings: &Settings, group: &io::Result<OwnGroup>, tried: Option<Result<(), String>>) -> Check {
    const NO_CGROUP: &str =
        "runs have no cgroup, only their keeper, which contains every process while it lives";
    let note =
        |why: String, advice: &str| Check::new(NAME, Verdict::Note, format!("{NO_CGROUP}: {why}"), advice);
    let (group, tried) = match (group, tried) {
        (_, None) => {
            let why = format!("cgroups are switched off by {}", settings.origin("cgroup"));
            return note(why, "set cgroup to on: then a run whose keeper is killed is still ended at once");
        }
        (Err(error), _) => {
            return note(error.to_string(), "mount cgroup v2 so that this process can see its own group");
        }
        (Ok(group), Some(tried)) => (group, tried),
    };
    let delegate = "let systemd delegate a cgroup: `tenure daemon install`, or start from \
                    `systemd-run --user --scope -p Delegate=yes bash`";
    match tried {
        Ok(()) => Check::ok(
            NAME,
            format!("runs get a cgroup below {}, beside their keeper", group.directory.display()),
        ),
        Err(why) => match host::may_write(&group.directory) {
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => note(
                format!("{} is mounted read-only", group.directory.display()),
                "in a container, mount it writable",
            ),
            Err(_) => note(format!("{} is not delegated to this user", group.directory.display()), delegate),
            Ok(()) => note(why, delegate),
        },
    }
}

/// Makes a group with an unused name, forks into it, and removes it.
fn trial() -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    let instance = InstanceId::from_random(random::bytes().map_err(text)?);
    try_as(&instance, &RunId::from_random(random::bytes().map_err(text)?))
}

fn try_as(instance: &InstanceId, run: &RunId) -> Result<(), String> {
    let group = Enclosure::make(true, instance, run)?;
    let forked = fork_into(&group).map_err(|error| format!("cannot fork a process into a group: {error}"));
    let removed = remove(&group).map_err(|error| format!("cannot remove {group}: {error}"));
    forked.and(removed)
}

fn fork_into(group: &Enclosure) -> Result<(), NoRoot> {
    let alone = SingleThread::check()?;
    // Any program will do: it is never executed.
    let program = text::bytes(std::env::current_exe()?);
    let plan = Plan::new(vec![program], Vec::new(), place::top().into())?;
    let stdio = Stdio::pipes(false)?;
    // The gate is never opened.
    spawn::start_root(&alone, &plan, &stdio, Some(group))?.abandon();
    Ok(())
}

fn remove(group: &Enclosure) -> io::Result<()> {
    let until = clock::awake() + EMPTY_LIMIT;
    loop {
        match group.remove() {
            Err(_) if clock::awake() < until => {
                poll::wait(&[], Some(Duration::from_millis(2)))?;
            }
            done => return done,
        }
    }
}

/// Reports the limits that a group could have. Tenure sets none; other programs may.
fn controllers(directory: &Path) -> Check {
    let listed = std::fs::read_to_string(directory.join("cgroup.controllers")).unwrap_or_default();
    let (there, missing): (Vec<&str>, Vec<&str>) =
        CONTROLLERS.iter().partition(|name| listed.split_whitespace().any(|its| its == **name));
    let finding = match (there.is_empty(), missing.is_empty()) {
        (_, true) => "memory, cpu and pids can be limited here".to_owned(),
        (true, false) => "neither memory nor cpu nor pids can be limited here".to_owned(),
        (false, false) => {
            format!("{} can be limited here, {} cannot", there.join(" and "), missing.join(" and "))
        }
    };
    if missing.is_empty() {
        return Check::ok("cgroup-controllers", finding);
    }
    let advice = "nothing to do unless you limit runs: Tenure itself sets no limits";
    Check::new("cgroup-controllers", Verdict::Note, finding, advice)
}

/// Returns all findings, for the snapshot. `dir` must be empty.
#[cfg(test)]
#[cfg(unix)]
pub(super) fn samples(settings: &Settings, dir: &Path) -> Vec<Check> {
    let group = |directory: &Path| Ok(OwnGroup { directory: directory.into(), name: "/group".into() });
    let failed = || Some(Err("the kernel says no".to_owned()));
    let controlled = |listed: &str| {
        std::fs::write(dir.join("cgroup.controllers"), listed).expect("the directory is the test's");
        controllers(dir)
    };
    vec![
        judge(settings, &group(dir), Some(Ok(()))),
        judge(settings, &group(dir), None),
        judge(settings, &Err(io::Error::other("no mount of cgroup2")), failed()),
        judge(settings, &group(&dir.join("none")), failed()),
        judge(settings, &group(dir), failed()),
        without_boundary(),
        job(Ok(())),
        job(Err("access is denied".to_owned())),
        controlled("memory cpu pids"),
        controlled("memory pids"),
        controlled(""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings::load(&[("state", "/nowhere")]).unwrap()
    }

    fn group() -> OwnGroup {
        OwnGroup { directory: "/nowhere/group".into(), name: "/group".into() }
    }

    #[test]
    fn a_successful_trial_means_that_runs_get_a_cgroup() {
        assert_eq!(judge(&settings(), &Ok(group()), Some(Ok(()))).verdict, Verdict::Ok);
    }

    #[test]
    fn a_missing_cgroup_is_reported_with_the_reason_and_advice() {
        let off = judge(&settings(), &Ok(group()), None);
        assert!(off.verdict == Verdict::Note && off.finding.contains("switched off by"), "{off:?}");
        let none = judge(&settings(), &Err(io::Error::other("no mount")), Some(Err("x".into())));
        assert!(none.finding.ends_with("no mount") && none.advice.is_some(), "{none:?}");
        let undelegated = judge(&settings(), &Ok(group()), Some(Err("x".into())));
        assert!(undelegated.finding.contains("not delegated"), "{undelegated:?}");
        assert!(undelegated.advice.is_some_and(|advice| advice.contains("tenure daemon install")));
    }

    #[test]
    fn a_trial_leaves_nothing_behind() {
        let Ok(group) = host::own_group() else { return };
        let instance = InstanceId::from_random(random::bytes().unwrap());
        // A process with more than one thread cannot fork, so this is also the trial that fails half-way.
        let _ = try_as(&instance, &RunId::from_random([1; 12]));
        assert!(!group.directory.join(format!("tenure-{instance}")).exists());
    }
}
