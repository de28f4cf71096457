//! Imports sessions that other programs recorded without leases: reads their files, examines their processes, and creates
//! rows for them. The import signals no process; closing such a session may (`legacy_close`).
#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use tenure_agents::Agents;
use tenure_agents::sessions::legacy_close::look;
use tenure_core::api::{FailedRecord, ImportOutcome, ImportReport, ImportRequest, ImportedRecord};
use tenure_core::session::legacy::{self, Finding, LegacyClaim, LegacyRecord, ObservedRoot};
use tenure_core::session::{AgentId, Backend, SessionKey, SessionRow};
use tenure_os::clock;
use tenure_os::file::{Dir, Regular};
use tenure_store::Failed;
use tenure_supervisor::Refusal;

/// Maximum size of a record's file, in bytes. It may contain a conversation.
const FILE_BYTES: u64 = 16 << 20;
/// Maximum number of directory entries, and of records.
const MAX_RECORDS: usize = 10_000;
/// File name of acpx's index, which is not a record.
const INDEX: &str = "index.json";

/// Imports the sessions whose records are in a directory.
pub async fn import(agents: &Agents, request: ImportRequest) -> Result<ImportReport, Refusal> {
    let dir = absolute("dir", &request.dir)?;
    if let Some(root) = &request.wrapper_root {
        absolute("wrapperRoot", root)?;
    }
    let wrapper_root = request.wrapper_root.clone();
    let gathering = move || gather(&dir, request.wrapper_root.as_deref());
    let gathered = tokio::task::spawn_blocking(gathering).await.map_err(Refusal::internal)??;
    let mut importing = Import {
        agents,
        dry_run: request.dry_run,
        wrapper_root,
        known: HashMap::new(),
        settled: Vec::new(),
        failed: gathered.failed,
    };
    importing.settle_all(gathered.found).await?;
    let Import { mut settled, failed, .. } = importing;
    settled.sort_by_key(|(at, _)| *at);
    let records = settled.into_iter().map(|(_, record)| record).collect();
    Ok(ImportReport { dry_run: request.dry_run, records, skipped: gathered.skipped, failed })
}

fn absolute(what: &str, path: &str) -> Result<PathBuf, Refusal> {
    if std::path::Path::new(path).is_absolute() && !path.contains('\0') {
        Ok(PathBuf::from(path))
    } else {
        Err(Refusal::invalid(format!("{what} {path:?} is not an absolute path: give one")))
    }
}

/// Records of a directory.
#[derive(Default)]
struct DirectoryRecords {
    found: Vec<ImportCandidate>,
    skipped: u64,
    failed: Vec<FailedRecord>,
}

/// A valid record, with the state of its process.
struct ImportCandidate {
    /// Position in the report.
    at: usize,
    file: String,
    record: LegacyRecord,
    finding: Finding,
}

fn gather(path: &Path, wrapper_root: Option<&str>) -> Result<DirectoryRecords, Refusal> {
    let unreadable = |error| Refusal::invalid(format!("{} cannot be read: {error}", path.display()));
    let dir = Dir::open(path).map_err(unreadable)?;
    let (names, unnamed) = dir.names(MAX_RECORDS).map_err(unreadable)?;
    let mut gathered = DirectoryRecords { skipped: unnamed, ..DirectoryRecords::default() };
    for name in names {
        let stem = name.strip_suffix(".json").filter(|stem| !stem.is_empty() && name != INDEX);
        let Some(stem) = stem else {
            gathered.skipped += 1;
            continue;
        };
        match dir.read_regular(&name, FILE_BYTES) {
            Ok(Regular::Bytes(bytes)) => gathered.take(&name, stem, &bytes, wrapper_root),
            Ok(Regular::Other) => gathered.skipped += 1,
            Ok(Regular::TooLarge) => {
                gathered.fail(&name, format!("the file is larger than {} MiB", FILE_BYTES >> 20));
            }
            Err(error) => gathered.fail(&name, format!("the file cannot be read: {error}")),
        }
        if gathered.found.len() > MAX_RECORDS {
            return Err(Refusal::invalid(format!(
                "{} has more than {MAX_RECORDS} records: import it in parts",
                path.display()
            )));
        }
    }
    Ok(gathered)
}

impl DirectoryRecords {
    fn fail(&mut self, file: &str, why: String) {
        self.failed.push(FailedRecord { file: file.to_owned(), key: None, why });
    }

    fn take(&mut self, file: &str, stem: &str, bytes: &[u8], wrapper_root: Option<&str>) {
        let records = match legacy::read(stem, bytes) {
            Ok(records) => records,
            Err(error) => return self.fail(file, error.to_string()),
        };
        let many = records.len() > 1;
        for (n, record) in records.into_iter().enumerate() {
            match record {
                Ok(record) => {
                    let root = record.root.as_ref();
                    let seen = root.map_or(ObservedRoot::Gone, |root| look(root.pid));
                    let finding = legacy::judge(root, &seen, wrapper_root);
                    let at = self.found.len();
                    self.found.push(ImportCandidate { at, file: file.to_owned(), record, finding });
                }
                Err(error) if many => self.fail(file, format!("record {}: {error}", n + 1)),
                Err(error) => self.fail(file, error.to_string()),
            }
        }
    }
}

