//! The values of options, and how they are read.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::str::FromStr;
use std::time::Duration;
use tenure_core::duration;
use tenure_core::limits::Activity;
use tenure_core::resources::Rlimit;
use tenure_core::session::BadWord;
use tenure_core::spec::{OnEscape, Orphan, Size};

/// A limit as it was given; `None` is "off".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit(pub(crate) Option<Duration>);

pub(super) fn limit(text: &str) -> Result<Limit, duration::BadDuration> {
    duration::parse(text).map(Limit)
}

pub(super) fn size(text: &str) -> Result<Size, String> {
    let (cols, rows) = text.split_once('x').ok_or("write columns and rows, as in 120x30")?;
    let number = |text: &str| text.parse::<u16>().map_err(|error| format!("{text}: {error}"));
    Size::new(number(cols)?, number(rows)?).map_err(|error| error.to_string())
}

/// One of these words of sessions: help, completions and errors list them.
pub(super) fn word<T>(all: &[T], word: fn(T) -> &'static str) -> impl TypedValueParser<Value = T> + use<T>
where
    T: FromStr<Err = BadWord> + Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.iter().map(|it| word(*it)).collect::<Vec<_>>())
        .try_map(|text| text.parse::<T>())
}

/// CPUs, as in 1.5, in thousandths.
pub(super) fn cpus(text: &str) -> Result<u32, String> {
    let wrong = || "write how many CPUs, as in 2 or 0.5".to_owned();
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = format!("{part:0<3}");
    let thousandths: u32 = digits.get(..3).and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
    let whole: u32 = whole.parse().map_err(|_| wrong())?;
    whole.checked_mul(1000).and_then(|n| n.checked_add(thousandths)).ok_or_else(wrong)
}

/// A limit of the system for each process, as in `nofile=1024`.
pub(super) fn rlimit(text: &str) -> Result<(Rlimit, u64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in nofile=1024")?;
    let name = serde_json::from_value(name.into())
        .map_err(|_| "the names are as, cpu, nproc, fsize, nofile, core, stack and memlock".to_owned())?;
    Ok((name, tenure_settings::size(value)?))
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum ActivityArg {
    /// Output alone.
    #[default]
    Output,
    /// Output, or use of CPU or I/O by the tree.
    Cpu,
}

impl From<ActivityArg> for Activity {
    fn from(arg: ActivityArg) -> Self {
        match arg {
            ActivityArg::Output => Activity::Output,
            ActivityArg::Cpu => Activity::Cpu,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum OnEscapeArg {
    /// It is ended and the run has failed.
    #[default]
    Fail,
    /// It is ended and the run keeps its own ending.
    Reap,
    /// It is a declared daemon: it becomes a run of its own.
    Allow,
}

impl From<OnEscapeArg> for OnEscape {
    fn from(arg: OnEscapeArg) -> Self {
        match arg {
            OnEscapeArg::Fail => OnEscape::Fail,
            OnEscapeArg::Reap => OnEscape::Reap,
            OnEscapeArg::Allow => OnEscape::Allow,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum OrphanArg {
    /// It is ended as owner-lost.
    #[default]
    Terminate,
    /// It goes on.
    Keep,
}

impl From<OrphanArg> for Orphan {
    fn from(arg: OrphanArg) -> Self {
        match arg {
            OrphanArg::Terminate => Orphan::Terminate,
            OrphanArg::Keep => Orphan::Keep,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StdinArg {
    /// The caller's own: a file, pipe or socket as it is, a terminal by copying.
    Inherit,
    /// Open, for `tenure write`.
    Open,
    /// At its end from the start.
    Closed,
}
