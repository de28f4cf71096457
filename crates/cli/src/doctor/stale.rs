//! Checks for remains of runs, nurseries and programs that did not end properly.

use super::{Check, Verdict};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tenure_core::ids::{InstanceId, NurseryId, RunId};
use tenure_core::record::Boundary;
use tenure_core::state::State;
use tenure_keeper::nursery;
use tenure_keeper::rundir::{RecordError, RunDir};
use tenure_os::host;
use tenure_settings::Settings;
use tenure_store::sqlite::RecordedRun;

/// Age below which a file may still be under construction.
const MIN_AGE: Duration = Duration::from_mins(1);

pub(super) fn checks(settings: &Settings) -> Vec<Check> {
    let scan = StateScan::of(&settings.state, SystemTime::now());
    let rows = recorded(&settings.database());
    vec![scan.lost(), scan.unconfirmed(), scan.unread(), scan.remains(), scan.rows(rows), scan.foreign()]
}

/// The contents of a state root that matter to the checks.
#[derive(Debug)]
struct StateScan {
    /// The time of the check.
    now: SystemTime,
    /// Runs without keeper, nursery and ending.
    lost: Vec<String>,
    /// Ended runs without proof that all their processes are gone, with those that were alive.
    unconfirmed: Vec<(RunId, Vec<String>)>,
    /// Unreadable records.
    unread: Vec<String>,
    /// Files and groups without an owner.
    remains: Vec<PathBuf>,
    /// Runs of this installation that have a directory.
    runs: HashMap<RunId, OnDisk>,
    /// Runs whose directory is a copy.
    foreign: Vec<String>,
    /// The installation's id, if it has one.
    instance: Option<InstanceId>,
}

/// State of a run, by its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OnDisk {
    has_keeper: bool,
    has_ending: bool,
    /// True if the state may change at any moment.
    is_young: bool,
}

impl StateScan {
    fn of(state: &Path, now: SystemTime) -> Self {
        let instance = fs::read_to_string(state.join("instance-id")).ok();
        let mut scan = Self {
            now,
            lost: Vec::new(),
            unconfirmed: Vec::new(),
            unread: Vec::new(),
            remains: Vec::new(),
            runs: HashMap::new(),
            foreign: Vec::new(),
            instance: instance.and_then(|text| text.lines().next()?.trim().parse().ok()),
        };
        for path in entries(&state.join("runs")) {
            scan.scan_run(state, &path);
        }
        for path in entries(&state.join("nurseries")) {
            let id = name(&path).parse::<NurseryId>();
            if id.is_ok_and(|id| matches!(nursery::lives(state, &id), Ok(false))) && scan.is_old(&path) {
                scan.remains.push(path);
            }
        }
        let mut drafts = entries(state);
        drafts.retain(|path| name(path).starts_with("instance-id.") && scan.is_old(path));
        scan.remains.extend(drafts);
        scan.scan_groups(state);
        scan
    }

    fn scan_run(&mut self, state: &Path, path: &Path) {
        let Ok(dir) = RunDir::open(path) else {
            self.remains.extend(self.is_old(path).then(|| path.to_owned()));
            return;
        };
        let view = match dir.view() {
            Ok(view) => view,
            Err(RecordError::Missing { .. }) => {
                // The ticket is written right after the directory is made.
                self.remains.extend(self.is_old(path).then(|| path.to_owned()));
                return;
            }
            Err(error) => {
                self.unread.push(error.to_string());
                return;
            }
        };
        if view.foreign {
            self.foreign.push(dir.id().to_string());
            return;
        }
        if let Some(ending) = view.ending.as_ref().filter(|ending| !ending.termination.confirmed) {
            let alive = ending.termination.survivors.iter().map(ToString::to_string).collect();
            self.unconfirmed.push((dir.id().clone(), alive));
        }
        // The journal and the ending are the last files that are created in the directory.
        let is_young = !self.is_old(path);
        let on_disk = OnDisk { has_keeper: view.has_keeper, has_ending: view.ending.is_some(), is_young };
        self.runs.insert(dir.id().clone(), on_disk);
        let nursery_lives =
            view.note.as_ref().is_some_and(|note| nursery::lives(state, &note.nursery_id).unwrap_or(true));
        if view.state != State::Exited && !view.has_keeper && !nursery_lives && self.is_old(path) {
            self.lost.push(dir.id().to_string());
        }
        if view.has_keeper {
            return;
        }
        let mut drafts = entries(path);
        drafts.retain(|path| name(path).starts_with("ending.") && self.is_old(path));
        self.remains.extend(drafts);
        if let Some(Boundary::Cgroup { path }) = view.note.map(|note| note.boundary)
            && !nursery_lives
            && Path::new(&path).is_dir()
        {
            self.remains.push(path.into());
        }
    }

