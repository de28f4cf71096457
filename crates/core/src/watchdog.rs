//! The silence limit of a turn of a CLI agent, and the message about a turn that was ended for it. Only this file
//! knows these figures. `watch` decides what counts as silence.

use crate::duration::show;
use std::time::Duration;

/// The start of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Begins {
    /// A new session of the agent, which may think for long before its first word.
    Fresh,
    /// A resumed session of the agent, which is set up already.
    Resumed,
}

/// A share of the turn's time limit, kept within bounds.
struct Profile {
    percent: u128,
    least: Duration,
    most: Duration,
}

const FRESH: Profile =
    Profile { percent: 80, least: Duration::from_secs(180), most: Duration::from_secs(600) };
const RESUMED: Profile =
    Profile { percent: 30, least: Duration::from_secs(60), most: Duration::from_secs(180) };

/// The shortest silence for which a turn is ended.
pub const FLOOR: Duration = Duration::from_secs(1);
/// Minimum distance between the silence limit and the time limit, so that the message names the right one.
pub const MARGIN: Duration = Duration::from_secs(1);

/// Returns the silence limit of a turn: `own` if the agent's description has one, else a share of the turn's time
/// limit. It is at least the floor, and stays below the time limit by the margin as far as the floor allows. A turn
/// without a time limit gets the longest silence of its kind.
pub fn no_output_limit(begins: Begins, timeout: Option<Duration>, own: Option<Duration>) -> Duration {
    let profile = match begins {
        Begins::Fresh => FRESH,
        Begins::Resumed => RESUMED,
    };
    let wanted = own.unwrap_or_else(|| profile.share(timeout));
    let cap = timeout.map_or(Duration::MAX, |timeout| timeout.saturating_sub(MARGIN));
    wanted.min(cap).max(FLOOR)
}

impl Profile {
    fn share(&self, timeout: Option<Duration>) -> Duration {
        let Some(timeout) = timeout else { return self.most };
        // Rounded to whole milliseconds, as all limits are written.
        let ms = timeout.as_millis().saturating_mul(self.percent) / 100;
        let share = Duration::from_millis(u64::try_from(ms).unwrap_or(u64::MAX));
        share.clamp(self.least, self.most)
    }
}

/// Returns the message about an agent's turn that was ended for its silence, with advice.
pub fn ended_for_silence(agent: &str, limit: Duration) -> String {
    format!(
        "{agent} gave no output for {} and was ended. It may have waited for input or for a permission that nobody \
         could give: check that {agent} is logged in, and what its permission settings let it do without asking. \
         If it needs to be silent for longer, set agents.{agent}.no-output-timeout in config.toml.",
        show(limit)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use Begins::{Fresh, Resumed};

    fn ms(begins: Begins, timeout: u64) -> u128 {
        no_output_limit(begins, Some(Duration::from_millis(timeout)), None).as_millis()
    }

    #[test]
    fn a_fresh_turn_may_be_silent_for_four_fifths_within_three_and_ten_minutes() {
        let table = [
            // Below 181 s the margin holds, below 2 s the floor.
            (0, 1_000),
            (1, 1_000),
            (1_000, 1_000),
            (1_999, 1_000),
            (2_000, 1_000),
            (2_001, 1_001),
            (60_000, 59_000),
            (180_999, 179_999),
            (181_000, 180_000),
            // From there to 225 s the least.
            (181_001, 180_000),
            (225_000, 180_000),
            (225_001, 180_000),
            (225_002, 180_001),
            // Then the share, to 750 s.
            (300_000, 240_000),
            (600_000, 480_000),
            (749_999, 599_999),
            (750_000, 600_000),
            // Then the most.
            (750_001, 600_000),
            (3_600_000, 600_000),
            (172_800_000, 600_000),
            (u64::MAX, 600_000),
        ];
        for (timeout, limit) in table {
            assert_eq!(ms(Fresh, timeout), limit, "a time limit of {timeout} ms");
        }
    }

    #[test]
    fn a_resumed_turn_may_be_silent_for_three_tenths_within_one_and_three_minutes() {
        let table = [
            (0, 1_000),
            (1_999, 1_000),
            (2_000, 1_000),
            (2_001, 1_001),
            (60_999, 59_999),
            (61_000, 60_000),
            (61_001, 60_000),
            (200_000, 60_000),
            (200_003, 60_000),
            (200_004, 60_001),
            (400_000, 120_000),
            (599_999, 179_999),
            (600_000, 180_000),
            (600_001, 180_000),
            (172_800_000, 180_000),
            (u64::MAX, 180_000),
        ];
        for (timeout, limit) in table {
            assert_eq!(ms(Resumed, timeout), limit, "a time limit of {timeout} ms");
        }
    }

    #[test]
    fn a_turn_without_a_time_limit_gets_the_longest_silence_of_its_kind() {
        assert_eq!(no_output_limit(Fresh, None, None), Duration::from_secs(600));
        assert_eq!(no_output_limit(Resumed, None, None), Duration::from_secs(180));
        assert_eq!(no_output_limit(Resumed, Some(Duration::MAX), None), Duration::from_secs(180));
    }

    #[test]
    fn an_own_silence_holds_between_the_floor_and_the_margin() {
        let own = |begins, timeout: Option<u64>, own: u64| {
            no_output_limit(begins, timeout.map(Duration::from_millis), Some(Duration::from_millis(own)))
                .as_millis()
        };
        for begins in [Fresh, Resumed] {
            assert_eq!(own(begins, Some(60_000), 0), 1_000);
            assert_eq!(own(begins, Some(60_000), 999), 1_000);
            assert_eq!(own(begins, Some(60_000), 1_001), 1_001);
            assert_eq!(own(begins, Some(60_000), 58_999), 58_999);
            assert_eq!(own(begins, Some(60_000), 59_000), 59_000);
            assert_eq!(own(begins, Some(60_000), 59_001), 59_000);
            assert_eq!(own(begins, Some(60_000), 60_000), 59_000);
            assert_eq!(own(begins, Some(1_500), 1_200), 1_000);
            assert_eq!(own(begins, Some(7_200_000), 3_600_000), 3_600_000, "no bounds of the shares");
            assert_eq!(own(begins, None, 86_400_000), 86_400_000);
        }
    }

    #[test]
    fn the_turn_of_the_defaults_has_the_longest_silence() {
        let turn = Some(crate::defaults::AGENT_TURN);
        assert_eq!(no_output_limit(Fresh, turn, None), Duration::from_secs(600));
        assert_eq!(no_output_limit(Resumed, turn, None), Duration::from_secs(180));
    }

    #[test]
    fn a_silence_that_ended_a_turn_is_told_with_what_to_check() {
        let text = ended_for_silence("claude", Duration::from_secs(600));
        assert!(text.starts_with("claude gave no output for 10 min 0 s and was ended."), "{text}");
        for part in ["permission", "logged in", "agents.claude.no-output-timeout"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
