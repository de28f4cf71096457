//! Checks that a daemon runs and answers, and reports the events that would end it.

use super::{Check, Verdict};
use crate::daemon_client;
use crate::failure::Failure;
use std::net::SocketAddr;
use tenure_client::{CallError, Client};
use tenure_core::duration::show;
use tenure_os::file::Dir;
use tenure_os::host;
use tenure_os::lock::{self, Holder};
use tenure_os::service::{self, Manager};
use tenure_os::socket::Conn;
use tenure_settings::Settings;

/// The lock that a daemon holds for its whole life.
const LOCK: &str = "daemon.lock";
const SOCKET: &str = "daemon.sock";
const LIFETIME: &str = "daemon-fate";

pub(super) fn checks(settings: &Settings) -> Vec<Check> {
    let mut checks = vec![running(settings)];
    checks.extend(listening(settings));
    match service::manager() {
        Manager::Systemd => {
            let seen = ServiceState::read();
            checks.push(seen.lifetime());
            checks.extend(seen.lingering());
        }
        Manager::Launchd => checks.push(with_launchd()),
        Manager::Scheduler => checks.push(with_scheduler(host::bound_to())),
    }
    checks
}

fn with_launchd() -> Check {
    Check::new(
        LIFETIME,
        Verdict::Note,
        "a daemon that is started from here runs until it is stopped, or the machine shuts down",
        "`tenure daemon install` lets launchd start it when you log in, and restart it if it dies",
    )
}

fn with_scheduler(bound_to: Option<String>) -> Check {
    Check::new(
        LIFETIME,
        Verdict::Note,
        match bound_to {
            Some(what) => format!("a daemon that is started from here ends with {what}"),
            None => "a daemon that is started from here runs until it is stopped, or you log off".to_owned(),
        },
        "`tenure daemon install` lets the task scheduler start it when you log on, and restart it if it dies",
    )
}

fn running(settings: &Settings) -> Check {
    const NAME: &str = "daemon";
    let starts = if settings.autostart {
        "the next command that needs one starts it"
    } else {
        "`tenure daemon start`"
    };
    let none = |finding: &str| Check::new(NAME, Verdict::Note, finding, starts);
    let Ok(dir) = Dir::open(&settings.state) else {
        return none("no daemon runs: there is no state root yet");
    };
    let answers = Conn::connect(&dir, SOCKET);
    match (lock::holder(&dir, LOCK), answers) {
        (Ok(Holder::Somebody), Ok(_)) => {
            let answer = daemon_client::try_call(Client::new(&settings.state).health());
            probed(settings, answer.map(|answer| answer.map(drop)))
        }
        (Ok(Holder::Somebody), Err(error)) => Check::new(
            NAME,
            Verdict::Problem,
            format!("the daemon runs, but does not accept connections: {error}"),
            "if it does not finish starting, see daemon.log in the state root, then `tenure daemon stop` and `start`",
        ),
        (Ok(Holder::Nobody), Ok(_)) => Check::new(
            NAME,
            Verdict::Warning,
            format!("another program accepts connections on {SOCKET}: it does not hold {LOCK}"),
            "find the program that listens there, and stop it: it is not this Tenure's daemon",
        ),
        (Ok(Holder::Nobody), Err(_)) => none("no daemon runs"),
        (Err(error), _) => Check::new(
            NAME,
            Verdict::Problem,
            format!("{LOCK}: {error}"),
            "make this user the owner of the state root",
        ),
    }
}

/// Checks that a daemon with a working socket answers.
fn probed(settings: &Settings, answer: Result<Result<(), CallError>, Failure>) -> Check {
    const NAME: &str = "daemon";
    let replaced = match settings.daemon.replace_after {
        Some(limit) => format!("the warden replaces a daemon that hangs for {}", show(limit)),
        None => "a daemon that hangs is not replaced (daemon.replace-after is off)".to_owned(),
    };
    match answer {
        Ok(Ok(())) => Check::ok(NAME, format!("runs and answers; {replaced}")),
        Ok(Err(failed)) => {
            let finding = match failed {
                CallError::Silent { pid: Some(pid) } => format!("the daemon (pid {pid}) does not answer"),
                CallError::Silent { pid: None } => "the daemon does not answer".to_owned(),
                failed => failed.to_string(),
            };
            let advice = format!("{replaced}; `tenure daemon stop` ends it now, and runs go on");
            Check::new(NAME, Verdict::Problem, finding, advice)
        }
        Err(failure) => {
            Check::new(NAME, Verdict::Problem, failure.text(), "see daemon.log in the state root")
        }
    }
}

/// Checks that a running daemon listens on its loopback address.
fn listening(settings: &Settings) -> Option<Check> {
    let address = settings.api.listen?;
    let health = daemon_client::call(daemon_client::connect(settings)?.health()).ok()?;
    Some(listens(address, health.listen_error))
}

fn listens(address: SocketAddr, error: Option<String>) -> Check {
    const NAME: &str = "api-address";
    match error {
        None => Check::ok(NAME, format!("the daemon listens on {address}")),
        Some(error) => Check::new(
            NAME,
            Verdict::Problem,
            error,
            "stop the program that uses the port, or set another api.listen; do not send the token there",
        ),
    }
}

/// Observations that decide when a daemon that is started from here would end.
#[derive(Debug, Clone)]
struct ServiceState {
    systemd: bool,
    manager: Result<(), String>,
    /// The name of this process's cgroup.
    group: Option<String>,
    lingers: Option<bool>,
    is_root: bool,
}