    /// Finds cgroups of this instance whose runs have no directory any more.
    fn scan_groups(&mut self, state: &Path) {
        let Ok(group) = host::own_group() else { return };
        let Ok(instance) = fs::read_to_string(state.join("instance-id")) else { return };
        // The second line names the machine.
        let instance = instance.lines().next().unwrap_or_default();
        for path in entries(&group.directory.join(format!("tenure-{instance}"))) {
            let is_run = path.is_dir() && name(&path).parse::<RunId>().is_ok();
            if is_run && !state.join("runs").join(name(&path)).exists() {
                self.remains.push(path);
            }
        }
    }

    fn is_old(&self, path: &Path) -> bool {
        let modified = fs::symlink_metadata(path).and_then(|meta| meta.modified());
        modified.is_ok_and(|at| self.now.duration_since(at).is_ok_and(|age| age > MIN_AGE))
    }

    fn lost(&self) -> Check {
        const NAME: &str = "lost-runs";
        if self.lost.is_empty() {
            return Check::ok(NAME, "every run has a keeper or an ending");
        }
        let ids = self.lost.join(" ");
        let finding = format!(
            "{} without a keeper or an ending: {}",
            counted(self.lost.len(), "run"),
            first_few(&self.lost)
        );
        let advice =
            format!("see with `tenure show` which processes they left, then remove them: tenure rm {ids}");
        Check::new(NAME, Verdict::Warning, finding, advice)
    }

    fn unconfirmed(&self) -> Check {
        const NAME: &str = "unconfirmed-runs";
        let Some((first, _)) = self.unconfirmed.first() else {
            return Check::ok(NAME, "every ended run is confirmed to have left no process");
        };
        let line = |(run, alive): &(RunId, Vec<String>)| match &alive[..] {
            [] => run.to_string(),
            alive => format!("{run} (still alive: {})", alive.join(", ")),
        };
        let runs: Vec<String> = self.unconfirmed.iter().map(line).collect();
        let finding = format!("{} may have left processes: {}", counted(runs.len(), "run"), first_few(&runs));
        let advice = format!(
            "see with `tenure why {first}` which processes it left, then remove it: tenure rm {first}"
        );
        Check::new(NAME, Verdict::Warning, finding, advice)
    }

    fn unread(&self) -> Check {
        const NAME: &str = "records";
        if self.unread.is_empty() {
            return Check::ok(NAME, "every record can be read");
        }
        let finding =
            format!("{}: {}", counted(self.unread.len(), "unreadable record"), first_few(&self.unread));
        Check::new(
            NAME,
            Verdict::Problem,
            finding,
            "use the newer Tenure that wrote them, or remove their directories",
        )
    }

    /// Compares the directories and their keepers with the registry's rows.
    fn rows(&self, recorded: Result<Option<Vec<RecordedRun>>, String>) -> Check {
        const NAME: &str = "registry-rows";
        let rows = match recorded {
            Ok(Some(rows)) => rows,
            Ok(None) if self.runs.is_empty() => return Check::ok(NAME, "there is no registry yet"),
            Ok(None) => Vec::new(),
            Err(why) => {
                let finding = format!("cannot compare the registry with the runs' directories: {why}");
                return Check::new(NAME, Verdict::Problem, finding, "see the check `registry` above");
            }
        };
        let rows: HashMap<&RunId, &RecordedRun> = rows.iter().map(|row| (&row.run, row)).collect();
        let mut mismatches = Vec::new();
        for (run, files) in self.runs.iter().filter(|(_, files)| !files.is_young || files.has_keeper) {
            match rows.get(run) {
                None if files.has_keeper => mismatches.push(format!("{run} is alive and has no row")),
                None => mismatches.push(format!("{run} has a directory and no row")),
                Some(row) if row.has_ended && files.has_keeper => {
                    mismatches.push(format!("{run} has ended according to its row, but its keeper lives"));
                }
                Some(row) if !row.has_ended && files.has_ending && !files.has_keeper => {
                    mismatches.push(format!("{run} has ended, but is live according to its row"));
                }
                Some(_) => {}
            }
        }
        let own = |row: &&&RecordedRun| self.instance.as_ref() == Some(&row.owner) && !row.has_ended;
        for row in rows.values().filter(own).filter(|row| !self.runs.contains_key(&row.run)) {
            mismatches.push(format!("{} is live according to its row, but has no directory", row.run));
        }
        mismatches.sort();
        if mismatches.is_empty() {
            return Check::ok(NAME, "every run's directory has its row, and every live row its directory");
        }
        let finding = format!(
            "{} between registry and files: {}",
            counted(mismatches.len(), "mismatch"),
            first_few(&mismatches)
        );
        let advice = "restart the daemon, which then registers missing runs: tenure daemon stop, then tenure daemon start; \
                      runs go on";
        Check::new(NAME, Verdict::Warning, finding, advice)
    }

    fn foreign(&self) -> Check {
        const NAME: &str = "copied-runs";
        if self.foreign.is_empty() {
            return Check::ok(NAME, "every run's directory was made here");
        }
        let count = counted(self.foreign.len(), "run");
        let finding = format!(
            "{count} of the installation that this state root was copied from: {}",
            first_few(&self.foreign)
        );
        let advice = "manage them where they were started: this installation never touches them";
        Check::new(NAME, Verdict::Note, finding, advice)
    }

