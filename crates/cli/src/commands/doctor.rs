//! `tenure doctor`: find what keeps Tenure from working fully here, with advice.

use crate::args::DoctorArgs;
use crate::doctor::{self, Check, Verdict};
use crate::failure::Failure;
use crate::print::{self, Style, Table, Tone};
use serde_json::json;
use tenure_settings::Settings;

pub(crate) fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    let (settings, mistakes) = Settings::load_leniently().map_err(Failure::refused)?;
    let checks = doctor::examine(&settings, &mistakes);
    let worst = checks.iter().map(|check| check.verdict).max().unwrap_or(Verdict::Ok);
    if args.json {
        print::json(&json!({ "verdict": worst, "checks": checks, "settings": settings.shown() }))?;
    } else {
        let style = Style::of_stdout();
        print::lines(&report(style, &checks))?;
        print::line("")?;
        print::lines(&list(style, &settings))?;
    }
    Ok(u8::from(worst == Verdict::Problem))
}

/// Lines of the checks, with their advice.
pub(crate) fn report(style: Style, checks: &[Check]) -> Vec<String> {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for check in checks {
        let tone = match check.verdict {
            Verdict::Ok => Tone::Good,
            Verdict::Note => Tone::Plain,
            Verdict::Warning => Tone::Warning,
            Verdict::Problem => Tone::Bad,
        };
        // Pad before painting: colour codes have no width.
        let verdict = style.paint(tone, &format!("{:7}", check.verdict.to_string()));
        lines.push(format!("{verdict}  {:width$}  {}", check.name, print::escaped(&check.finding)));
        if let Some(advice) = &check.advice {
            let advice = style.paint(Tone::Dim, &format!("→ {}", print::escaped(advice)));
            lines.push(format!("{:7}  {:width$}  {advice}", "", ""));
        }
    }
    lines
}

/// Lines of the table of settings.
pub(crate) fn list(style: Style, settings: &Settings) -> Vec<String> {
    let mut table = Table::new(style, &["SETTING", "VALUE", "FROM", "MEANING"]);
    for shown in settings.shown() {
        let tone = if shown.origin == tenure_settings::Origin::Default { Tone::Dim } else { Tone::Plain };
        let cells = [shown.key.to_owned(), shown.value, shown.origin.to_string(), shown.about.to_owned()];
        table.row(cells.map(|cell| (print::escaped(&cell), tone)));
    }
    table.lines()
}
