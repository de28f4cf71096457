//! `tenure daemon install`: let the system's service manager start the daemon. Writes the unit, then runs the manager's
//! commands ([`steps`]). If there is no manager to install it with, prints the unit instead.

mod steps;

use crate::args::{InstallArgs, ManagerArg};
use crate::failure::Failure;
use crate::service_units::{self, LAUNCHD_LABEL, SYSTEMD_NAME, Scope, Unit};
use crate::{print, settings};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;
use steps::Step;
use tenure_os::service::{self, Manager};
use tenure_os::stderr::complain;
use tenure_os::{clock, environment, host, place, poll};
use tenure_settings::Settings;

pub(crate) fn run(args: &InstallArgs) -> Result<u8, Failure> {
    let settings = settings::load()?;
    let program = env::current_exe().map_err(Failure::refused)?;
    let env: Vec<(String, String)> =
        settings.pinned().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let manager = args.manager.map_or_else(service::manager, Manager::from);
    let scope = scope(args, manager)?;
    let unit = Unit { program: &program, env: &env, scope };
    let text = match manager {
        Manager::Systemd => service_units::systemd(&unit),
        Manager::Launchd => service_units::launchd(&unit),
        Manager::Scheduler => service_units::scheduler(&unit, &environment::user()),
    };
    if args.print {
        print::line(text.trim_end())?;
        return Ok(0);
    }
    if manager != service::manager() {
        return Err(Failure::refused(wrong_system(manager)));
    }
    let path = path(manager, scope, &settings).ok_or_else(|| {
        Failure::refused(format!("no home directory to install the unit in: set {}", place::home_variable()))
    })?;
    if let Some(why) = missing_manager(manager, scope) {
        complain(format_args!("nothing is installed: {why}; the content of {} would be:", path.display()));
        print::line(text.trim_end())?;
        return Ok(1);
    }
    write(&path, &encoded(manager, &text))
        .map_err(|error| Failure::refused(format!("{}: {error}{}", path.display(), advice(scope))))?;
    print::line(&format!("wrote {}", path.display()))?;
    let steps = match manager {
        Manager::Systemd => steps::systemd(scope, args.now, &user()),
        Manager::Launchd => steps::launchd(scope, args.now, &environment::user(), &path),
        Manager::Scheduler => steps::scheduler(args.now, &env, &path),
    };
    for step in steps {
        match run_step(&step) {
            Ok(()) => print::line(&format!("done: {}", step.line()))?,
            Err(why) if step.required => return Err(Failure::refused(format!("{}: {why}", step.line()))),
            Err(why) => complain(format_args!("{}: {why}; {}", step.line(), step.on_failure)),
        }
    }
    Ok(0)
}

/// Scope of the installation: the system's daemon or the user's.
fn scope(args: &InstallArgs, manager: Manager) -> Result<Scope, Failure> {
    let of_system = args.system || (!args.user && host::is_root());
    match manager {
        Manager::Scheduler if args.system => {
            Err(Failure::refused("a scheduled task belongs to one user: install it without --system"))
        }
        Manager::Systemd | Manager::Launchd if of_system => Ok(Scope::System),
        Manager::Systemd | Manager::Launchd | Manager::Scheduler => Ok(Scope::User),
    }
}

impl From<ManagerArg> for Manager {
    fn from(named: ManagerArg) -> Self {
        match named {
            ManagerArg::Systemd => Manager::Systemd,
            ManagerArg::Launchd => Manager::Launchd,
            ManagerArg::Scheduler => Manager::Scheduler,
        }
    }
}

/// Error for a service manager that this system does not have.
fn wrong_system(manager: Manager) -> &'static str {
    match manager {
        Manager::Systemd => "this is not Linux: write the unit with --print and take it there",
        Manager::Launchd => "this is not macOS: write the job with --print and take it there",
        Manager::Scheduler => "this is not Windows: write the task with --print and take it there",
    }
}

/// Time limit for the retries of a step.
const RETRY_LIMIT: Duration = Duration::from_secs(15);
/// Pause before each retry of a step.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

fn run_step(step: &Step) -> Result<(), String> {
    let deadline = clock::awake() + RETRY_LIMIT;
    loop {
        let output = try_once(step)?;
        if output.status.success() {
            return Ok(());
        }
        let is_temporary = step.retry_code.is_some() && output.status.code() == step.retry_code;
        if !is_temporary || clock::awake() > deadline {
            return Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', " "));
        }
        poll::wait(&[], Some(RETRY_INTERVAL)).map_err(|error| error.to_string())?;
    }
}

#[expect(clippy::disallowed_methods, reason = "set-up: the system's own tools, which end by themselves")]
fn try_once(step: &Step) -> Result<Output, String> {
    let (program, words) = step.words.split_first().ok_or("internal error: the step has no command")?;
    let output = std::process::Command::new(program).args(words).stdin(Stdio::null()).output();
    output.map_err(|error| error.to_string())
}

/// File of the unit, job or task.
fn path(manager: Manager, scope: Scope, settings: &Settings) -> Option<PathBuf> {
    let variables = |name: &str| env::var_os(name);
    let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || place::home(&variables);
    match (manager, scope) {
        (Manager::Systemd, Scope::System) => Some(Path::new("/etc/systemd/system").join(SYSTEMD_NAME)),
        (Manager::Systemd, Scope::User) => {
            let config = named("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config")));
            config.map(|config| config.join("systemd/user").join(SYSTEMD_NAME))
        }
        (Manager::Launchd, scope) => {
            let library = match scope {
                Scope::System => PathBuf::from("/Library/LaunchDaemons"),
                Scope::User => home()?.join("Library/LaunchAgents"),
            };
            Some(library.join(format!("{LAUNCHD_LABEL}.plist")))
        }
        // The scheduler keeps a copy of its own.
        (Manager::Scheduler, _) => Some(settings.state.join("daemon-task.xml")),
    }
}

/// Encodes a unit as its manager reads it: the scheduler's XML is UTF-16 with a byte order mark.
fn encoded(manager: Manager, text: &str) -> Vec<u8> {
    match manager {
        Manager::Systemd | Manager::Launchd => text.as_bytes().to_vec(),
        Manager::Scheduler => {
            std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
        }
    }
}

/// Reason why the service manager cannot be used, if so.
fn missing_manager(manager: Manager, scope: Scope) -> Option<String> {
    if manager != Manager::Systemd {
        return None;
    }
    if !host::has_systemd() {
        return Some("systemd does not run here".to_owned());
    }
    match scope {
        Scope::User => {
            host::user_manager().err().map(|why| format!("your systemd cannot be reached ({why})"))
        }
        Scope::System => None,
    }
}

fn advice(scope: Scope) -> &'static str {
    if scope == Scope::System && !host::is_root() { "; install a system unit as root" } else { "" }
}

fn user() -> String {
    env::var("USER").unwrap_or_default()
}

/// Writes a unit atomically.
fn write(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let draft = path.with_added_extension("new");
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(&draft, text)?;
    std::fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_replaces_an_older_one_and_leaves_no_draft() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("systemd/user/tenure.service");
        write(&path, b"old and longer").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_task_is_written_as_the_scheduler_reads_it() {
        assert_eq!(encoded(Manager::Scheduler, "<é>"), [0xff, 0xfe, b'<', 0, 0xe9, 0, b'>', 0]);
        assert_eq!(encoded(Manager::Launchd, "é"), "é".as_bytes());
    }
}