    fn remains(&self) -> Check {
        const NAME: &str = "remains";
        if self.remains.is_empty() {
            return Check::ok(NAME, "no remains");
        }
        let shown: Vec<String> = self.remains.iter().map(|path| path.display().to_string()).collect();
        let finding =
            format!("{} without an owner: {}", counted(shown.len(), "file or group"), first_few(&shown));
        let advice = "they only cost space: remove files with `rm -r`, and empty groups with `rmdir`";
        Check::new(NAME, Verdict::Note, finding, advice)
    }
}

/// Reads the registry's rows; `None` without a registry.
fn recorded(database: &Path) -> Result<Option<Vec<RecordedRun>>, String> {
    if !database.exists() {
        return Ok(None);
    }
    tenure_store::sqlite::recorded(database).map(Some).map_err(|error| error.to_string())
}

/// Lists a directory; empty if it is missing or unreadable.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn counted(count: usize, what: &str) -> String {
    let plural = match count {
        1 => "",
        _ if what.ends_with('h') => "es",
        _ => "s",
    };
    format!("{count} {what}{plural}")
}

/// Joins the first few texts.
fn first_few(texts: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = texts.len().saturating_sub(SHOWN);
    let first = texts.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}

/// Returns all findings, for the snapshot.
#[cfg(test)]
#[cfg(unix)]
pub(super) fn samples() -> Vec<Check> {
    let run = |number: u8| RunId::from_random([number; 12]);
    let own = InstanceId::from_random([0x11; 12]);
    let clean = || StateScan {
        now: SystemTime::UNIX_EPOCH,
        lost: Vec::new(),
        unread: Vec::new(),
        remains: Vec::new(),
        unconfirmed: Vec::new(),
        runs: HashMap::new(),
        foreign: Vec::new(),
        instance: Some(own.clone()),
    };
    let on_disk = |has_keeper, has_ending| OnDisk { has_keeper, has_ending, is_young: false };
    let dirty = StateScan {
        lost: (1..=7).map(|number| run(number).to_string()).collect(),
        unread: vec!["/state/runs/x/ticket: the record is torn: its checksum does not match".into()],
        remains: vec!["/state/nurseries/0d0d".into(), "/state/instance-id.x".into()],
        unconfirmed: vec![(run(9), vec!["pid 4141 (/usr/bin/crawl)".into()])],
        runs: [(1, (true, false)), (2, (false, true)), (3, (true, false)), (4, (false, true))]
            .map(|(number, (kept, ended))| (run(number), on_disk(kept, ended)))
            .into(),
        foreign: vec![run(8).to_string()],
        ..clean()
    };
    let row = |number, has_ended| RecordedRun { run: run(number), owner: own.clone(), has_ended };
    let rows = || Ok(Some(vec![row(3, true), row(4, false), row(5, false)]));
    let of = |scan: &StateScan, rows| {
        vec![scan.lost(), scan.unread(), scan.remains(), scan.rows(rows), scan.foreign(), scan.unconfirmed()]
    };
    let mut samples = of(&clean(), Ok(None));
    samples.extend(of(&dirty, rows()));
    samples.push(clean().rows(Ok(Some(Vec::new()))));
    samples.push(clean().rows(Err("file is not a database".to_owned())));
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef01234567";

    fn names(scan: &StateScan) -> Vec<&str> {
        scan.remains.iter().map(|path| name(path)).collect()
    }

    #[test]
    fn a_missing_state_root_has_no_findings() {
        let dir = tempfile::tempdir().unwrap();
        let scan = StateScan::of(&dir.path().join("none"), SystemTime::now());
        assert!(
            [scan.lost(), scan.unread(), scan.remains()].iter().all(|check| check.verdict == Verdict::Ok)
        );
    }

    #[test]
    fn leftovers_are_reported_once_they_are_old() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path();
        for sub in ["runs", "nurseries"] {
            fs::create_dir(state.join(sub)).unwrap();
        }
        fs::create_dir(state.join("runs").join(ID)).unwrap();
        fs::write(state.join("nurseries").join(ID), "").unwrap();
        fs::write(state.join("instance-id.x"), "").unwrap();
        let now = SystemTime::now();
        assert!(StateScan::of(state, now).remains.is_empty(), "they are young");
        let scan = StateScan::of(state, now + Duration::from_hours(1));
        assert_eq!(names(&scan), [ID, ID, "instance-id.x"]);
        assert_eq!((scan.remains().verdict, scan.lost().verdict), (Verdict::Note, Verdict::Ok));
    }

    #[test]
    fn a_record_that_cannot_be_read_is_a_problem() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("runs").join(ID);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("ticket"), "nonsense").unwrap();
        assert_eq!(StateScan::of(dir.path(), SystemTime::now()).unread().verdict, Verdict::Problem);
    }
}
