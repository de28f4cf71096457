//! What encloses the runs that are started from here. The only way to know is to try: a group or job is made, a process is
//! started in it and ended before it executes anything, and the group is removed.

use super::{Check, Verdict};
use std::io;
use std::path::Path;
use std::time::Duration;
use tenure_core::ids::{InstanceId, RunId};
use tenure_os::enclosure::Enclosure;
use tenure_os::family::{self, Family};
use tenure_os::fork::Alone;
use tenure_os::host::{self, OwnGroup};
use tenure_os::spawn::{self, NoRoot, Plan};
use tenure_os::stdio::Stdio;
use tenure_os::{clock, place, poll, random, text};
use tenure_settings::Settings;

/// How long a group may take to be empty once its only process is gone.
const EMPTYING: Duration = Duration::from_secs(1);
/// The controllers that could limit a run.
const CONTROLLERS: [&str; 3] = ["memory", "cpu", "pids"];

const NAME: &str = "boundary";

pub(super) fn checks(settings: &Settings) -> Vec<Check> {
    match family::here() {
        Family::Linux => {
            let group = host::own_group();
            let tried = if settings.cgroup { Some(trial()) } else { None };
            let mut checks = vec![judge(settings, &group, tried)];
            checks.extend(group.ok().map(|group| controllers(&group.directory)));
            checks
        }
        Family::MacOs => vec![unenclosed()],
        Family::Windows => vec![job(trial())],
    }
}

/// Where the system has nothing that processes cannot leave.
fn unenclosed() -> Check {
    let finding =
        "runs are held by their keeper, by session, group and lease: macOS has nothing that encloses them";
    let advice = "nothing: what leaves all three is named in the run's ending where it can be seen";
    Check::new(NAME, Verdict::Note, finding, advice)
}

/// Where runs get a job.
fn job(tried: Result<(), String>) -> Check {
    match tried {
        Ok(()) => Check::ok(NAME, "runs get a job, which nothing that they start leaves"),
        Err(why) => Check::new(
            NAME,
            Verdict::Problem,
            format!("a run cannot have a job: {why}"),
            "start Tenure from where jobs can be nested: Windows 8 or newer, and no job that forbids it",
        ),
    }
}

/// What runs get, and why not more.
fn judge(settings: &Settings, group: &io::Result<OwnGroup>, tried: Option<Result<(), String>>) -> Check {
    const ALONE: &str = "runs are held by their keeper alone, which holds everything while it lives";
    let note = |why: String, advice: &str| Check::new(NAME, Verdict::Note, format!("{ALONE}: {why}"), advice);
    let (group, tried) = match (group, tried) {
        (_, None) => {
            let why = format!("cgroups are switched off by {}", settings.origin("cgroup"));
            return note(
                why,
                "set cgroup to on, so that a run whose keeper is killed is still ended at once",
            );
        }
        (Err(error), _) => {
            return note(error.to_string(), "mount cgroups of version 2 where this process can see its own");
        }
        (Ok(group), Some(tried)) => (group, tried),
    };
    let delegate = "let systemd delegate a group: `tenure daemon install`, or start from \
                    `systemd-run --user --scope -p Delegate=yes bash`";
    match tried {
        Ok(()) => Check::ok(
            NAME,
            format!("runs get a cgroup below {}, beside their keeper", group.directory.display()),
        ),
        Err(why) => match host::may_write(&group.directory) {
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => note(
                format!("{} is mounted read-only", group.directory.display()),
                "in a container: mount it writable",
            ),
            Err(_) => note(format!("{} is not delegated to this user", group.directory.display()), delegate),
            Ok(()) => note(why, delegate),
        },
    }
}

/// Makes a group under a name that no run has, forks into it, and removes it.
fn trial() -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    let instance = InstanceId::from_random(random::bytes().map_err(text)?);
    try_as(&instance, &RunId::from_random(random::bytes().map_err(text)?))
}

fn try_as(instance: &InstanceId, run: &RunId) -> Result<(), String> {
    let group = Enclosure::make(true, instance, run)?;
    let forked =
        fork_into(&group).map_err(|error| format!("a process cannot be forked into a group: {error}"));
    let removed = remove(&group).map_err(|error| format!("{group} cannot be removed: {error}"));
    forked.and(removed)
}

fn fork_into(group: &Enclosure) -> Result<(), NoRoot> {
    let alone = Alone::check()?;
    // Any program will do.
    let program = text::bytes(std::env::current_exe()?);
    let plan = Plan::new(vec![program], Vec::new(), place::top().into())?;
    let stdio = Stdio::pipes(false)?;
    // The gate is never opened.
    spawn::start_root(&alone, &plan, &stdio, Some(group))?.abandon();
    Ok(())
}

fn remove(group: &Enclosure) -> io::Result<()> {
    let until = clock::awake() + EMPTYING;
    loop {
        match group.remove() {
            Err(_) if clock::awake() < until => {
                poll::wait(&[], Some(Duration::from_millis(2)))?;
            }
            done => return done,
        }
    }
}

/// Which limits a group here could have. Tenure sets none yet, so this is for whoever does.
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
    let advice = "nothing, unless runs are to be limited: Tenure itself sets no limits";
    Check::new("cgroup-controllers", Verdict::Note, finding, advice)
}

/// Every finding, for its snapshot. The directory is empty.
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
        unenclosed(),
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
    fn a_group_that_was_tried_is_what_runs_get() {
        assert_eq!(judge(&settings(), &Ok(group()), Some(Ok(()))).verdict, Verdict::Ok);
    }

    #[test]
    fn without_a_group_it_is_said_why_and_what_to_do() {
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
