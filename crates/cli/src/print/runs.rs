//! Runs: as a table, or one in full.

use super::record::{self, Group, Rows};
use super::{Context, Table, Tone, ago, bytes, escaped, lines, plain, short};
use crate::failure::Failure;
use tenure_core::duration::show;
use tenure_core::ending::{Reason, Termination};
use tenure_core::record::Boundary;
use tenure_core::run_json::{LeaseState, RunJson};
use tenure_core::state::State;

/// Prints the runs as a table.
pub(crate) fn runs(views: &[RunJson]) -> Result<(), Failure> {
    lines(&runs_lines(&Context::of_stdout(), views))
}

/// Formats that table.
pub(crate) fn runs_lines(context: &Context, views: &[RunJson]) -> Vec<String> {
    let headings = ["RUN", "STATE", ">AGE", ">PID", "SESSION", "ENDING", ">OUTPUT", "COMMAND"];
    let mut table = Table::new(context.style, &headings);
    for view in views {
        let pid = view.pid.map_or("-".to_owned(), |pid| pid.to_string());
        let (ending, ending_tone) =
            view.termination.as_ref().map_or(("-".to_owned(), Tone::Dim), |termination| {
                (short_ending(termination), tone(termination))
            });
        let (state, state_tone) = state(view);
        table.row([
            (short(&view.run_id).to_owned(), Tone::Plain),
            (state, state_tone),
            (ago(context.since(view.created_at_ms)), Tone::Plain),
            (pid, Tone::Plain),
            (view.session_id.as_deref().map_or("-".to_owned(), |key| shortened(&plain(key))), Tone::Plain),
            (ending, ending_tone),
            (bytes(view.output.bytes), Tone::Plain),
            (name(view), Tone::Plain),
        ]);
    }
    table.lines()
}

/// Prints one run, in groups.
pub(crate) fn run(view: &RunJson) -> Result<(), Failure> {
    lines(&run_lines(&Context::of_stdout(), view))
}

/// Formats one run.
pub(crate) fn run_lines(context: &Context, view: &RunJson) -> Vec<String> {
    record::lines(context.style, &groups(context, view))
}

fn groups(context: &Context, view: &RunJson) -> Vec<Group> {
    let some = |name: &'static str, text: &Option<String>| text.as_ref().map(|text| (name, plain(text)));
    let mut run: Rows = vec![("id", view.run_id.clone()), ("state", state(view).0)];
    run.extend(view.exiting_cause.map(|cause| ("stop cause", Reason::from(cause).to_string())));
    run.extend(
        [some("label", &view.label), some("session", &view.session_id), some("scope", &view.scope)]
            .into_iter()
            .flatten(),
    );
    if view.foreign {
        let whose = format!(
            "another installation ({}): this record is a copy; act on the run where it was started",
            view.owner_instance_id
        );
        run.push(("belongs to", whose));
    }
    run.push(("created", context.moment(view.created_at_ms)));
    run.extend(view.started_at_ms.map(|at| ("started", context.moment(at))));
    let mut command: Rows =
        vec![("command", escaped(&view.command_line())), ("directory", escaped(&view.cwd))];
    if !view.env_names.is_empty() {
        command.push(("variables", escaped(&view.env_names.join(", "))));
    }
    command.extend(view.pty_size.map(|size| ("terminal", format!("{}x{}", size.cols, size.rows))));
    let limits = &view.limits;
    let mut limit: Rows = Vec::new();
    limit.extend(limits.overall.map(|length| ("timeout", show(length))));
    limit.extend(limits.no_output.map(|length| ("no output", show(length))));
    limit.push(("grace", show(limits.grace)));
    let mut groups = vec![("Run", run), ("Command", command), ("Limits", limit)];
    if let (Some(pid), Some(keeper), Some(around)) = (view.pid, view.keeper_pid, &view.boundary) {
        let mut rows = vec![("pid", pid.to_string())];
        rows.extend(view.exe.as_ref().map(|exe| ("executable", escaped(exe))));
        rows.extend([("keeper", keeper.to_string()), ("boundary", escaped(&boundary(around)))]);
        groups.push(("Processes", rows));
    }
    groups.push(("Output", output(context, view)));
    if let (Some(termination), Some(at)) = (&view.termination, view.ended_at_ms) {
        let rows = vec![
            ("how", escaped(&termination.sentence())),
            ("reason", termination.reason.to_string()),
            ("when", context.moment(at)),
        ];
        groups.push(("Ending", rows));
    }
    groups
}

fn output(context: &Context, view: &RunJson) -> Rows {
    let mut rows = vec![("bytes", format!("{} ({})", view.output.bytes, bytes(view.output.bytes)))];
    if view.output.dropped_bytes > 0 {
        rows.push(("dropped", bytes(view.output.dropped_bytes)));
    }
    rows.extend(view.last_output_at_ms.map(|at| ("last", context.moment(at))));
    rows
}

/// Returns the state for people: a run with neither keeper nor ending is `lost`.
pub(crate) fn state(view: &RunJson) -> (String, Tone) {
    if view.foreign && view.termination.is_none() {
        return ("foreign".to_owned(), Tone::Warning);
    }
    if view.lease_state == LeaseState::Lost && view.termination.is_none() {
        return ("lost".to_owned(), Tone::Bad);
    }
    let tone = match view.state {
        State::Starting | State::Exiting => Tone::Warning,
        State::Running => Tone::Good,
        State::Exited => Tone::Dim,
    };
    (view.state.to_string(), tone)
}

/// Formats the ending in a word or two.
fn short_ending(termination: &Termination) -> String {
    match (termination.reason, termination.exit_code, termination.signal) {
        (Reason::Exit, Some(code), _) => format!("exit {code}"),
        (Reason::Signal, _, Some(signal)) => format!("signal {signal}"),
        (reason, _, _) => reason.to_string(),
    }
}

fn tone(termination: &Termination) -> Tone {
    match (termination.code(), termination.confirmed) {
        (0, true) => Tone::Dim,
        // Cancelled: intended.
        (123, true) => Tone::Warning,
        _ => Tone::Bad,
    }
}

/// Returns the run's label, or its command.
pub(super) fn name(view: &RunJson) -> String {
    escaped(&view.label.clone().unwrap_or_else(|| view.command_line()))
}

/// Shortens a session key to its end, which says more than its beginning.
pub(super) fn shortened(key: &str) -> String {
    const MAX_CHARS: usize = 24;
    let count = key.chars().count();
    if count <= MAX_CHARS {
        return key.to_owned();
    }
    let tail: String = key.chars().skip(count - (MAX_CHARS - 1)).collect();
    format!("…{tail}")
}

fn boundary(boundary: &Boundary) -> String {
    match boundary {
        Boundary::Cgroup { path } => format!("keeper and cgroup {path}"),
        Boundary::Subreaper { why: Some(why) } => format!("keeper (no cgroup: {why})"),
        Boundary::Subreaper { why: None } => "keeper".to_owned(),
        Boundary::Group => "keeper, session and group".to_owned(),
        Boundary::Job { name } => format!("job {name}"),
    }
}
