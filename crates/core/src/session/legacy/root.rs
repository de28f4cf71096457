//! The evidence about the process that a record names. The verdict is that of the legacy rules of
//! [`reconcile`](crate::reconcile), which fail closed; here it is only reported, and nothing is ended because of
//! it.

use super::{LegacyCommand, LegacyRoot};
use crate::identity::SignalProof;
use crate::lease::Standing;
use crate::reconcile::{
    Agreement, Case, Claim, EndingEvidence, KeeperEvidence, LeaseView, Leftovers, Lost, NurseryEvidence,
    Recorded, RootEvidence, Verdict, command_agrees, decide, words_agree, wrapper_agrees,
};
use crate::spec::Orphan;
use crate::state::State;
use serde::{Deserialize, Serialize};

/// Maximum difference of two times of the same start: records are written a moment after the start, some have whole
/// seconds only, and clocks are slewed.
pub const START_SLACK_MS: u64 = 2000;

/// The system's answer about a pid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObservedRoot {
    /// No process has the pid.
    Gone,
    /// The system cannot tell.
    Unreadable(String),
    /// A process has the pid.
    Alive(Live),
}

/// The process that has the pid now, which may be another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// The right to signal it, with its identity.
    pub held: SignalProof,
    /// Its start time.
    pub started_at_ms: u64,
    /// The file that it executes.
    pub exe: Option<String>,
    /// Its command, or the error of reading it.
    pub command: Result<Vec<String>, String>,
}

/// The state of a recorded process, for programs. Frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LegacyProcess {
    /// No process was recorded.
    None,
    /// The process is gone.
    Gone,
    /// The process is gone, and another one has its pid.
    PidReused,
    /// The process is alive, and proven to be the recorded one.
    Verified,
    /// A process has the pid, but is not proven to be the recorded one.
    Unverified,
}

/// The state of a recorded process, and the reasons for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The state in one word.
    pub process: LegacyProcess,
    /// The reason, for people.
    pub why: String,
    /// The fact about the process that decides; where it is verified, this is the proof.
    pub proof: String,
}

/// Judges a recorded process by the system's answer.
pub fn judge(root: Option<&LegacyRoot>, seen: &ObservedRoot, wrapper_root: Option<&str>) -> Finding {
    let Some(root) = root else {
        let why = "no process is recorded".to_owned();
        return Finding { process: LegacyProcess::None, proof: why.clone(), why };
    };
    let (evidence, compared) = match seen {
        ObservedRoot::Gone => (RootEvidence::Gone, Compared::unlooked()),
        ObservedRoot::Unreadable(why) => (RootEvidence::Unreadable(why.clone()), Compared::unlooked()),
        ObservedRoot::Alive(live) => compare(root, live, wrapper_root),
    };
    let claim = if root.wrapper { Claim::Wrapper } else { Claim::Command }(compared.agreement);
    finding(root.pid, &decide(&case(evidence, claim)), &compared.said)
}

/// Returns the case of a session without keeper, nursery and lease: only its root is known.
fn case(root: RootEvidence, claim: Claim) -> Case {
    Case {
        record: Recorded { state: State::Running, orphan: Orphan::Keep, is_taken_over: false },
        us: Standing::Holding,
        lease: LeaseView::Legacy(claim),
        ending: EndingEvidence::Missing,
        keeper: KeeperEvidence::LockFree,
        nursery: NurseryEvidence::LockFree,
        root,
        leftovers: Leftovers::Known(0),
    }
}

/// Turns the verdict into a report.
fn finding(pid: i32, verdict: &Verdict, said: &str) -> Finding {
    let (process, why) = match verdict {
        // A reconcile would end this process; an import leaves it to the supervisor that has it.
        Verdict::EndTree { .. } => {
            let why = format!(
                "pid {pid} is alive, and {said}: another supervisor uses the session, so it is left running"
            );
            (LegacyProcess::Verified, why)
        }
        Verdict::CloseAsLost { why: Lost::PidReused, .. } => {
            (LegacyProcess::PidReused, format!("pid {pid} is another's now: {said}"))
        }
        Verdict::CloseAsLost { why: Lost::ProcessesGone | Lost::Rebooted, .. } => {
            (LegacyProcess::Gone, format!("pid {pid} is gone"))
        }
        Verdict::CloseAsLost { why: Lost::NeverRecorded, .. } => {
            (LegacyProcess::None, "no process is recorded".to_owned())
        }
        Verdict::Leave { .. } => (LegacyProcess::Unverified, format!("pid {pid} is left alone: {said}")),
        Verdict::RetryLater { why } => (LegacyProcess::Unverified, format!("pid {pid} is left alone: {why}")),
        Verdict::Resume { .. }
        | Verdict::TakeEnding { .. }
        | Verdict::NeverStarted { .. }
        | Verdict::EndByPolicy { .. } => {
            (LegacyProcess::Unverified, format!("pid {pid} is left alone: {verdict}"))
        }
    };
    Finding { process, why, proof: said.to_owned() }
}