/// State of an import.
struct Import<'a> {
    agents: &'a Agents,
    dry_run: bool,
    wrapper_root: Option<String>,
    /// Rows that were created, or would be in a dry run.
    known: HashMap<SessionKey, SessionRow>,
    settled: Vec<(usize, ImportedRecord)>,
    failed: Vec<FailedRecord>,
}

impl Import<'_> {
    /// Imports all records, parents first, because a child's row depends on its parent's.
    async fn settle_all(&mut self, found: Vec<ImportCandidate>) -> Result<(), Refusal> {
        let keys: HashSet<SessionKey> = found.iter().map(|found| found.record.key.clone()).collect();
        let mut ready = VecDeque::new();
        let mut below: HashMap<SessionKey, Vec<ImportCandidate>> = HashMap::new();
        for found in found {
            match found.record.parent.clone().filter(|parent| keys.contains(parent)) {
                Some(parent) => below.entry(parent).or_default().push(found),
                None => ready.push_back(found),
            }
        }
        while let Some(found) = ready.pop_front() {
            ready.extend(below.remove(&found.record.key).unwrap_or_default());
            self.settle(found).await?;
        }
        let mut circle: Vec<ImportCandidate> = below.into_values().flatten().collect();
        circle.sort_by_key(|found| found.at);
        for found in circle {
            self.fail(&found, "the session is its own ancestor: correct the parents".to_owned());
        }
        Ok(())
    }

    fn fail(&mut self, found: &ImportCandidate, why: String) {
        let key = Some(found.record.key.to_string());
        self.failed.push(FailedRecord { file: found.file.clone(), key, why });
    }

    async fn settle(&mut self, found: ImportCandidate) -> Result<(), Refusal> {
        match self.find(&found.record.key).await {
            Ok(Some(_)) => self.report(found, ImportOutcome::Exists),
            Ok(None) => match self.row(&found.record).await {
                Ok(row) => return self.import_row(found, row).await,
                Err(why) => self.fail(&found, why),
            },
            Err(why) => self.fail(&found, why),
        }
        Ok(())
    }

    /// Finds a session's row, including rows of a dry run.
    async fn find(&self, key: &SessionKey) -> Result<Option<SessionRow>, String> {
        if let Some(row) = self.known.get(key) {
            return Ok(Some(row.clone()));
        }
        let session =
            self.agents.supervisor.registry.session(key.clone()).await.map_err(|error| error.to_string())?;
        Ok(session.map(|session| session.row))
    }

    /// Returns the agent whose adapter is a record's command, if there is exactly one.
    fn agent_of(&self, record: &LegacyRecord) -> Option<AgentId> {
        if record.backend != Backend::Acp {
            return None;
        }
        let named = |text: &str| record.programs.iter().any(|program| program == text);
        let all = self.agents.adapters_described();
        let mut meant = all.into_iter().filter(|(_, command)| named(command));
        match (meant.next(), meant.next()) {
            (Some((name, _)), None) => Some(name),
            _ => None,
        }
    }

    async fn row(&self, record: &LegacyRecord) -> Result<SessionRow, String> {
        let parent = match &record.parent {
            None => None,
            Some(parent) => match self.find(parent).await? {
                Some(row) => Some(row),
                None => {
                    return Err(format!("its parent session {parent} does not exist: import that first"));
                }
            },
        };
        let instance = self.agents.supervisor.instance.clone();
        let record =
            LegacyRecord { agent: record.agent.clone().or_else(|| self.agent_of(record)), ..record.clone() };
        let row =
            record.row(parent.as_ref(), instance, clock::unix_ms()).map_err(|refused| refused.to_string())?;
        // Closing the session checks again that this is the process.
        let claim = |root| Box::new(LegacyClaim { root, wrapper_root: self.wrapper_root.clone() });
        Ok(SessionRow { legacy: record.root.map(claim), ..row })
    }

    async fn import_row(&mut self, found: ImportCandidate, row: SessionRow) -> Result<(), Refusal> {
        if !self.dry_run {
            let (label, resume) = (found.record.label.clone(), found.record.resume.clone());
            match self.agents.supervisor.registry.adopt_session(row.clone(), label, resume).await {
                Ok(_) => self.agents.supervisor.events.notify_followers(),
                Err(Failed::SessionTaken { .. }) => {
                    self.report(found, ImportOutcome::Exists);
                    return Ok(());
                }
                Err(failed) => return Err(failed.into()),
            }
        }
        self.known.insert(row.key.clone(), row);
        self.report(found, ImportOutcome::Imported);
        Ok(())
    }

    fn report(&mut self, found: ImportCandidate, outcome: ImportOutcome) {
        let ImportCandidate { at, file, record, finding } = found;
        let (key, pid) = (record.key.to_string(), record.root.map(|root| root.pid));
        let Finding { process, why, proof: _ } = finding;
        self.settled.push((at, ImportedRecord { file, key, outcome, process, pid, why }));
    }
}
