//! Checks of the state root and the registry's file.

use super::{Check, Verdict};
use crate::print::bytes;
use std::path::Path;
use tenure_os::host::{self, Lies};
use tenure_os::platform::{self, Family};
use tenure_settings::Settings;

/// Free space below which output may soon be lost.
const LOW_SPACE: u64 = 256 << 20;
/// Free space below which not even an ending may fit.
const MIN_SPACE: u64 = 1 << 20;

pub(super) fn checks(settings: &Settings) -> Vec<Check> {
    vec![root(&settings.state), registry(&settings.database())]
}

fn root(path: &Path) -> Check {
    const NAME: &str = "state-root";
    match host::lies(path) {
        Err(error) => Check::new(
            NAME,
            Verdict::Problem,
            format!("{}: {error}", path.display()),
            "set TENURE_STATE to a directory of your own",
        ),
        Ok(None) => missing_directory(NAME, path),
        Ok(Some(lies)) => judge(path, &lies),
    }
}

/// Checks that a missing directory can be created.
fn missing_directory(name: &'static str, path: &Path) -> Check {
    let above = path.ancestors().skip(1).find(|dir| dir.exists());
    match above.map(|dir| (dir, host::may_write(dir))) {
        Some((_, Ok(()))) => {
            Check::ok(name, format!("{} does not exist yet: it is created on first use", path.display()))
        }
        Some((dir, Err(error))) => Check::new(
            name,
            Verdict::Problem,
            format!("cannot create {}: {}: {error}", path.display(), dir.display()),
            "set TENURE_STATE to a directory of your own",
        ),
        None => Check::new(
            name,
            Verdict::Problem,
            format!("no parent directory of {} exists", path.display()),
            "set TENURE_STATE",
        ),
    }
}

fn judge(path: &Path, lies: &Lies) -> Check {
    let shown = path.display();
    let check = |verdict, finding: String, advice: String| Check::new("state-root", verdict, finding, advice);
    let elsewhere = || "set TENURE_STATE to a directory of your own, on a local disk".to_owned();
    if !lies.is_dir {
        return check(Verdict::Problem, format!("{shown} is not a directory"), elsewhere());
    }
    if !lies.is_own {
        return check(Verdict::Problem, format!("{shown} belongs to another user"), elsewhere());
    }
    if let Some(network) = lies.network {
        let finding = format!("{shown} is on a network file system ({network}), whose locks are unreliable");
        return check(Verdict::Problem, finding, elsewhere());
    }
    if lies.mode & 0o700 != 0o700 {
        let finding = format!("{shown} has mode {:03o}: its owner cannot use it", lies.mode);
        return check(Verdict::Problem, finding, format!("chmod 700 {shown}"));
    }
    if lies.mode & 0o077 != 0 {
        let (has, advice) = match platform::here() {
            Family::Linux | Family::MacOs => {
                (format!("has mode {:03o}", lies.mode), format!("chmod 700 {shown}"))
            }
            Family::Windows => (
                "is open to other users".to_owned(),
                "nothing to do: the daemon makes it private when it starts".to_owned(),
            ),
        };
        let finding = format!("{shown} {has}: other users may see runs and their output");
        return check(Verdict::Warning, finding, advice);
    }
    let free = bytes(lies.free);
    let clear = "free some space, or lower output.tail and retention.bytes: on a full disk output is lost";
    match lies.free {
        ..MIN_SPACE => check(Verdict::Problem, format!("{shown} has {free} left"), clear.to_owned()),
        MIN_SPACE..LOW_SPACE => check(Verdict::Warning, format!("{shown} has {free} left"), clear.to_owned()),
        LOW_SPACE.. => {
            Check::ok("state-root", format!("{shown} is private, on a local disk, with {free} left"))
        }
    }
}

fn registry(path: &Path) -> Check {
    const NAME: &str = "registry";
    let shown = path.display();
    match host::lies(path) {
        Err(error) => Check::new(
            NAME,
            Verdict::Problem,
            format!("{shown}: {error}"),
            "set TENURE_REGISTRY to a file of your own",
        ),
        Ok(None) => Check::ok(NAME, format!("{shown} does not exist yet: the daemon creates it")),
        Ok(Some(Lies { network: Some(network), .. })) => Check::new(
            NAME,
            Verdict::Problem,
            format!("{shown} is on a network file system ({network})"),
            "set TENURE_REGISTRY to a file on a local disk",
        ),
        Ok(Some(lies)) if lies.is_dir => Check::new(
            NAME,
            Verdict::Problem,
            format!("{shown} is a directory"),
            "set TENURE_REGISTRY to a file",
        ),
        Ok(Some(_)) => match std::fs::File::open(path) {
            Ok(_) => Check::ok(NAME, format!("{shown} is readable")),
            Err(error) => {
                Check::new(NAME, Verdict::Problem, format!("{shown}: {error}"), "make this user its owner")
            }
        },
    }
}

/// Returns all findings, for the snapshot. `dir` must be writable.
#[cfg(test)]
#[cfg(unix)]
pub(super) fn samples(dir: &Path) -> Vec<Check> {
    let good = || Lies { is_dir: true, mode: 0o700, is_own: true, network: None, free: 1 << 40 };
    let lies = [
        good(),
        Lies { is_dir: false, ..good() },
        Lies { is_own: false, ..good() },
        Lies { network: Some("NFS"), ..good() },
        Lies { mode: 0o500, ..good() },
        Lies { mode: 0o755, ..good() },
        Lies { free: 100 << 20, ..good() },
        Lies { free: 1_000, ..good() },
    ];
    let mut samples: Vec<Check> = lies.iter().map(|lies| judge(dir, lies)).collect();
    let file = dir.join("tenure.db");
    samples.extend([missing_directory("state-root", &dir.join("new")), registry(&file), registry(dir)]);
    std::fs::write(&file, "").expect("the directory is the test's");
    samples.push(registry(&file));
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Lies {
        Lies { is_dir: true, mode: 0o700, is_own: true, network: None, free: 1 << 40 }
    }

    #[test]
    fn a_state_root_is_private_local_and_has_room() {
        let verdict = |lies: &Lies| judge(Path::new("/s"), lies).verdict;
        assert_eq!(verdict(&good()), Verdict::Ok);
        assert_eq!(verdict(&Lies { mode: 0o750, ..good() }), Verdict::Warning);
        assert_eq!(verdict(&Lies { mode: 0o500, ..good() }), Verdict::Problem);
        assert_eq!(verdict(&Lies { is_own: false, ..good() }), Verdict::Problem);
        assert_eq!(verdict(&Lies { is_dir: false, ..good() }), Verdict::Problem);
        assert_eq!(verdict(&Lies { network: Some("NFS"), ..good() }), Verdict::Problem);
        assert_eq!(verdict(&Lies { free: 100 << 20, ..good() }), Verdict::Warning);
        assert_eq!(verdict(&Lies { free: 1000, ..good() }), Verdict::Problem);
    }

    #[test]
    fn a_missing_state_root_is_not_created() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        assert_eq!(root(&path).verdict, Verdict::Ok);
        assert!(!path.exists() && !dir.path().join("a").exists());
    }

    #[test]
    fn a_registry_is_a_file() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(registry(dir.path()).verdict, Verdict::Problem);
        assert_eq!(registry(&dir.path().join("tenure.db")).verdict, Verdict::Ok);
    }
}
