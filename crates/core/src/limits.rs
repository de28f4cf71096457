//! The limits of a run and their allowed values.

use crate::defaults;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The activity that counts against the no-output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// Output alone.
    #[default]
    Output,
    /// Output, or the tree's use of CPU or I/O.
    Cpu,
}

/// The time limits of a run. `None` is "no limit".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The time from the start of the command to its end.
    #[serde(with = "optional_millis", rename = "timeoutMs")]
    pub overall: Option<Duration>,
    /// The time from one output to the next.
    #[serde(with = "optional_millis", rename = "noOutputTimeoutMs")]
    pub no_output: Option<Duration>,
    /// The activity that counts as output.
    #[serde(default)]
    pub activity: Activity,
    /// The time from SIGTERM to SIGKILL; zero kills at once.
    #[serde(with = "millis", rename = "graceMs")]
    pub grace: Duration,
    /// The time from the first SIGKILL until the survivors are named and left.
    #[serde(with = "millis", rename = "giveUpMs")]
    pub give_up: Duration,
    /// The time from the owner's loss to the end.
    #[serde(with = "millis", rename = "orphanGraceMs")]
    pub orphan_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            overall: None,
            no_output: None,
            activity: Activity::Output,
            grace: defaults::GRACE,
            give_up: defaults::GIVE_UP,
            orphan_grace: defaults::ORPHAN_GRACE,
        }
    }
}

/// Limits that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLimits {
    /// `--activity cpu` was given without a no-output limit.
    #[error("--activity cpu has no effect without --no-output-timeout: add that limit")]
    ActivityWithoutLimit,
}

impl Limits {
    /// Refuses limits that contradict each other.
    pub fn check(&self) -> Result<(), BadLimits> {
        if self.activity == Activity::Cpu && self.no_output.is_none() {
            return Err(BadLimits::ActivityWithoutLimit);
        }
        Ok(())
    }
}

/// Serializes a duration as whole milliseconds.
mod millis {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub(super) fn serialize<S: Serializer>(length: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

/// Serializes a duration as whole milliseconds, or null.
mod optional_millis {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    #[expect(clippy::ref_option, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(length: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        length.map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_without_a_silence_limit_is_refused() {
        let limits = Limits { activity: Activity::Cpu, ..Limits::default() };
        assert_eq!(limits.check(), Err(BadLimits::ActivityWithoutLimit));
    }

    #[test]
    fn limits_read_back_as_written() {
        let limits = Limits { overall: Some(Duration::from_millis(1500)), ..Limits::default() };
        let text = serde_json::to_string(&limits).unwrap();
        assert!(text.contains("\"timeoutMs\":1500"), "{text}");
        assert_eq!(serde_json::from_str::<Limits>(&text).unwrap(), limits);
    }
}
