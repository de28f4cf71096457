//! The live processes of runs, as trees.

use super::runs::name;
use super::{Context, Table, Tone, ago, bytes, escaped, lines, short, state};
use crate::failure::Failure;
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tenure_core::duration::show;
use tenure_core::run_json::{RunJson, RunView};
use tenure_core::wire::{ProcessView, Via};

/// Maximum length of a branch in bytes. Deeper processes are not indented further: a chain of forks may have thousands.
const MAX_BRANCH_BYTES: usize = 100;

/// Prints runs with their processes.
pub(crate) fn process_trees(trees: &[(RunView, Vec<ProcessView>)]) -> Result<(), Failure> {
    let context = Context::of_stdout();
    let texts: Vec<Vec<String>> =
        trees.iter().map(|(view, processes)| tree_lines(&context, &view.json(), processes)).collect();
    lines(&texts.join(&String::new()))
}

/// Formats one run with its processes.
pub(crate) fn tree_lines(context: &Context, view: &RunJson, processes: &[ProcessView]) -> Vec<String> {
    let mut table = Table::new(context.style, &["", ">", ">", "", ""]);
    for (branch, process) in branches(processes) {
        let via = match process.via {
            Via::Child => ("child", Tone::Dim),
            Via::Adopted => ("adopted", Tone::Warning),
            Via::Session => ("session", Tone::Warning),
            Via::Mark => ("mark", Tone::Warning),
            Via::Cgroup => ("cgroup", Tone::Warning),
            Via::Job => ("job", Tone::Plain),
        };
        table.row([
            (format!("{branch}{}", process.note.pid), Tone::Plain),
            (show(Duration::from_millis(process.cpu_ms)), Tone::Plain),
            (bytes(process.rss_bytes), Tone::Plain),
            (via.0.to_owned(), via.1),
            (escaped(&process.command), Tone::Plain),
        ]);
    }
    let mut lines = vec![header(context, view)];
    lines.extend(table.lines());
    lines
}

fn header(context: &Context, view: &RunJson) -> String {
    let style = context.style;
    let (state, tone) = state(view);
    let id = style.paint(Tone::Title, short(&view.run_id));
    let age = ago(context.since(view.created_at_ms));
    let rest = style.width.saturating_sub(30).max(20).into();
    let name: String = name(view).chars().take(rest).collect();
    format!("{id}  {}  {age}  {name}", style.paint(tone, &state))
}

/// Returns each process with its branch, parents first. A process without a parent in the list is drawn below the run.
fn branches(processes: &[ProcessView]) -> Vec<(String, &ProcessView)> {
    let pids: HashSet<i32> = processes.iter().map(|process| process.note.pid).collect();
    let mut children: HashMap<i32, Vec<&ProcessView>> = HashMap::new();
    let mut tops = Vec::new();
    for process in processes {
        if pids.contains(&process.ppid) && process.ppid != process.note.pid {
            children.entry(process.ppid).or_default().push(process);
        } else {
            tops.push(process);
        }
    }
    let mut drawn = Vec::new();
    // An explicit stack: a chain may be too deep for recursion.
    let mut stack = Vec::new();
    push_siblings(&tops, "", &mut stack);
    while let Some((branch, trunk, process)) = stack.pop() {
        drawn.push((branch, process));
        // Removed, so that no process is drawn twice, even if the list has a cycle.
        push_siblings(&children.remove(&process.note.pid).unwrap_or_default(), &trunk, &mut stack);
    }
    // Processes came and went while the list was made, so it may have a cycle, which no top reaches.
    let seen: HashSet<i32> = drawn.iter().map(|(_, process)| process.note.pid).collect();
    let rest = processes.iter().filter(|process| !seen.contains(&process.note.pid));
    drawn.extend(rest.map(|process| ("├─ ".to_owned(), process)));
    drawn
}

/// A process with the text before it, and the text before its children's branches.
type StackItem<'a> = (String, String, &'a ProcessView);

/// Pushes siblings onto the stack, the first on top.
fn push_siblings<'a>(siblings: &[&'a ProcessView], trunk: &str, stack: &mut Vec<StackItem<'a>>) {
    for (at, process) in siblings.iter().enumerate().rev() {
        let (branch, more) = if at + 1 == siblings.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let below = if trunk.len() > MAX_BRANCH_BYTES { trunk.to_owned() } else { format!("{trunk}{more}") };
        stack.push((format!("{trunk}{branch}"), below, process));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::ending::ProcessNote;

    fn process(pid: i32, parent: i32) -> ProcessView {
        ProcessView {
            note: ProcessNote { pid, exe: None },
            ppid: parent,
            pgid: pid,
            sid: pid,
            command: String::new(),
            started_at_ms: 0,
            cpu_ms: 0,
            rss_bytes: 0,
            via: Via::Child,
        }
    }

    fn drawn(pairs: &[(i32, i32)]) -> Vec<String> {
        let processes: Vec<_> = pairs.iter().map(|&(pid, ppid)| process(pid, ppid)).collect();
        branches(&processes)
            .into_iter()
            .map(|(branch, process)| format!("{branch}{}", process.note.pid))
            .collect()
    }

    #[test]
    fn each_process_hangs_on_its_parent() {
        let tree = drawn(&[(10, 9), (11, 10), (12, 11), (13, 10), (20, 9), (21, 20)]);
        assert_eq!(tree, ["├─ 10", "│  ├─ 11", "│  │  └─ 12", "│  └─ 13", "└─ 20", "   └─ 21"]);
    }

    #[test]
    fn a_chain_of_thousands_is_drawn() {
        let chain: Vec<(i32, i32)> = (2..5000).map(|pid| (pid, pid - 1)).collect();
        let tree = drawn(&chain);
        assert_eq!(tree.len(), chain.len());
        assert!(tree.iter().all(|line| line.len() < 150));
    }

    #[test]
    fn a_parent_may_come_after_its_child() {
        assert_eq!(drawn(&[(11, 10), (10, 1)]), ["└─ 10", "   └─ 11"]);
    }

    #[test]
    fn every_process_is_drawn_once_even_in_a_cycle() {
        let mut ring = drawn(&[(10, 11), (11, 10), (12, 12), (13, 1)]);
        ring.sort();
        assert_eq!(ring, ["└─ 13", "├─ 10", "├─ 11", "├─ 12"]);
        assert!(drawn(&[]).is_empty());
    }
}
