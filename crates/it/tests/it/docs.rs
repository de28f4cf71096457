//! Documents: every `console` block of README.md and `docs/` is executed, in order, in a fresh home, and its output is compared.
//!
//! A line with `$ ` is a command, a line with `> ` continues it, and the others are its output. `…` stands for any text, and
//! for any number of lines if it is alone. Spaces are compared loosely, and so are ids, times, sizes and pids.

use std::fmt::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tenure_it::child_program::ChildProgram;
use tenure_it::install::{Install, tenure};

/// Time limit for all commands of one document.
const LIMIT: Duration = Duration::from_mins(2);

/// Line between the outputs of two commands.
const MARK: &str = "\u{1e}next command\u{1e}";

/// Directory with the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(repository().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A command with the output that the document shows.
struct Step {
    line: usize,
    command: String,
    output: Vec<String>,
}

/// Returns the commands of a document's console blocks.
fn steps(document: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_console = false;
    for (at, text) in document.lines().enumerate() {
        if text.starts_with("```") {
            is_console = !is_console && text == "```console";
        } else if !is_console {
        } else if let Some(command) = text.strip_prefix("$ ") {
            steps.push(Step { line: at + 1, command: command.to_owned(), output: Vec::new() });
        } else {
            let step = steps.last_mut().expect("a console block begins with a command");
            match text.strip_prefix("> ").filter(|_| step.output.is_empty()) {
                Some(more) => write!(step.command, "\n{more}").expect("a string takes text"),
                None => step.output.push(text.to_owned()),
            }
        }
    }
    steps
}

/// Reduces a line to what has to agree: ids, times, sizes and pids become `#`, and spaces one space.
fn essence(line: &str) -> String {
    const UNITS: [&str; 8] = ["ms", "s", "min", "h", "B", "KiB", "MiB", "GiB"];
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let unit = word.trim_end_matches([',', ';', ':', ')']);
        match words.last_mut() {
            Some(last) if UNITS.contains(&unit) && last.parse::<f64>().is_ok() => "#".clone_into(last),
            // `1 min 30 s` is one quantity.
            Some(last) if UNITS.contains(&unit) && last == "#" => {}
            _ => {
                words.push(word.split_inclusive(['(', ')', ',', ';', '=', '/']).map(anonymous).collect());
            }
        }
    }
    words.dedup_by(|after, before| after == "#" && before == "#");
    words.join(" ")
}

/// Replaces an id, a point in time or a pid, with what follows it. Short numbers stay: they count, or are exit codes.
fn anonymous(part: &str) -> String {
    let core = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let is_id = core.len() >= 12 && core.bytes().all(|b| b.is_ascii_hexdigit());
    let is_number = core.len() >= 4 && core.bytes().all(|b| b.is_ascii_digit() || b".:-".contains(&b));
    let in_parentheses = part.ends_with(')') && core.parse::<u32>().is_ok();
    if is_id || is_number || in_parentheses { format!("#{}", &part[core.len()..]) } else { part.to_owned() }
}

/// Returns true if the text is as the pattern, in which `…` stands for any text.
fn is_like(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once('…') else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    (0..=rest.len()).filter(|&at| rest.is_char_boundary(at)).any(|at| is_like(after, &rest[at..]))
}

/// Returns true if the lines are as a document shows them.
fn are_like(shown: &[String], lines: &[&str]) -> bool {
    match (shown, lines) {
        ([], lines) => lines.is_empty(),
        ([any, rest @ ..], lines) if any == "…" => {
            (0..=lines.len()).any(|skip| are_like(rest, &lines[skip..]))
        }
        ([one, rest @ ..], [line, more @ ..]) => {
            is_like(&essence(one), &essence(line)) && are_like(rest, more)
        }
        (_, []) => false,
    }
}

/// A program of the documents' world: Claude Code, as far as `claude -p` answers.
fn write_agent(folder: &Path) {
    let answer = repository().join("crates/agents/fixtures/claude-fresh.jsonl");
    let script = format!("#!/bin/sh\ncat >/dev/null\nexec cat '{}'\n", answer.display());
    std::fs::write(folder.join("claude"), script).expect("an agent");
    std::fs::set_permissions(folder.join("claude"), PermissionsExt::from_mode(0o755)).expect("chmod");
}

