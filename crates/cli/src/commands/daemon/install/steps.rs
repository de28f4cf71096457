//! System commands to run, in order, after the unit, job or task is written. Pure.

use crate::service_units::{LAUNCHD_LABEL, SCHEDULER_NAME, SYSTEMD_NAME, Scope};
use std::path::Path;

/// A system command to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) words: Vec<String>,
    /// True if the installation fails without it.
    pub(super) required: bool,
    /// Consequence of its failure, for the message.
    pub(super) on_failure: &'static str,
    /// Exit code that means: try again in a moment.
    pub(super) retry_code: Option<i32>,
}

impl Step {
    pub(super) fn line(&self) -> String {
        self.words.join(" ")
    }
}

fn step(words: &[&str], required: bool, on_failure: &'static str) -> Step {
    let words = words.iter().filter(|word| !word.is_empty()).map(|&word| word.to_owned()).collect();
    Step { words, required, on_failure, retry_code: None }
}

pub(super) fn systemd(scope: Scope, now: bool, user: &str) -> Vec<Step> {
    let (of_user, now) = (if scope == Scope::User { "--user" } else { "" }, if now { "--now" } else { "" });
    let mut steps = vec![
        step(&["systemctl", of_user, "daemon-reload"], true, ""),
        step(&["systemctl", of_user, "enable", now, SYSTEMD_NAME], true, ""),
    ];
    if scope == Scope::User {
        let on_failure = "without lingering the daemon, and its runs' cgroups, end with your last session: ask an \
                         administrator to run it";
        steps.push(step(&["loginctl", "enable-linger", user], false, on_failure));
    }
    steps
}

/// Exit code of launchctl while an older job of that name is still being removed ("input/output error").
const STILL_REMOVING: i32 = 5;

/// Steps for launchd. It loads and starts the job at the next login by itself; loading the job now starts it now.
pub(super) fn launchd(scope: Scope, now: bool, uid: &str, path: &Path) -> Vec<Step> {
    if !now {
        return Vec::new();
    }
    let domain = match scope {
        Scope::User => format!("gui/{uid}"),
        Scope::System => "system".to_owned(),
    };
    let path = path.display().to_string();
    let older = "there was no older job to replace";
    let bootstrap = step(&["launchctl", "bootstrap", &domain, &path], true, "");
    vec![
        step(&["launchctl", "bootout", &format!("{domain}/{LAUNCHD_LABEL}")], false, older),
        Step { retry_code: Some(STILL_REMOVING), ..bootstrap },
    ]
}

/// Steps for the task scheduler. A task has no environment of its own, so the daemon's variables become the user's.
pub(super) fn scheduler(now: bool, env: &[(String, String)], path: &Path) -> Vec<Step> {
    let mut steps: Vec<Step> =
        env.iter().map(|(name, value)| step(&["setx", name, value], true, "")).collect();
    let path = path.display().to_string();
    steps.push(step(&["schtasks", "/Create", "/F", "/TN", SCHEDULER_NAME, "/XML", &path], true, ""));
    if now {
        steps.push(step(&["schtasks", "/Run", "/TN", SCHEDULER_NAME], true, ""));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(steps: &[Step]) -> Vec<String> {
        steps.iter().map(Step::line).collect()
    }

    #[test]
    fn a_users_daemon_outlives_its_sessions() {
        let user = [
            "systemctl --user daemon-reload",
            "systemctl --user enable tenure.service",
            "loginctl enable-linger me",
        ];
        assert_eq!(lines(&systemd(Scope::User, false, "me")), user);
        let linger = systemd(Scope::User, false, "me").pop().unwrap();
        assert!(
            !linger.required && linger.on_failure.contains("last session"),
            "a failure is reported and ignored"
        );
    }

    #[test]
    fn a_systems_daemon_needs_no_lingering() {
        let system = ["systemctl daemon-reload", "systemctl enable --now tenure.service"];
        assert_eq!(lines(&systemd(Scope::System, true, "me")), system);
    }

    #[test]
    fn a_job_is_loaded_into_the_domain_of_its_user() {
        let path = Path::new("/l/dev.tenure.daemon.plist");
        assert_eq!(lines(&launchd(Scope::User, false, "501", path)), Vec::<String>::new());
        let user = [
            "launchctl bootout gui/501/dev.tenure.daemon",
            "launchctl bootstrap gui/501 /l/dev.tenure.daemon.plist",
        ];
        let steps = launchd(Scope::User, true, "501", path);
        assert_eq!(lines(&steps), user);
        assert!(!steps[0].required && steps[1].required);
        assert_eq!(steps[1].retry_code, Some(5), "the older job may take a moment to leave");
        assert!(
            lines(&launchd(Scope::System, true, "0", path))[1].starts_with("launchctl bootstrap system ")
        );
    }

    #[test]
    fn a_task_is_replaced_and_the_daemons_variables_are_set_for_the_user() {
        let env = [("TENURE_STATE".to_owned(), "D:\\state".to_owned())];
        let path = Path::new("task.xml");
        assert_eq!(
            lines(&scheduler(true, &env, path)),
            [
                "setx TENURE_STATE D:\\state",
                "schtasks /Create /F /TN Tenure /XML task.xml",
                "schtasks /Run /TN Tenure"
            ]
        );
        assert_eq!(lines(&scheduler(false, &[], path)).len(), 1);
    }
}
