//! The parts of the help that the parser cannot write by itself: the groups of verbs in `tenure --help`, and the
//! sections below a verb's flags (notes, exit codes, examples). The manual pages have the same sections.

use std::fmt::Write;

/// A heading in the style of the parser's own headings.
macro_rules! heading {
    ($title:literal) => {
        concat!("\x1b[1m\x1b[4m", $title, ":\x1b[0m")
    };
}

/// The exit codes of most verbs, with the code for a record that does not exist.
macro_rules! usual_codes {
    () => {
        "\n  0  success\n  1  refused or failed\n  2  wrong usage"
    };
    ($record:literal) => {
        concat!(usual_codes!(), "\n  4  no such ", $record)
    };
}

/// The exit codes of a run beyond the command's own.
macro_rules! run_codes {
    () => {
        "
  121    how the command ended is unknown
  122    a process left the run's session and outlived the command
  123    the run was cancelled, or its owner was lost
  124    a time limit ended the run
  125    Tenure itself failed
  126    the command could not be started
  127    the command was not found
  128+N  signal N ended the command"
    };
}

/// The section of examples.
macro_rules! examples {
    ($($example:expr),+ $(,)?) => {
        concat!(heading!("Examples") $(, "\n  ", $example)+)
    };
}

/// The sections below a verb's flags. Exit codes begin with a newline; each is a line with two blanks before it.
macro_rules! sections {
    ($(notes: $notes:expr,)? codes: $codes:expr, examples: [$($example:expr),+ $(,)?] $(,)?) => {
        concat!(
            $($notes, "\n\n",)?
            heading!("Exit codes"), $codes, "\n\n",
            examples!($($example),+)
        )
    };
}

/// The width that help is wrapped to on a wider terminal.
pub(super) const MAX_WIDTH: usize = 100;

/// The place of flags that every verb below one has, after its own flags.
pub(super) const LAST: usize = 900;

/// The verbs of `tenure --help` in groups, the everyday ones first.
pub(super) const GROUPS: [(&str, &[&str]); 6] = [
    ("Run", &["run", "exec", "wait", "cancel", "write", "rm"]),
    ("Look", &["ps", "show", "logs", "tree", "why", "events"]),
    ("Terminal", &["attach", "screen", "send-keys", "submit", "paste", "resize"]),
    ("Agents", &["sessions", "acp", "agents", "tasks", "process", "approvals", "allowlist", "mcp"]),
    ("Daemon", &["daemon", "doctor", "reap", "metrics", "backup"]),
    ("Other", &["completions"]),
];

/// The template of `tenure --help`. The list of verbs is `{before-help}`, because the parser wraps that, but not the template.
const TEMPLATE: &str = concat!(
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}",
    heading!("Options"),
    "\n{options}{after-help}"
);

/// Lists the verbs of a command by [`GROUPS`] instead of in one list.
pub(super) fn with_groups(command: clap::Command) -> clap::Command {
    let verbs = GROUPS.iter().flat_map(|(_, verbs)| *verbs);
    let width = verbs.map(|verb| verb.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (title, verbs) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\x1b[1m\x1b[4m{title}:\x1b[0m");
        for verb in verbs {
            let about = command.find_subcommand(verb).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  \x1b[1m{verb}\x1b[0m{:pad$}  {about}", "", pad = width - verb.len());
        }
        text.push('\n');
    }
    command.before_help(text).help_template(TEMPLATE)
}

/// The text below a verb's flags, split for the manual pages.
pub(crate) struct HelpSections {
    /// The paragraphs before the first heading.
    pub(crate) notes: Vec<String>,
    /// Each heading, with its lines without their indentation.
    pub(crate) headed: Vec<(String, Vec<String>)>,
}

impl HelpSections {
    /// Splits a command's text.
    pub(crate) fn of(command: &clap::Command) -> Self {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let mut sections = Self { notes: Vec::new(), headed: Vec::new() };
        for line in text.lines().filter(|line| !line.is_empty()) {
            match (line.strip_prefix("  "), line.strip_suffix(':'), sections.headed.last_mut()) {
                (Some(line), _, Some((_, lines))) => lines.push(line.to_owned()),
                (None, Some(title), _) => sections.headed.push((title.to_owned(), Vec::new())),
                _ => sections.notes.push(line.to_owned()),
            }
        }
        sections
    }
}
