//! Reads the end of a CLI turn from its run: the outcome, the agent's last message, the error. All of it comes from the
//! run's recorded output, so the next daemon reads the same.

use super::turn_spec::TurnOutput;
use crate::{Agent, Answer, Event, OutputSummary};
use std::path::Path;
use std::time::Duration;
use tenure_core::ending::{ProcessNote, Reason, Termination};
use tenure_core::output::Stream;
use tenure_core::task::Progress;
use tenure_core::tools::REPLY_CHARS;
use tenure_core::watchdog::ended_for_silence;
use tenure_os::clock;
use tenure_output::{Piece, Reader, text};
use tenure_store::{FinalText, Outcome, RunRow, TurnEnd};

/// Number of bytes to read at a time.
const CHUNK: usize = 64 << 10;
/// Maximum length of the end of stderr in an error.
const LAST_WORDS: usize = 1_000;

/// Reads the end of a turn whose run has ended.
pub(crate) fn read(row: &RunRow, reads: &TurnOutput) -> TurnEnd {
    let Some(ending) = &row.ending else { return unknown_end() };
    let dir = Path::new(&row.directory).join("output");
    let (text, resume, agent_error) = match reads {
        TurnOutput::Agent { agent, .. } => read_agent(&dir, agent),
        TurnOutput::Command => (read_command(&dir), None, None),
    };
    let termination = &ending.termination;
    let answered = match reads {
        TurnOutput::Agent { .. } => text.is_some() && agent_error.is_none(),
        TurnOutput::Command => true,
    };
    let outcome = outcome(termination, answered);
    let error = match (outcome, termination.reason) {
        (Outcome::Done, _) => outlived_note(termination),
        _ => Some(failure_text(termination, reads, agent_error, &dir)),
    };
    TurnEnd { outcome, stop: None, at_ms: ending.ended_at_ms, text, error, resume }
}

/// Returns the end of a turn whose run's record was removed.
fn unknown_end() -> TurnEnd {
    let error =
        Some("the record of its run was removed, so its end is unknown: send the message again".to_owned());
    TurnEnd { outcome: Outcome::Lost, at_ms: clock::unix_ms(), stop: None, text: None, error, resume: None }
}

/// Returns the outcome of a turn. An answered turn is done, even if processes that outlived the agent had to be ended.
fn outcome(termination: &Termination, answered: bool) -> Outcome {
    match termination.reason {
        // Runs of earlier versions failed if a process escaped.
        Reason::Exit | Reason::OwnershipEscape if termination.exit_code == Some(0) && answered => {
            Outcome::Done
        }
        Reason::Exit | Reason::Signal | Reason::SpawnError | Reason::OwnershipEscape => Outcome::Failed,
        Reason::ManualCancel => Outcome::Cancelled,
        Reason::OverallTimeout | Reason::NoOutputTimeout => Outcome::TimedOut,
        Reason::OwnerLost | Reason::ReconciledStale => Outcome::Lost,
    }
}

/// Names the processes that outlived an answered turn, and says whether they were ended.
fn outlived_note(termination: &Termination) -> Option<String> {
    let names = |all: &[ProcessNote]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let (escapees, survivors) = (&termination.escapees, &termination.survivors);
    if !survivors.is_empty() {
        return Some(format!("processes of the turn could not be ended: {}", names(survivors)));
    }
    let ended =
        || format!("processes that were still running after the turn were ended: {}", names(escapees));
    (!escapees.is_empty()).then(ended)
}

/// Returns the error of a turn, with the remedy.
fn failure_text(termination: &Termination, reads: &TurnOutput, said: Option<String>, dir: &Path) -> String {
    let sentence = termination.sentence();
    let TurnOutput::Agent { agent, silence } = reads else { return sentence };
    let name = &agent.name;
    let mut text = match termination.reason {
        Reason::NoOutputTimeout => ended_for_silence(name.as_str(), silence.unwrap_or(Duration::ZERO)),
        Reason::SpawnError => format!(
            "{name} could not be started ({sentence}): check that {} is installed and on the daemon's PATH, or set \
             agents.{name}.command in config.toml",
            agent.command
        ),
        Reason::Exit if termination.exit_code == Some(0) && said.is_none() => {
            format!("{name} ended without an answer")
        }
        _ => sentence,
    };
    if let Some(said) = said {
        text = format!("{text}; {name} said: {said}");
    } else if termination.reason == Reason::Exit {
        let last = last_words(dir);
        if !last.is_empty() {
            text = format!("{text}; its stderr ends with: {last}");
        }
    }
    text
}

