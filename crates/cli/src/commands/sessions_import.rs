//! `tenure sessions import`: import sessions that other programs recorded.

use crate::args::SessionsImportArgs;
use crate::failure::Failure;
use crate::{daemon_client, print, settings};
use std::path::Path;
use tenure_core::api::{ImportOutcome, ImportReport, ImportRequest, ImportedRecord};

pub(super) fn run(args: &SessionsImportArgs, json: bool) -> Result<u8, Failure> {
    let client = daemon_client::require(&settings::load_leniently()?)?;
    let request = ImportRequest {
        dir: absolute(&args.dir)?,
        wrapper_root: args.wrapper_root.as_deref().map(absolute).transpose()?,
        dry_run: args.dry_run,
    };
    let report = daemon_client::call(client.import(&request))?;
    if json {
        print::json(&report)?;
    } else {
        lines(&report).iter().try_for_each(|line| print::line(line))?;
    }
    Ok(u8::from(!report.failed.is_empty()))
}

/// Makes a path absolute: the daemon has another working directory.
fn absolute(path: &Path) -> Result<String, Failure> {
    let whole = std::path::absolute(path).map_err(Failure::refused)?;
    whole.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::refused(format!("the path \"{}\" is not valid UTF-8: use another one", path.display()))
    })
}

fn lines(report: &ImportReport) -> Vec<String> {
    let mut lines: Vec<String> =
        report.records.iter().map(|record| record_line(record, report.dry_run)).collect();
    lines.extend(report.failed.iter().map(|failed| {
        let key = failed.key.as_deref().map_or(String::new(), |key| format!(" ({})", print::plain(key)));
        format!("{}{key} was not imported: {}", print::plain(&failed.file), print::plain(&failed.why))
    }));
    let count = |outcome| report.records.iter().filter(|record| record.outcome == outcome).count();
    let imported = if report.dry_run { "to import" } else { "imported" };
    lines.push(format!(
        "{} {imported}, {} already there, {} failed, {} entries skipped",
        count(ImportOutcome::Imported),
        count(ImportOutcome::Exists),
        report.failed.len(),
        report.skipped
    ));
    lines
}

fn record_line(record: &ImportedRecord, dry_run: bool) -> String {
    let outcome = match (record.outcome, dry_run) {
        (ImportOutcome::Imported, false) => "was imported",
        (ImportOutcome::Imported, true) => "would be imported",
        (ImportOutcome::Exists, _) => "is already there",
    };
    format!("{} {outcome}: {}", print::plain(&record.key), print::plain(&record.why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::api::FailedRecord;
    use tenure_core::session::legacy::LegacyProcess;

    #[test]
    fn a_report_is_printed_without_control_characters() {
        let record = |outcome| ImportedRecord {
            file: "a.json".into(),
            key: "acpx:a".into(),
            outcome,
            process: LegacyProcess::Gone,
            pid: Some(7),
            why: "pid 7 is gone".into(),
        };
        let failed = FailedRecord { file: "b\x1b[2J.json".into(), key: None, why: "it is empty".into() };
        let mut report = ImportReport {
            dry_run: false,
            records: vec![record(ImportOutcome::Imported), record(ImportOutcome::Exists)],
            skipped: 3,
            failed: vec![failed],
        };
        assert_eq!(
            lines(&report),
            [
                "acpx:a was imported: pid 7 is gone",
                "acpx:a is already there: pid 7 is gone",
                "b.json was not imported: it is empty",
                "1 imported, 1 already there, 1 failed, 3 entries skipped"
            ]
        );
        report.dry_run = true;
        assert_eq!(lines(&report)[0], "acpx:a would be imported: pid 7 is gone");
    }
}
