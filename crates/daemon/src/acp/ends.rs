//! How a turn of an ACP agent ended: by what the agent answered, or why it was ended before, and with what it said at last.

use crate::daemon::Daemon;
use tenure_acp::history::Kind;
use tenure_acp::host::Answer;
use tenure_acp::turn as acp;
use tenure_core::session::{SessionKey, Stop};
use tenure_core::talk::Entry;
use tenure_os::clock;
use tenure_store::{FinalText, Outcome, Side, Turn, TurnEnd};

/// How many of a turn's last entries are looked through for what was said at last.
const LAST: usize = 200;
/// How many are read at a time.
const PAGE: usize = 10;

/// Why a turn is ended before the agent ends it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Early {
    Cancelled,
    TimedOut,
}

/// How a turn ended, and what went wrong.
pub(super) type End = (Outcome, Stop, Option<String>);

/// How a turn ended by what the agent answered.
pub(super) fn acp_end(answer: &Answer) -> End {
    match acp::over(answer.as_ref().map(AsRef::as_ref)) {
        acp::Over::Done => (Outcome::Done, Stop::EndTurn, None),
        acp::Over::Cut(stop, why) => (Outcome::Failed, stop, Some(format!("the agent stopped: {why}"))),
        acp::Over::Refused => (Outcome::Failed, Stop::Refusal, Some("the agent refuses to do it".to_owned())),
        acp::Over::Cancelled => (Outcome::Cancelled, Stop::Cancelled, None),
        acp::Over::Failed(why) => (Outcome::Failed, Stop::Error, Some(why)),
    }
}

/// What an answer means of a turn that was to be ended early.
pub(super) fn after((outcome, stop, error): End, early: Option<Early>) -> End {
    match early {
        None => (outcome, stop, error),
        Some(Early::TimedOut) => {
            (Outcome::TimedOut, Stop::TimedOut, Some("its turn had no time left".to_owned()))
        }
        // Some agents call it an error that they were told to stop, others the end.
        Some(Early::Cancelled) => (Outcome::Cancelled, Stop::Cancelled, error),
    }
}

impl Daemon {
    /// The end of a turn, as it is recorded.
    pub(super) async fn ended(
        &self,
        turn: &Turn,
        (outcome, stop, error): (Outcome, Stop, Option<String>),
        resume: Option<String>,
    ) -> TurnEnd {
        let text = self.said_at_last(turn).await;
        TurnEnd { outcome, stop: Some(stop), at_ms: clock::unix_ms(), text, error, resume }
    }

    /// What the agent said after the last thing that it did.
    async fn said_at_last(&self, turn: &Turn) -> Option<FinalText> {
        let mut pieces = Vec::new();
        let mut before = Some(Side::Before(u64::MAX));
        let mut left = LAST;
        while let Some(side) = before.filter(|_| left > 0) {
            let page = self.registry.entries(turn.asked.session.clone(), side, PAGE, u64::MAX).await.ok()?;
            left = left.saturating_sub(PAGE);
            before = page.next;
            for entry in page.entries {
                match kind_in(&entry, turn) {
                    Said::Text(text) => pieces.push(text),
                    Said::Beside => {}
                    Said::Other if pieces.is_empty() => {}
                    Said::Other | Said::Earlier => {
                        before = None;
                        break;
                    }
                }
            }
        }
        pieces.reverse();
        (!pieces.is_empty()).then(|| FinalText::whole(pieces.concat()))
    }

    /// What an agent has said or done last, in a turn that is under way.
    pub(crate) async fn acp_progress(&self, key: &SessionKey) -> String {
        let page = self.registry.entries(key.clone(), Side::Before(u64::MAX), 20, 64 << 10).await;
        let entries = page.map(|page| page.entries).unwrap_or_default();
        let told = |entry: &Entry| match entry.kind.as_str() {
            "agent" => text_of(entry),
            "tool" => {
                let body: serde_json::Value = serde_json::from_str(&entry.body).ok()?;
                body["title"].as_str().map(str::to_owned)
            }
            _ => None,
        };
        entries.iter().find_map(told).unwrap_or_default()
    }
}

/// What an entry is to what was said at last in a turn.
enum Said {
    Text(String),
    /// Nothing that comes between.
    Beside,
    Other,
    /// It is of a turn before.
    Earlier,
}

fn kind_in(entry: &Entry, turn: &Turn) -> Said {
    let beside = [Kind::Usage, Kind::Mode, Kind::Note].map(Kind::word);
    match text_of(entry) {
        _ if entry.turn.as_ref() != Some(&turn.asked.id) => Said::Earlier,
        Some(text) if entry.kind == Kind::Agent.word() => Said::Text(text),
        _ if beside.contains(&entry.kind.as_str()) => Said::Beside,
        _ => Said::Other,
    }
}

fn text_of(entry: &Entry) -> Option<String> {
    let body: serde_json::Value = serde_json::from_str(&entry.body).ok()?;
    body["text"].as_str().map(str::to_owned)
}