/// Returns the agent's last message, its session id, and its error.
fn read_agent(dir: &Path, agent: &Agent) -> (Option<FinalText>, Option<String>, Option<String>) {
    read_agent_with(dir, agent, |_| {})
}

/// Works like `read_agent`, and passes each event to `on_event`.
fn read_agent_with(
    dir: &Path,
    agent: &Agent,
    mut on_event: impl FnMut(&Event),
) -> (Option<FinalText>, Option<String>, Option<String>) {
    let mut reader = crate::Reader::new(agent);
    for_each_chunk(dir, Stream::Stdout, |bytes| reader.feed(bytes).iter().for_each(&mut on_event));
    let (_, OutputSummary { session, answer, cut, error, usage: _ }) = reader.finish();
    let text = match answer {
        Answer::None => None,
        Answer::Unfinished(text) | Answer::Final(text) => Some(FinalText { text, cut_bytes: u64::from(cut) }),
    };
    (text, session.map(|session| session.to_string()), error)
}

/// Returns the progress of a running turn: the last message, and the number of messages.
pub(crate) fn progress(dir: &Path, agent: &Agent) -> Progress {
    let mut messages = 0_usize;
    let text =
        read_agent_with(dir, agent, |event| messages += usize::from(matches!(event, Event::Message(_)))).0;
    let said = text.map_or(String::new(), |text| text.text);
    let steps = (messages > 0).then(|| format!("{messages} message{}", if messages == 1 { "" } else { "s" }));
    Progress { said, steps }
}

/// Returns the beginning of a command's output.
fn read_command(dir: &Path) -> Option<FinalText> {
    let head = text::head(dir, REPLY_CHARS, true).ok()?;
    let all = tenure_output::totals(dir).map_or(0, |totals| totals.bytes);
    let cut_bytes = head.next_offset.map_or(0, |next| all.saturating_sub(next));
    Some(FinalText { text: head.text, cut_bytes })
}

/// Returns the end of stderr, as text.
pub(crate) fn last_words(dir: &Path) -> String {
    let mut kept: Vec<u8> = Vec::new();
    for_each_chunk(dir, Stream::Stderr, |bytes| {
        kept.extend_from_slice(bytes);
        let beyond = kept.len().saturating_sub(4 * LAST_WORDS);
        kept.drain(..beyond);
    });
    let mut text = String::new();
    let mut cleaner = tenure_output::Cleaner::new();
    cleaner.push(&kept, &mut text);
    cleaner.finish(&mut text);
    let text = text.trim();
    let begin = text.ceil_char_boundary(text.len().saturating_sub(LAST_WORDS));
    text[begin..].to_owned()
}

/// Passes every recorded byte of a stream to `take`, in order. Skips what cannot be read.
fn for_each_chunk(dir: &Path, of: Stream, mut take: impl FnMut(&[u8])) {
    let mut reader = Reader::new(dir);
    let (mut at, mut buf) = (0, vec![0; CHUNK]);
    while let Ok(piece) = reader.read(at, &mut buf) {
        match piece {
            Piece::End { .. } => return,
            Piece::Bytes { len, stream, .. } if stream == of => take(&buf[..len]),
            Piece::Bytes { .. } | Piece::Gap { .. } | Piece::Lost { .. } => {}
        }
        at = piece.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::ending::Exit;

    fn escape(reason: Reason, code: i32) -> Termination {
        let escapees = vec![ProcessNote { pid: 7, exe: Some("/usr/bin/sleep".to_owned()) }];
        Termination { escapees, ..Termination::new(reason, Some(Exit::Code(code)), None) }
    }

    #[test]
    fn an_answered_turn_is_done_whatever_outlived_it() {
        for reason in [Reason::Exit, Reason::OwnershipEscape] {
            assert_eq!(outcome(&escape(reason, 0), true), Outcome::Done);
            assert_eq!(outcome(&escape(reason, 0), false), Outcome::Failed);
            assert_eq!(outcome(&escape(reason, 1), true), Outcome::Failed);
        }
    }

    #[test]
    fn processes_that_outlived_an_answered_turn_are_named_as_ended_or_as_alive() {
        let ended = escape(Reason::Exit, 0);
        let text = outlived_note(&ended).unwrap();
        assert_eq!(text, "processes that were still running after the turn were ended: /usr/bin/sleep (7)");
        let alive = Termination { confirmed: false, survivors: ended.escapees.clone(), ..ended };
        let text = outlived_note(&alive).unwrap();
        assert_eq!(text, "processes of the turn could not be ended: /usr/bin/sleep (7)");
        assert_eq!(outlived_note(&Termination::new(Reason::Exit, Some(Exit::Code(0)), None)), None);
    }
}
