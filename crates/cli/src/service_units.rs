//! Definitions that make a service manager run the daemon: a systemd unit, a launchd job, a Windows task. Pure: `daemon
//! install` writes them.

use std::fmt::Write;
use std::path::Path;

/// Name of the systemd unit.
pub(crate) const SYSTEMD_NAME: &str = "tenure.service";
/// Label of the launchd job.
pub(crate) const LAUNCHD_LABEL: &str = "dev.tenure.daemon";
/// Name of the scheduled task.
pub(crate) const SCHEDULER_NAME: &str = "Tenure";

/// Descriptor limit: enough for thousands of runs, with a few each.
const DESCRIPTORS: u32 = 1_048_576;

/// Seconds without a watchdog notification after which systemd replaces the daemon.
const WATCHDOG: u64 = tenure_core::defaults::REPLACE_AFTER.as_secs();

/// Owner of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The daemon of one user.
    User,
    /// The daemon of the system.
    System,
}

/// Program, environment and owner of the daemon.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit<'a> {
    /// Absolute path of this program.
    pub(crate) program: &'a Path,
    /// Variables that make the daemon use the same files.
    pub(crate) env: &'a [(String, String)],
    pub(crate) scope: Scope,
}

/// Formats the systemd unit.
pub(crate) fn systemd(unit: &Unit<'_>) -> String {
    let program = quoted(&unit.program.display().to_string());
    let mut env = String::new();
    for (name, value) in unit.env {
        let _ = writeln!(env, "Environment={}", quoted(&format!("{name}={value}")));
    }
    let (state, target) = match unit.scope {
        Scope::User => ("", "default.target"),
        Scope::System if unit.env.iter().any(|(name, _)| name == "TENURE_STATE") => ("", "multi-user.target"),
        // A system service has no home directory for its state.
        Scope::System => (
            "Environment=TENURE_STATE=/var/lib/tenure\nStateDirectory=tenure\nStateDirectoryMode=0700\n",
            "multi-user.target",
        ),
    };
    format!(
        "[Unit]\n\
         Description=Tenure, a supervisor for the process trees of agents\n\
         \n\
         [Service]\n\
         Type=notify\n\
         ExecStart={program} daemon run\n\
         ExecStop={program} daemon stop\n\
         {env}{state}\
         Restart=on-failure\n\
         # A daemon that hangs is killed and started again; runs go on.\n\
         WatchdogSec={WATCHDOG}\n\
         WatchdogSignal=SIGKILL\n\
         # Each run gets a cgroup of its own below this unit's.\n\
         Delegate=yes\n\
         # Runs outlive the daemon: stopping or restarting it must not end them.\n\
         KillMode=process\n\
         # One run out of memory is that run's end, not the daemon's.\n\
         OOMPolicy=continue\n\
         # The runs' processes count as this unit's.\n\
         TasksMax=infinity\n\
         LimitNOFILE={DESCRIPTORS}\n\
         \n\
         [Install]\n\
         WantedBy={target}\n"
    )
}

/// Quotes a word for systemd: `%` begins a specifier, and a backslash an escape.
fn quoted(text: &str) -> String {
    let mut word = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => word.extend(['\\', c]),
            '%' => word.push_str("%%"),
            '\n' => word.push_str("\\n"),
            _ => word.push(c),
        }
    }
    word.push('"');
    word
}

/// Formats the launchd job.
pub(crate) fn launchd(unit: &Unit<'_>) -> String {
    let program = escaped(&unit.program.display().to_string());
    let mut env = String::new();
    for (name, value) in unit.env {
        let _ = write!(env, "    <key>{}</key>\n    <string>{}</string>\n", escaped(name), escaped(value));
    }
    if !env.is_empty() {
        env = format!("  <key>EnvironmentVariables</key>\n  <dict>\n{env}  </dict>\n");
    }
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LAUNCHD_LABEL}</string>
  <key>ProgramArguments</key>
  <array>
    <string>{program}</string>
    <string>daemon</string>
    <string>run</string>
  </array>
{env}  <key>RunAtLoad</key>
  <true/>
  <!-- Again after a failure, not after a stop. -->
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <!-- Runs must not be slower than commands that users start themselves. -->
  <key>ProcessType</key>
  <string>Interactive</string>
  <!-- Runs outlive the daemon. -->
  <key>AbandonProcessGroup</key>
  <true/>
  <key>SoftResourceLimits</key>
  <dict>
    <key>NumberOfFiles</key>
    <integer>{DESCRIPTORS}</integer>
  </dict>
</dict>
</plist>
"#
    )
}

