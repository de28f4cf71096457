//! A session's history: each turn with its message, its answer, its ending, and the size of the parts that are cut.

use super::{Context, Tone, ago, bytes, plain, plain_lines, short};
use crate::failure::Failure;
use std::time::Duration;
use tenure_core::duration::show;
use tenure_core::session::{Stop, TurnState};
use tenure_core::task::Notice;
use tenure_core::tools::sessions::TurnJson;

/// Prints turns in order.
pub(crate) fn turns(turns: &[TurnJson]) -> Result<(), Failure> {
    super::lines(&turns_lines(&Context::of_stdout(), turns))
}

/// Formats turns.
pub(crate) fn turns_lines(context: &Context, turns: &[TurnJson]) -> Vec<String> {
    let texts: Vec<Vec<String>> = turns.iter().map(|turn| lines(context, turn)).collect();
    texts.join(&String::new())
}

/// Prints a session's pending notices, below its turns.
pub(crate) fn notices(notices: &[Notice]) -> Result<(), Failure> {
    super::lines(&notices_lines(&Context::of_stdout(), notices))
}

fn notices_lines(context: &Context, notices: &[Notice]) -> Vec<String> {
    let mut lines = Vec::new();
    if !notices.is_empty() {
        let title = context.style.paint(Tone::Title, "notices for the next turn");
        lines.push(format!("{title}  {}", notices.len()));
    }
    for notice in notices {
        let mut text = indented(&notice.text);
        if let Some(first) = text.first_mut() {
            *first = format!("{first}  ({} ago)", ago(context.since(notice.at_ms)));
        }
        lines.extend(text);
    }
    lines
}

fn lines(context: &Context, turn: &TurnJson) -> Vec<String> {
    let style = context.style;
    let mut lines = vec![head(context, turn), format!("  {} said:", plain(&turn.asked_by))];
    lines.extend(indented(&turn.message));
    lines.extend(cut(turn.message_cut_bytes, "--max-bytes shows more"));
    if let Some(text) = turn.text.as_deref().filter(|text| !text.is_empty()) {
        lines.push("  answered:".to_owned());
        lines.extend(indented(text));
    }
    let run = turn.run_id.as_ref().map(|run| short(run.as_str()));
    let all = run.map_or("--max-bytes shows more".to_owned(), |run| format!("`tenure logs {run}` shows all"));
    lines.extend(cut(turn.text_cut_bytes, &all));
    lines.extend(
        turn.error.as_deref().map(|error| style.paint(Tone::Bad, &format!("  error: {}", plain(error)))),
    );
    lines
}

/// Formats a turn's number, state and times.
fn head(context: &Context, turn: &TurnJson) -> String {
    let style = context.style;
    let number = style.paint(Tone::Title, &format!("turn {}", turn.number));
    let stop = turn.stop.filter(|stop| *stop != Stop::EndTurn && stop.word() != turn.state.word());
    let stop = stop.map_or(String::new(), |stop| format!(" ({stop})"));
    let state = style.paint(tone(turn.state), &format!("{}{stop}", turn.state));
    let took = turn.ended_at_ms.map(|at| Duration::from_millis(at.saturating_sub(turn.began_at_ms)));
    let took = took.map_or(String::new(), |took| format!("  took {}", show(took)));
    let run = turn.run_id.as_ref().map_or(String::new(), |run| format!("  run {}", short(run.as_str())));
    format!("{number}  {state}  {} ago{took}{run}", ago(context.since(turn.sent_at_ms)))
}

fn tone(state: TurnState) -> Tone {
    match state {
        TurnState::Running => Tone::Good,
        TurnState::Done => Tone::Dim,
        TurnState::Cancelled => Tone::Warning,
        TurnState::Failed | TurnState::TimedOut | TurnState::Lost => Tone::Bad,
    }
}

/// Indents a text, so that no line of it looks like one of Tenure's.
fn indented(text: &str) -> Vec<String> {
    plain_lines(text).iter().map(|text| format!("    {text}").trim_end().to_owned()).collect()
}

fn cut(amount: u64, how: &str) -> Option<String> {
    (amount > 0).then(|| format!("    … {} more: {how}", bytes(amount)))
}

#[cfg(test)]
mod tests;