impl ServiceState {
    fn read() -> Self {
        Self {
            systemd: host::has_systemd(),
            manager: host::user_manager(),
            group: host::own_group().ok().map(|group| group.name),
            lingers: host::lingers(),
            is_root: host::is_root(),
        }
    }

    /// Reports the unit or session whose end would also end the daemon.
    fn lifetime(&self) -> Check {
        const NAME: &str = LIFETIME;
        let unit = self.group.as_deref().map_or("", |name| name.rsplit('/').next().unwrap_or_default());
        match (self.systemd, &self.manager) {
            (true, Ok(())) => Check::ok(NAME, "your systemd answers: the daemon can have a unit of its own"),
            (true, Err(_)) if self.is_root => {
                let finding =
                    format!("a daemon that is started from here would end with {}", unit_name(unit));
                Check::new(NAME, Verdict::Note, finding, "`tenure daemon install --system`")
            }
            (true, Err(why)) => Check::new(
                NAME,
                Verdict::Warning,
                format!(
                    "your systemd cannot be reached ({why}): the daemon would end with {}",
                    unit_name(unit)
                ),
                "log in as this user instead of using su or sudo, or set XDG_RUNTIME_DIR",
            ),
            (false, _) => Check::new(
                NAME,
                Verdict::Note,
                "systemd does not run here: the daemon runs until it is stopped, or its container ends",
                "let this machine's service manager run `tenure daemon run`",
            ),
        }
    }

    fn lingering(&self) -> Option<Check> {
        const NAME: &str = "linger";
        match (self.systemd && !self.is_root, self.lingers) {
            (false, _) | (true, None) => None,
            (true, Some(true)) => Some(Check::ok(NAME, "your services keep running after you log out")),
            (true, Some(false)) => Some(Check::new(
                NAME,
                Verdict::Note,
                "your services, including the daemon, end when you log out",
                "`loginctl enable-linger`; `tenure daemon install` does it, too",
            )),
        }
    }
}

fn unit_name(unit: &str) -> String {
    match unit {
        "" => "this machine".to_owned(),
        unit if unit.starts_with("session-") => format!("the session that this shell is in ({unit})"),
        unit => unit.to_owned(),
    }
}

/// Returns all findings that need no process, for the snapshot.
#[cfg(test)]
#[cfg(unix)]
pub(super) fn samples(settings: &Settings) -> Vec<Check> {
    let address = SocketAddr::from(([127, 0, 0, 1], 7070));
    let silent = |pid| Ok(Err(CallError::Silent { pid }));
    let good = ServiceState {
        systemd: true,
        manager: Ok(()),
        group: Some("/user.slice/session-3.scope".into()),
        lingers: Some(true),
        is_root: false,
    };
    let unreachable = ServiceState { manager: Err("no bus".into()), lingers: Some(false), ..good.clone() };
    let seen = [
        good.clone(),
        unreachable.clone(),
        ServiceState { is_root: true, ..unreachable.clone() },
        ServiceState { group: None, lingers: None, ..unreachable },
        ServiceState { systemd: false, ..good },
    ];
    let mut samples = vec![
        running(settings),
        probed(settings, Ok(Ok(()))),
        probed(settings, silent(Some(4_242))),
        probed(settings, silent(None)),
        probed(settings, Err(Failure::refused("no threads can be had"))),
        listens(address, None),
        listens(address, Some(format!("{address}: address in use"))),
        with_launchd(),
        with_scheduler(None),
        with_scheduler(Some("the job that this shell is in".to_owned())),
    ];
    for seen in seen {
        samples.push(seen.lifetime());
        samples.extend(seen.lingering());
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> ServiceState {
        ServiceState {
            systemd: true,
            manager: Ok(()),
            group: Some("/user.slice/session-3.scope".into()),
            lingers: Some(true),
            is_root: false,
        }
    }

    fn settings(state: &std::path::Path) -> Settings {
        Settings::load(&[("state", state.to_str().unwrap())]).unwrap()
    }

    #[test]
    fn a_daemon_that_would_end_with_a_session_is_reported() {
        assert_eq!(seen().lifetime().verdict, Verdict::Ok);
        let alone = ServiceState { manager: Err("no socket".into()), ..seen() }.lifetime();
        assert!(alone.verdict == Verdict::Warning && alone.finding.contains("session-3.scope"), "{alone:?}");
        let bare = ServiceState { systemd: false, ..seen() }.lifetime();
        assert!(bare.verdict == Verdict::Note && bare.finding.contains("does not run here"), "{bare:?}");
    }

    #[test]
    fn a_user_without_lingering_gets_advice() {
        assert_eq!(seen().lingering().unwrap().verdict, Verdict::Ok);
        let check = ServiceState { lingers: Some(false), ..seen() }.lingering().unwrap();
        assert!(check.advice.unwrap().contains("enable-linger"));
        assert_eq!(ServiceState { is_root: true, ..seen() }.lingering(), None);
    }

    #[test]
    fn without_a_lock_holder_no_daemon_runs() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(running(&settings(&dir.path().join("none"))).verdict, Verdict::Note);
        std::fs::write(dir.path().join(LOCK), "").unwrap();
        let check = running(&settings(dir.path()));
        assert_eq!((check.verdict, &*check.finding), (Verdict::Note, "no daemon runs"));
    }

    #[test]
    fn a_listener_without_the_lock_is_reported_as_another_program() {
        let dir = tempfile::tempdir().unwrap();
        let _listener = tenure_os::socket::Listener::bind(&Dir::open(dir.path()).unwrap(), SOCKET).unwrap();
        assert_eq!(running(&settings(dir.path())).verdict, Verdict::Warning);
    }
}
