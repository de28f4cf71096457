//! `tenure daemon install`: let the system start the daemon. What is to be done is a list, made first ([`plan`]);
//! then it is done, or printed where there is nobody to do it for.

use crate::args::{InstallArgs, ManagerArg};
use crate::failure::Failure;
use crate::units::{self, SYSTEMD_NAME, Scope, Unit};
use crate::{print, settings};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tenure_os::complaint::complain;
use tenure_os::host;

pub(crate) fn run(args: &InstallArgs) -> Result<u8, Failure> {
    let settings = settings::load()?;
    let program = env::current_exe().map_err(Failure::refused)?;
    let env: Vec<(String, String)> =
        settings.pinned().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let scope = if args.system || (!args.user && host::is_root()) { Scope::System } else { Scope::User };
    let unit = Unit { program: &program, env: &env, scope };
    let text = match args.manager {
        ManagerArg::Systemd => units::systemd(&unit),
        ManagerArg::Launchd => units::launchd(&unit),
    };
    if args.print {
        print::line(text.trim_end())?;
        return Ok(0);
    }
    if args.manager == ManagerArg::Launchd {
        return Err(Failure::refused("this is not macOS: write the job with --print and take it there"));
    }
    let directory = directory(scope)
        .ok_or_else(|| Failure::refused("there is no home to install a unit in: set HOME"))?;
    let path = directory.join(SYSTEMD_NAME);
    if let Some(why) = unmanaged(scope) {
        complain(format_args!("nothing is installed: {why}; {} would be:", path.display()));
        print::line(text.trim_end())?;
        return Ok(1);
    }
    write(&path, &text)
        .map_err(|error| Failure::refused(format!("{}: {error}{}", path.display(), advice(scope))))?;
    print::line(&format!("{} is written", path.display()))?;
    for step in plan(scope, args.now, &user()) {
        match carry_out(&step) {
            Ok(()) => print::line(&format!("done: {}", step.line()))?,
            Err(why) if step.needed => return Err(Failure::refused(format!("{}: {why}", step.line()))),
            Err(why) => complain(format_args!("{}: {why}; {}", step.line(), step.otherwise)),
        }
    }
    Ok(0)
}

/// A command of the system's that is to be run.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    words: Vec<String>,
    /// Whether it is all in vain without it.
    needed: bool,
    /// What it means that it failed.
    otherwise: &'static str,
}

impl Step {
    fn line(&self) -> String {
        self.words.join(" ")
    }
}

/// What is to be done once the unit is written.
fn plan(scope: Scope, now: bool, user: &str) -> Vec<Step> {
    let step = |words: &[&str], needed, otherwise| Step {
        words: words.iter().filter(|word| !word.is_empty()).map(|&word| word.to_owned()).collect(),
        needed,
        otherwise,
    };
    let (of_user, now) = (if scope == Scope::User { "--user" } else { "" }, if now { "--now" } else { "" });
    let mut steps = vec![
        step(&["systemctl", of_user, "daemon-reload"], true, ""),
        step(&["systemctl", of_user, "enable", now, SYSTEMD_NAME], true, ""),
    ];
    if scope == Scope::User {
        let otherwise = "without lingering the daemon, and its runs' cgroups, end with your last session: ask an \
                         administrator to run it";
        steps.push(step(&["loginctl", "enable-linger", user], false, otherwise));
    }
    steps
}

#[expect(clippy::disallowed_methods, reason = "set-up: the system's own tools, which end by themselves")]
fn carry_out(step: &Step) -> Result<(), String> {
    let (program, words) = step.words.split_first().ok_or("there is nothing to run")?;
    let output = std::process::Command::new(program).args(words).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ")),
        Err(error) => Err(error.to_string()),
    }
}

/// Where units are.
fn directory(scope: Scope) -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match scope {
        Scope::System => Some(PathBuf::from("/etc/systemd/system")),
        Scope::User => {
            let config = named("XDG_CONFIG_HOME").or_else(|| named("HOME").map(|home| home.join(".config")));
            config.map(|config| config.join("systemd/user"))
        }
    }
}

/// Why there is nobody to install it for, if so.
fn unmanaged(scope: Scope) -> Option<String> {
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
    if scope == Scope::System && !host::is_root() {
        "; a unit of the system is installed as root"
    } else {
        ""
    }
}

fn user() -> String {
    env::var("USER").unwrap_or_default()
}

/// Writes a unit whole, or not at all.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let draft = path.with_extension("service.new");
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(&draft, text)?;
    std::fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(scope: Scope, now: bool) -> Vec<String> {
        plan(scope, now, "me").iter().map(Step::line).collect()
    }

    #[test]
    fn a_users_daemon_outlives_its_sessions() {
        let user = [
            "systemctl --user daemon-reload",
            "systemctl --user enable tenure.service",
            "loginctl enable-linger me",
        ];
        assert_eq!(lines(Scope::User, false), user);
        let linger = plan(Scope::User, false, "me").pop().unwrap();
        assert!(!linger.needed && linger.otherwise.contains("last session"), "it is said, and no failure");
    }

    #[test]
    fn a_systems_daemon_needs_no_lingering() {
        let system = ["systemctl daemon-reload", "systemctl enable --now tenure.service"];
        assert_eq!(lines(Scope::System, true), system);
    }

    #[test]
    fn a_unit_replaces_an_older_one_and_leaves_no_draft() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("systemd/user/tenure.service");
        write(&path, "old and longer").unwrap();
        write(&path, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
