//! Gaps of a system. Each entry is skipped by name, prints so, and is documented in `docs/platforms.md`.

use std::io::Write;

/// A scenario that one system cannot show.
#[derive(Debug)]
pub struct Exception {
    /// The scenario, or the part of it.
    pub scenario: &'static str,
    /// `linux`, `macos`, `windows`, or `wine` where only Wine cannot.
    pub system: &'static str,
    /// The reason.
    pub reason: &'static str,
}

/// All exceptions.
pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        scenario: "manual-cancel: leaving when asked",
        system: "wine",
        reason: "Ctrl-Break never reaches a program's handler under Wine, so whoever is asked to leave is killed after the grace",
    },
    Exception {
        scenario: "restart-reconcile: an end that is confirmed",
        system: "macos",
        reason: "orphans of a killed keeper go to launchd, and one that cleared its environment is found by nobody",
    },
];

/// Returns true if the scenario is skipped on this system, and prints so.
pub fn skipped(scenario: &str) -> bool {
    let here = system();
    let found = EXCEPTIONS.iter().find(|one| one.scenario == scenario && is_of(one.system, here));
    if let Some(Exception { system, reason, .. }) = found {
        // Past the test harness, which hides the output of a passing test.
        let _ = writeln!(std::io::stdout(), "skipped: {scenario} on {system}: {reason}");
    }
    found.is_some()
}

/// The system of this test.
pub fn system() -> &'static str {
    if tenure_os::platform::is_wine() { "wine" } else { std::env::consts::OS }
}

/// True if an exception of `system` holds on `here`: Wine has all gaps of Windows.
fn is_of(system: &str, here: &str) -> bool {
    system == here || (system == "windows" && here == "wine")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_exception_is_documented() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let entries = std::fs::read_dir(&docs).expect("the documentation").flatten();
        let files = entries.filter(|file| file.file_name().to_string_lossy().starts_with("platforms"));
        let text: String = files.map(|file| std::fs::read_to_string(file.path()).expect("a page")).collect();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for Exception { scenario, system, reason } in EXCEPTIONS {
            for told in [format!("`{scenario}` on {system}"), (*reason).to_owned()] {
                assert!(text.contains(&told), "docs/platforms.md does not say: {told}");
            }
        }
    }

    #[test]
    fn windows_exceptions_apply_to_wine_but_not_the_reverse() {
        assert!(is_of("windows", "wine") && is_of("windows", "windows") && is_of("wine", "wine"));
        assert!(!is_of("wine", "windows") && !is_of("macos", "linux"));
    }
}
