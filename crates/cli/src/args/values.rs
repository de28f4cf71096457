//! Types and parsers of the values of flags.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::str::FromStr;
use std::time::Duration;
use tenure_core::duration;
use tenure_core::limits::Activity;
use tenure_core::resources::Rlimit;
use tenure_core::session::BadWord;
use tenure_core::spec::{OnEscape, Orphan, Size};

/// A time limit of the command line; `None` is "off".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit(pub(crate) Option<Duration>);

/// Parses a time limit.
pub(super) fn limit(text: &str) -> Result<Limit, duration::BadDuration> {
    duration::parse(text).map(Limit)
}

/// Parses the size of a terminal.
pub(super) fn size(text: &str) -> Result<Size, String> {
    let error = || "write columns and rows from 1 to 65535, as in 120x30".to_owned();
    let (cols, rows) = text.split_once('x').ok_or_else(error)?;
    let number = |text: &str| text.parse::<u16>().map_err(|_| error());
    Size::new(number(cols)?, number(rows)?).map_err(|_| error())
}

/// Parses a number that is not negative.
pub(super) fn number<T: FromStr>(text: &str) -> Result<T, String> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().map_err(|_| {
        if is_number { "the number is too large" } else { "write a whole number, as in 20" }.to_owned()
    })
}

/// Returns a parser of one of these words, which help, completions and errors list.
pub(super) fn word<T>(all: &[T], word: fn(T) -> &'static str) -> impl TypedValueParser<Value = T> + use<T>
where
    T: FromStr<Err = BadWord> + Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.iter().map(|it| word(*it)).collect::<Vec<_>>())
        .try_map(|text| text.parse::<T>())
}

/// Parses a number of CPUs, as in 1.5, into thousandths.
pub(super) fn cpus(text: &str) -> Result<u32, String> {
    let error = || "write a number of CPUs, as in 2 or 0.5".to_owned();
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = format!("{part:0<3}");
    let thousandths: u32 = digits.get(..3).and_then(|digits| digits.parse().ok()).ok_or_else(error)?;
    let whole: u32 = whole.parse().map_err(|_| error())?;
    whole.checked_mul(1000).and_then(|n| n.checked_add(thousandths)).ok_or_else(error)
}

/// Parses a system limit, as in `nofile=1024`.
pub(super) fn rlimit(text: &str) -> Result<(Rlimit, u64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in nofile=1024")?;
    let limit = serde_json::from_value(name.into()).map_err(|_| {
        format!("unknown limit {name:?}: use as, cpu, nproc, fsize, nofile, core, stack or memlock")
    })?;
    Ok((limit, tenure_settings::size(value)?))
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum ActivityArg {
    /// Output only.
    #[default]
    Output,
    /// Output, or CPU or I/O use of the tree.
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
    /// End it; the run has failed, with exit code 122.
    #[default]
    Fail,
    /// End it; the run keeps its own exit code.
    Reap,
    /// Let it continue as a run of its own.
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
    /// End the run, with exit code 123.
    #[default]
    Terminate,
    /// Let the run continue.
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
    /// This command's stdin; a terminal is copied.
    Inherit,
    /// Open pipe, for `tenure write`.
    Open,
    /// Empty.
    Closed,
}
