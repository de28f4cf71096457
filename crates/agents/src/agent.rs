//! The description of a CLI agent.

use crate::environment::Environment;
use crate::rule::Rule;
use crate::template::{Argument, Place, Template};
use std::time::Duration;
use tenure_core::limits::Activity;
use tenure_core::session::AgentId;
use tenure_core::watchdog::{Begins, no_output_limit};

/// A CLI agent: what to start for a turn, and how to read what it says. Made by [`crate::agents`], which checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// What people call it.
    pub name: AgentId,
    /// The program: a name to look for, or an absolute path.
    pub command: String,
    /// The arguments of a turn in a new session.
    pub fresh: Vec<Argument>,
    /// The arguments of a turn in a session that there is; `None` if the agent cannot go on with one.
    pub resume: Option<Vec<Argument>>,
    /// Where the prompt goes.
    pub prompt: PromptGoes,
    /// The model, where a turn names none.
    pub model: Option<String>,
    /// More arguments, put where the templates say `{extra}`.
    pub extra: Vec<String>,
    /// What it sees of the environment.
    pub env: Environment,
    /// What it is connected to.
    pub terminal: Terminal,
    /// How long a turn may take; `None` is "no limit".
    pub timeout: Option<Duration>,
    /// How long a turn may be silent.
    pub silence: Silence,
    /// What counts against silence.
    pub activity: Activity,
    /// What its standard output is.
    pub output: Output,
}

/// Flags that let agents act without asking anybody, in lower case, as whole arguments or before a `=`.
const UNASKED: [&str; 11] = [
    "--allow-tool",
    "--allowed-tools",
    "--allowedtools",
    "--ask-for-approval=never",
    "--auto",
    "--force",
    "--full-auto",
    "--yes",
    "--yes-always",
    "-f",
    "-y",
];
/// Values of other flags with the same effect.
const UNASKED_VALUES: [&str; 3] = ["acceptedits", "auto_edit", "never"];
/// Parts of flags and values with the same effect.
const UNASKED_PARTS: [&str; 9] = [
    "allow-all",
    "auto-approve",
    "bypass",
    "dangerous",
    "danger-full-access",
    "skip-permissions",
    "trust-all",
    "unsafe",
    "yolo",
];

/// Programs that ask before they fetch a package: their own `-y` says nothing about what the package does.
const FETCHERS: [&str; 4] = ["bunx", "npm", "npx", "pnpx"];

/// Returns the first argument by which an agent acts without asking anybody.
pub(crate) fn acts_unasked<'a>(command: &str, words: impl Iterator<Item = &'a str>) -> Option<String> {
    let fetches = FETCHERS.contains(&command.rsplit('/').next().unwrap_or_default());
    let mut words = words.skip_while(|word| fetches && word.starts_with('-'));
    let is_such = |word: &&str| {
        let word = word.to_lowercase();
        let (name, value) = word.split_once('=').unwrap_or((&word, &word));
        // `-anever` is `-a never`.
        let glued = word.strip_prefix("-a").unwrap_or_default();
        let value = value.trim_matches(['"', '\'']);
        [name, &word].iter().any(|it| UNASKED.contains(it))
            || [value, glued].iter().any(|it| UNASKED_VALUES.contains(it))
            || UNASKED_PARTS.iter().any(|part| word.contains(part))
    };
    words.find(is_such).map(str::to_owned)
}

impl Agent {
    /// Returns the argument by which the agent acts without asking anybody, if its description has one.
    pub fn acts_unasked(&self) -> Option<String> {
        let templates = self.fresh.iter().chain(self.resume.iter().flatten()).flat_map(Argument::words);
        let words = templates.filter_map(Template::literal).chain(self.extra.iter().map(String::as_str));
        acts_unasked(&self.command, words)
    }

    /// Returns true if a conversation of it is begun with the model that somebody asks for.
    pub fn takes_model(&self) -> bool {
        self.fresh.iter().flat_map(Argument::words).any(|word| word.holds(Place::Model))
    }

    /// How long a turn with this time limit may be silent; `None` is "no limit".
    pub fn no_output(&self, begins: Begins, timeout: Option<Duration>) -> Option<Duration> {
        self.silence.limit(begins, timeout)
    }
}

impl Silence {
    /// How long a turn with this time limit may be silent; `None` is "no limit".
    pub fn limit(self, begins: Begins, timeout: Option<Duration>) -> Option<Duration> {
        match self {
            Silence::Default => Some(no_output_limit(begins, timeout, None)),
            Silence::After(limit) => Some(no_output_limit(begins, timeout, Some(limit))),
            Silence::Unlimited => None,
        }
    }
}

/// Where the prompt goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptGoes {
    /// To standard input, which ends after it.
    Stdin,
    /// Where the templates say `{prompt}`.
    Argument,
}

/// What an agent is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    /// Three pipes.
    Pipes,
    /// A terminal of its own.
    Pty,
}

/// How long a turn may be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// As long as `core::watchdog` says.
    Default,
    /// This long, within the bounds that hold for all.
    After(Duration),
    /// As long as it likes.
    Unlimited,
}

/// What an agent's standard output is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// The answer itself.
    Text,
    /// A JSON object per line.
    JsonLines(Box<Read>),
}

/// Where in the JSON lines something stands. Of several rules the first that finds something counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Read {
    /// The agent's own name for its session.
    pub session: Vec<Rule>,
    /// A piece of a message.
    pub delta: Vec<Rule>,
    /// A message as a whole, whether it came in pieces before or not.
    pub message: Vec<Rule>,
    /// The final text; a rule without a path says that the last message was it.
    pub last: Vec<Rule>,
    /// What went wrong.
    pub error: Vec<Rule>,
    /// The tokens read.
    pub usage_input: Vec<Rule>,
    /// The tokens written.
    pub usage_output: Vec<Rule>,
    /// What the figures of the usage are for.
    pub usage_of: Span,
}

/// What a figure of usage is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Span {
    /// One step of a turn: the figures of a turn are their sum.
    Step,
    /// The turn.
    #[default]
    Turn,
    /// All turns of the session so far.
    Session,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unasked(line: &str) -> bool {
        let (command, words) = line.split_once(' ').unwrap();
        acts_unasked(command, words.split(' ')).is_some()
    }

    #[test]
    fn flags_by_which_agents_ask_nobody_are_known_in_any_spelling() {
        for line in [
            "claude --dangerously-skip-permissions",
            "claude --permission-mode bypassPermissions",
            "claude --permission-mode=acceptEdits",
            "claude --allowedTools Bash",
            "claude --settings {\"permissions\":{\"defaultMode\":\"bypassPermissions\"}}",
            "codex exec --full-auto",
            "codex --yolo",
            "codex -s danger-full-access",
            "codex -sdanger-full-access",
            "codex -a never",
            "codex -anever",
            "codex -c approval_policy=\"never\"",
            "codex --dangerously-bypass-approvals-and-sandbox",
            "gemini --approval-mode yolo",
            "gemini --approval-mode=auto_edit",
            "gemini -y",
            "qwen --YOLO",
            "copilot --allow-all-tools",
            "droid exec --skip-permissions-unsafe",
            "npx -y @x/agent --yolo",
        ] {
            assert!(unasked(line), "{line}");
        }
        for line in [
            "claude -p --output-format json",
            "codex exec --json -",
            "npx -y @x/agent --acp",
            "gemini --approval-mode default",
        ] {
            assert!(!unasked(line), "{line}");
        }
    }
}