/// Executes a document's commands in one shell, with `tenure` on its path, and compares what they print.
#[track_caller]
fn check(name: &str) {
    let steps = steps(&read(name));
    let temporary = tempfile::Builder::new().prefix("tenure-docs-").tempdir().expect("a directory");
    let home = temporary.path();
    let state = home.join(".local/state/tenure");
    let install = Install::new().with_daemon().with_state(state.clone());
    let programs = home.join("bin");
    for folder in [&programs, &home.join(".config/tenure"), &home.join("project")] {
        std::fs::create_dir_all(folder).expect("a directory");
    }
    symlink(tenure(), programs.join("tenure")).expect("a link");
    write_agent(&programs);
    let mut script = "exec 2>&1\n".to_owned();
    for step in &steps {
        let command = &step.command;
        writeln!(script, "{command}\ncode=$?; printf '\\n{MARK}\\n'; (exit $code)")
            .expect("a string takes text");
    }
    let mut shell = install.shell_command("exec bash -c \"$SCRIPT\"");
    let path = std::env::var("PATH").unwrap_or_default();
    shell.env("SCRIPT", script).env("HOME", home).env("PATH", format!("{}:{path}", programs.display()));
    for name in ["TENURE_CONFIG", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "TENURE_CGROUP"] {
        shell.env_remove(name);
    }
    shell.env("COLUMNS", "120").current_dir(home.join("project"));
    let mut shell = ChildProgram::new(shell);
    shell.end_within(LIMIT);
    let printed = shell.out();
    let parts: Vec<&str> = printed.split_terminator(&format!("\n{MARK}\n")).collect();
    let mut wrong = String::new();
    for (at, step) in steps.iter().enumerate() {
        let lines: Vec<&str> = parts.get(at).unwrap_or(&"(it was not reached)").lines().collect();
        if !are_like(&step.output, &lines) {
            let (line, command) = (step.line, &step.command);
            let (shown, lines) = (step.output.join("\n"), lines.join("\n"));
            writeln!(wrong, "\n{name}:{line}: $ {command}\n--- shown\n{shown}\n--- printed\n{lines}")
                .expect("a string takes text");
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nChange the document, or what it is about.");
}

/// A test per document with console blocks.
macro_rules! documents {
    ($($test:ident $name:literal;)*) => {
        $(#[test]
        fn $test() {
            check($name);
        })*

        const DOCUMENTS: &[&str] = &[$($name),*];
    };
}

documents! {
    commands_of_the_readme_do_what_it_shows "README.md";
    commands_of_cli_md_do_what_it_shows "docs/cli.md";
    commands_of_concepts_md_do_what_it_shows "docs/concepts.md";
    commands_of_config_md_do_what_it_shows "docs/config.md";
    commands_of_api_md_do_what_it_shows "docs/api.md";
    commands_of_troubleshooting_md_do_what_it_shows "docs/troubleshooting.md";
    commands_of_security_md_do_what_it_shows "docs/security.md";
    commands_of_operations_md_do_what_it_shows "docs/operations.md";
    commands_of_start_agent_md_do_what_it_shows "docs/start-agent.md";
    commands_of_start_gateway_md_do_what_it_shows "docs/start-gateway.md";
    commands_of_start_operator_md_do_what_it_shows "docs/start-operator.md";
    commands_of_sessions_md_do_what_it_shows "docs/sessions.md";
    commands_of_tasks_md_do_what_it_shows "docs/tasks.md";
}

/// Returns README.md and the files of `docs/`, without the decisions.
fn all_documents() -> Vec<String> {
    let folder = std::fs::read_dir(repository().join("docs")).expect("a folder");
    let pages = folder.flatten().map(|entry| entry.path());
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let names = pages.filter_map(|path| path.file_name()?.to_str().map(|name| format!("docs/{name}")));
    names.chain(["README.md".to_owned()]).collect()
}

#[test]
fn every_document_with_commands_is_executed_and_every_link_leads_somewhere() {
    for name in all_documents() {
        let text = read(&name);
        let is_listed = DOCUMENTS.contains(&name.as_str());
        assert_eq!(is_listed, !steps(&text).is_empty(), "{name}: console blocks and DOCUMENTS");
        let folder = Path::new(&name).parent().expect("a folder");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let is_file = !link.is_empty() && !link.contains("://");
            assert!(
                !is_file || repository().join(folder).join(link).exists(),
                "{name}: {link} does not exist"
            );
        }
    }
}

#[test]
fn the_readme_has_at_most_200_lines() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 200, "{lines} lines");
}

#[test]
fn a_line_that_differs_only_in_ids_times_sizes_and_pids_is_the_same() {
    let like = |shown: &str, line: &str| is_like(&essence(shown), &essence(line));
    assert!(like(
        "tenure: run 9324bdece627 after 19 ms: exit 0",
        "tenure: run 000000000000 after 2.5 s: exit 0"
    ));
    assert!(like("escaped: /usr/bin/sleep (6300)", "escaped: /usr/bin/sleep (7)"));
    assert!(like("a … b", "a whatever it is b"));
    assert!(!like(
        "tenure: run 9324bdece627 after 19 ms: exit",
        "tenure: run 9324bdece627 after 19 ms: cancelled"
    ));
    assert!(like("10:00:00.001 pid 4711, 1.5 MiB", "23:59:59.999 pid 12345, 2 KiB"));
    assert!(
        !like("123", "124") && !like("exit 0; 1 leftover", "exit 0; 2 leftover"),
        "counts and exit codes count"
    );
    assert!(are_like(&["a".into(), "…".into(), "b".into()], &["a", "x", "y", "b"]));
    assert!(!are_like(&["a".into()], &["a", "b"]));
}