/// Formats the Windows task, which starts the daemon when this user logs on. Without these settings, the scheduler would end
/// the task after three days or on battery, run it with low priority, and show a console window that a user may close.
pub(crate) fn scheduler(unit: &Unit<'_>, user: &str) -> String {
    let (program, user) = (escaped(&unit.program.display().to_string()), escaped(user));
    format!(
        r#"<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Tenure, a supervisor for the process trees of agents</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>{user}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>{user}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <AllowStartOnDemand>true</AllowStartOnDemand>
    <Enabled>true</Enabled>
    <Hidden>true</Hidden>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Priority>5</Priority>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>255</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>%SystemRoot%\System32\conhost.exe</Command>
      <Arguments>--headless "{program}" daemon run</Arguments>
    </Exec>
  </Actions>
</Task>
"#
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn text(scope: Scope, pairs: &[(&str, &str)]) -> String {
        systemd(&Unit { program: Path::new("/opt/my tools/tenure"), env: &env(pairs), scope })
    }

    #[track_caller]
    fn has(text: &str, line: &str) {
        assert!(text.lines().any(|its| its == line), "no line {line:?} in\n{text}");
    }

    #[test]
    fn a_unit_keeps_runs_alive_and_in_their_own_cgroups() {
        for scope in [Scope::User, Scope::System] {
            let text = text(scope, &[]);
            for line in [
                "Type=notify",
                "ExecStart=\"/opt/my tools/tenure\" daemon run",
                "ExecStop=\"/opt/my tools/tenure\" daemon stop",
                "Restart=on-failure",
                "WatchdogSec=60",
                "WatchdogSignal=SIGKILL",
                "Delegate=yes",
                "KillMode=process",
                "OOMPolicy=continue",
                "TasksMax=infinity",
                "LimitNOFILE=1048576",
            ] {
                has(&text, line);
            }
        }
    }

    #[test]
    fn each_scope_has_its_systemd_target() {
        has(&text(Scope::User, &[]), "WantedBy=default.target");
        has(&text(Scope::System, &[]), "WantedBy=multi-user.target");
    }

    #[test]
    fn a_service_of_the_system_has_a_state_root() {
        has(&text(Scope::System, &[]), "Environment=TENURE_STATE=/var/lib/tenure");
        has(&text(Scope::System, &[]), "StateDirectoryMode=0700");
        let named = text(Scope::System, &[("TENURE_STATE", "/s")]);
        has(&named, "Environment=\"TENURE_STATE=/s\"");
        assert!(!named.contains("/var/lib"), "{named}");
        assert!(!text(Scope::User, &[]).contains("TENURE_STATE"));
    }

    #[test]
    fn the_special_characters_of_systemd_are_escaped() {
        has(&text(Scope::User, &[("A", "50% \"x\" \\y\nz")]), r#"Environment="A=50%% \"x\" \\y\nz""#);
    }

    #[test]
    fn a_job_of_launchd_keeps_runs_alive() {
        let program = Path::new("/opt/a&b/tenure");
        let text = launchd(&Unit { program, env: &env(&[("TENURE_STATE", "/<s>")]), scope: Scope::User });
        assert!(text.contains("<key>AbandonProcessGroup</key>\n  <true/>"), "{text}");
        assert!(text.contains("<key>ProcessType</key>\n  <string>Interactive</string>"), "{text}");
        assert!(text.contains("<key>SuccessfulExit</key>\n    <false/>"), "{text}");
        assert!(text.contains("<string>/opt/a&amp;b/tenure</string>\n    <string>daemon</string>"), "{text}");
        assert!(text.contains("<key>TENURE_STATE</key>\n    <string>/&lt;s&gt;</string>"), "{text}");
        let bare = launchd(&Unit { program, env: &[], scope: Scope::User });
        assert!(!bare.contains("EnvironmentVariables"));
    }

    #[test]
    fn a_task_starts_with_its_user_and_is_never_ended_by_the_scheduler() {
        let program = Path::new(r"C:\a&b\tenure.exe");
        let text = scheduler(&Unit { program, env: &[], scope: Scope::User }, r"HOME\me");
        for line in [
            r"      <UserId>HOME\me</UserId>",
            "    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>",
            "    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>",
            "      <Interval>PT1M</Interval>",
            r"      <Command>%SystemRoot%\System32\conhost.exe</Command>",
            r#"      <Arguments>--headless "C:\a&amp;b\tenure.exe" daemon run</Arguments>"#,
        ] {
            has(&text, line);
        }
        assert!(text.contains("<LogonTrigger>") && text.contains("<RestartOnFailure>"), "{text}");
    }
}