/// The comparison of a live process with its record.
struct Compared {
    agreement: Agreement,
    /// The fact about the process that decides.
    said: String,
}

impl Compared {
    fn new(agreement: Agreement, said: &str) -> Self {
        Self { agreement, said: said.to_owned() }
    }

    /// Returns the comparison for a process that does not exist.
    fn unlooked() -> Self {
        Self::new(Agreement::Differs, "")
    }

    fn untold(why: &str) -> Self {
        Self::new(Agreement::Unreadable(why.to_owned()), why)
    }
}

/// Compares a live process with the record. A pid alone proves nothing. A process that was started directly must
/// have the recorded command, and the recorded start time if there is one. A wrapper must lie below the wrapper
/// root, and have one of the two.
fn compare(root: &LegacyRoot, live: &Live, wrapper_root: Option<&str>) -> (RootEvidence, Compared) {
    let same = RootEvidence::Same(live.held.clone());
    let on_time = root.started_at_ms.map(|then| then.abs_diff(live.started_at_ms) <= START_SLACK_MS);
    let compared = match (on_time, commands(root, live)) {
        (Some(true), Some(Agreement::Agrees)) => {
            Compared::new(Agreement::Agrees, "it started when the record says, with the recorded command")
        }
        (Some(true), _) if root.wrapper => {
            Compared::new(Agreement::Agrees, "it started when the record says")
        }
        (Some(true), Some(Agreement::Differs)) => Compared::new(
            Agreement::Differs,
            "it started when the record says, but its command is not the recorded one",
        ),
        (Some(true), None) => Compared::untold("the record has no command that could agree"),
        (Some(false), Some(Agreement::Agrees)) => {
            Compared::untold("its command is the recorded one, but it started at another time")
        }
        (Some(false), Some(Agreement::Differs | Agreement::Unreadable(_)) | None) => {
            let said = "it started at another time than the record says";
            return (RootEvidence::Other, Compared::new(Agreement::Differs, said));
        }
        (None, Some(Agreement::Agrees)) => {
            Compared::new(Agreement::Agrees, "its command is the recorded one")
        }
        (None, Some(Agreement::Differs)) => {
            Compared::new(Agreement::Differs, "its command is not the recorded one")
        }
        (Some(true) | None, Some(Agreement::Unreadable(why))) => Compared::untold(&why),
        (None, None) => Compared::untold("the record has neither a start time nor a command"),
    };
    match (&compared.agreement, root.wrapper) {
        (Agreement::Agrees, true) => (same, wrapper(live, wrapper_root, compared)),
        (Agreement::Agrees | Agreement::Differs | Agreement::Unreadable(_), _) => (same, compared),
    }
}

fn commands(root: &LegacyRoot, live: &Live) -> Option<Agreement> {
    let recorded = root.command.as_ref()?;
    Some(match (recorded, &live.command) {
        (LegacyCommand::Line(recorded), Ok(words)) => command_agrees(recorded, words),
        (LegacyCommand::Words(recorded), Ok(words)) => words_agree(recorded, words),
        (LegacyCommand::Line(_) | LegacyCommand::Words(_), Err(why)) => Agreement::Unreadable(why.clone()),
    })
}

/// Checks that a process that agrees is a wrapper of this installation: its executable or the script in its command
/// lies below the wrapper root.
fn wrapper(live: &Live, wrapper_root: Option<&str>, compared: Compared) -> Compared {
    let Some(wrapper_root) = wrapper_root else {
        return Compared::untold("a generated wrapper is expected, and no --wrapper-root is named");
    };
    let script = match &live.command {
        Ok(words) => words.iter().skip(1).find(|word| !word.starts_with('-')),
        Err(why) => return Compared::untold(why),
    };
    let below = |program: &String| wrapper_agrees(wrapper_root, program) == Agreement::Agrees;
    if live.exe.iter().chain(script).any(below) {
        compared
    } else {
        Compared::new(
            Agreement::Differs,
            "a generated wrapper is expected, and its program is not below the wrapper root",
        )
    }
}
