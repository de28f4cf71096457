//! What came of a turn, by the run that carried it out: how it ended, what the agent said at last, what went wrong. It is
//! read from the run's kept output, so that the next daemon reads the same.

use super::turn_spec::Reads;
use crate::{Agent, Answer, Event, Told};
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

/// How much is read at a time.
const CHUNK: usize = 64 << 10;
/// How much of what an agent said last on its standard error is told.
const LAST_WORDS: usize = 1_000;

/// What came of a turn whose run has ended.
pub(crate) fn read(row: &RunRow, reads: &Reads) -> TurnEnd {
    let Some(ending) = &row.ending else { return nobody_saw() };
    let dir = Path::new(&row.directory).join("output");
    let (text, resume, said_wrong) = match reads {
        Reads::Agent { agent, .. } => of_agent(&dir, agent),
        Reads::Command => (of_command(&dir), None, None),
    };
    let termination = &ending.termination;
    let answered = match reads {
        Reads::Agent { .. } => text.is_some() && said_wrong.is_none(),
        Reads::Command => true,
    };
    let outcome = outcome(termination, answered);
    let error = match (outcome, termination.reason) {
        (Outcome::Done, _) => outlived(termination),
        _ => Some(what_went_wrong(termination, reads, said_wrong, &dir)),
    };
    TurnEnd { outcome, stop: None, at_ms: ending.ended_at_ms, text, error, resume }
}

/// The end of a turn whose run is not known any more.
fn nobody_saw() -> TurnEnd {
    let error =
        Some("the run that carried it out is gone, and how it ended is not known: send it again".to_owned());
    TurnEnd { outcome: Outcome::Lost, at_ms: clock::unix_ms(), stop: None, text: None, error, resume: None }
}

/// How a turn ended. An answered turn is done, though processes that outlived the agent had to be ended.
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

/// Names the processes that left the session of an answered turn, and says what became of them.
fn outlived(termination: &Termination) -> Option<String> {
    let names = |all: &[ProcessNote]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let (escapees, survivors) = (&termination.escapees, &termination.survivors);
    if !survivors.is_empty() {
        return Some(format!("processes of the turn could not be ended: {}", names(survivors)));
    }
    let ended =
        || format!("processes that were still running after the turn were ended: {}", names(escapees));
    (!escapees.is_empty()).then(ended)
}

/// What went wrong, and what to do.
fn what_went_wrong(termination: &Termination, reads: &Reads, said: Option<String>, dir: &Path) -> String {
    let sentence = termination.sentence();
    let Reads::Agent { agent, silence } = reads else { return sentence };
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
            text = format!("{text}; its last words: {last}");
        }
    }
    text
}

/// What the agent said at last, its own name for the conversation, and what it said went wrong.
fn of_agent(dir: &Path, agent: &Agent) -> (Option<FinalText>, Option<String>, Option<String>) {
    of_agent_with(dir, agent, |_| {})
}

/// The same, with each event on the way.
fn of_agent_with(
    dir: &Path,
    agent: &Agent,
    mut hear: impl FnMut(&Event),
) -> (Option<FinalText>, Option<String>, Option<String>) {
    let mut reader = crate::Reader::new(agent);
    each(dir, Stream::Stdout, |bytes| reader.feed(bytes).iter().for_each(&mut hear));
    let (_, Told { session, answer, cut, error, usage: _ }) = reader.finish();
    let text = match answer {
        Answer::None => None,
        Answer::Unfinished(text) | Answer::Final(text) => Some(FinalText { text, cut_bytes: u64::from(cut) }),
    };
    (text, session.map(|session| session.to_string()), error)
}

/// How a turn of an agent goes that is under way: what was said last, and how many messages there were.
pub(crate) fn so_far(dir: &Path, agent: &Agent) -> Progress {
    let mut messages = 0_usize;
    let text =
        of_agent_with(dir, agent, |event| messages += usize::from(matches!(event, Event::Message(_)))).0;
    let said = text.map_or(String::new(), |text| text.text);
    let steps = (messages > 0).then(|| format!("{messages} message{}", if messages == 1 { "" } else { "s" }));
    Progress { said, steps }
}

/// The output of a command, from its beginning.
fn of_command(dir: &Path) -> Option<FinalText> {
    let head = text::head(dir, REPLY_CHARS, true).ok()?;
    let all = tenure_output::totals(dir).map_or(0, |totals| totals.bytes);
    let cut_bytes = head.next_offset.map_or(0, |next| all.saturating_sub(next));
    Some(FinalText { text: head.text, cut_bytes })
}

/// The last of the standard error, as text.
pub(crate) fn last_words(dir: &Path) -> String {
    let mut kept: Vec<u8> = Vec::new();
    each(dir, Stream::Stderr, |bytes| {
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

/// Every kept byte of one stream, in order. What cannot be read is as if it was not there.
fn each(dir: &Path, of: Stream, mut take: impl FnMut(&[u8])) {
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
        let text = outlived(&ended).unwrap();
        assert_eq!(text, "processes that were still running after the turn were ended: /usr/bin/sleep (7)");
        let alive = Termination { confirmed: false, survivors: ended.escapees.clone(), ..ended };
        let text = outlived(&alive).unwrap();
        assert_eq!(text, "processes of the turn could not be ended: /usr/bin/sleep (7)");
        assert_eq!(outlived(&Termination::new(Reason::Exit, Some(Exit::Code(0)), None)), None);
    }
}
