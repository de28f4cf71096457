//! The table of results.

use crate::samples::Samples;
use std::time::Duration;

/// A row.
#[derive(Debug)]
pub(crate) struct Row {
    what: String,
    raw: String,
    kept: String,
    cost: String,
    bar: String,
    verdict: &'static str,
}

impl Row {
    /// A row that may take `bar` times as long as raw; without a bar it is for information.
    pub(crate) fn ratio(what: &str, raw: &Samples, kept: &Samples, bar: Option<f64>) -> Self {
        let ratio = kept.median().as_secs_f64() / raw.median().as_secs_f64().max(1e-9);
        Self {
            what: format!("{what} (N={})", kept.count()),
            raw: show(raw),
            kept: show(kept),
            cost: format!("{ratio:.2} x"),
            bar: bar.map_or_else(|| "-".to_owned(), |bar| format!("{bar:.1} x")),
            verdict: bar.map_or("info", |bar| verdict(ratio <= bar)),
        }
    }

    /// A row that may take `bar` longer than raw.
    pub(crate) fn beyond(what: &str, raw: &Samples, kept: &Samples, bar: Duration) -> Self {
        let beyond = kept.median().saturating_sub(raw.median());
        Self {
            what: format!("{what} (N={})", kept.count()),
            raw: show(raw),
            kept: show(kept),
            cost: format!("+{}", length(beyond)),
            bar: format!("+{}", length(bar)),
            verdict: verdict(beyond <= bar),
        }
    }

    /// A row that may be `bar` at most, without a raw counterpart.
    pub(crate) fn amount(what: &str, found: u64, unit: &str, bar: Option<u64>) -> Self {
        Self {
            what: what.to_owned(),
            raw: "-".to_owned(),
            kept: format!("{found} {unit}"),
            cost: "-".to_owned(),
            bar: bar.map_or_else(|| "-".to_owned(), |bar| format!("{bar} {unit}")),
            verdict: bar.map_or("info", |bar| verdict(found <= bar)),
        }
    }

    /// A row whose median may take `bar`, whatever raw takes.
    pub(crate) fn within(what: &str, raw: Option<&Samples>, kept: &Samples, bar: Option<Duration>) -> Self {
        Self {
            what: format!("{what} (N={})", kept.count()),
            raw: raw.map_or_else(|| "-".to_owned(), show),
            kept: show(kept),
            cost: "-".to_owned(),
            bar: bar.map_or_else(|| "-".to_owned(), length),
            verdict: bar.map_or("info", |bar| verdict(kept.median() <= bar)),
        }
    }

    /// A row whose 99th percentile may take `bar`.
    pub(crate) fn within_p99(
        what: &str,
        raw: Option<&Samples>,
        kept: &Samples,
        bar: Option<Duration>,
    ) -> Self {
        let show = |samples: &Samples| format!("{} / {}", length(samples.median()), length(samples.p99()));
        Self {
            raw: raw.map_or_else(|| "-".to_owned(), show),
            kept: show(kept),
            verdict: bar.map_or("info", |bar| verdict(kept.p99() <= bar)),
            ..Self::within(what, None, kept, bar)
        }
    }

    /// A row that does `runs` runs per sample, at `bar` percent of the raw rate at least.
    pub(crate) fn rate(what: &str, runs: usize, raw: &Samples, kept: &Samples, bar: Option<u32>) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "runs are counted by the hundred")]
        let rate = |samples: &Samples| runs as f64 / samples.median().as_secs_f64().max(1e-9);
        let percent = 100.0 * rate(kept) / rate(raw);
        Self {
            what: format!("{what} (N={})", kept.count()),
            raw: format!("{:.0}/s", rate(raw)),
            kept: format!("{:.0}/s", rate(kept)),
            cost: format!("{percent:.0} %"),
            bar: bar.map_or_else(|| "-".to_owned(), |bar| format!(">= {bar} %")),
            verdict: bar.map_or("info", |bar| verdict(percent >= f64::from(bar))),
        }
    }

    fn cells(&self) -> [&str; 6] {
        [&self.what, &self.raw, &self.kept, &self.cost, &self.bar, self.verdict]
    }
}

fn verdict(holds: bool) -> &'static str {
    if holds { "ok" } else { "over" }
}

/// Median and ninetieth percentile.
fn show(samples: &Samples) -> String {
    format!("{} / {}", length(samples.median()), length(samples.p90()))
}

fn length(length: Duration) -> String {
    match length.as_secs_f64() {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 0.01 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} µs", s * 1e6),
    }
}

/// Prints the rows.
pub(crate) fn print(rows: &[Row]) {
    let head = ["what", "raw p50 / p90", "tenure p50 / p90", "cost", "bar", ""];
    let lines: Vec<[&str; 6]> = [head].into_iter().chain(rows.iter().map(Row::cells)).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    for line in &lines {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
