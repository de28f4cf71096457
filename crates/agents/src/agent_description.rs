//! Description of a CLI agent.

use crate::environment::Environment;
use crate::rule::Rule;
use crate::template::{Argument, Place, Template};
use std::time::Duration;
use tenure_core::limits::Activity;
use tenure_core::session::AgentId;
use tenure_core::watchdog::{Begins, no_output_limit};

/// Description of a CLI agent: the command of a turn, and the rules that read its output. [`crate::agents`] reads and
/// checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Name of the agent.
    pub name: AgentId,
    /// Program: a name to look up in PATH, or an absolute path.
    pub command: String,
    /// Arguments of a turn in a new session.
    pub fresh: Vec<Argument>,
    /// Arguments of a turn in an existing session; `None` if the agent cannot resume one.
    pub resume: Option<Vec<Argument>>,
    /// Way in which the agent gets the prompt.
    pub prompt: PromptChannel,
    /// Model for turns that name none.
    pub model: Option<String>,
    /// Additional arguments, inserted at `{extra}` in the templates.
    pub extra: Vec<String>,
    /// Environment of the process.
    pub env: Environment,
    /// Kind of its standard streams.
    pub terminal: Terminal,
    /// Limits of a turn.
    pub limits: TurnLimits,
    /// Format of its standard output.
    pub output: Output,
}

/// Limits of an agent's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Time limit; `None` means no limit.
    pub timeout: Option<Duration>,
    /// Silence limit.
    pub silence: Silence,
    /// Activity that counts against silence.
    pub activity: Activity,
}

/// Flags that let agents act without asking, in lower case: whole arguments, or their part before a `=`.
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
/// Flag values with the same effect.
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

/// Programs that ask before they fetch a package. Their own `-y` does not affect the package's program.
const FETCHERS: [&str; 4] = ["bunx", "npm", "npx", "pnpx"];

/// Returns the first argument that lets an agent act without asking.
pub(crate) fn acts_unasked<'a>(command: &str, words: impl Iterator<Item = &'a str>) -> Option<String> {
    let fetches = FETCHERS.contains(&command.rsplit('/').next().unwrap_or_default());
    let mut words = words.skip_while(|word| fetches && word.starts_with('-'));
    let is_such = |word: &&str| {
        let word = word.to_lowercase();
        let (name, value) = word.split_once('=').unwrap_or((&word, &word));
        // `-anever` means `-a never`.
        let glued = word.strip_prefix("-a").unwrap_or_default();
        let value = value.trim_matches(['"', '\'']);
        [name, &word].iter().any(|it| UNASKED.contains(it))
            || [value, glued].iter().any(|it| UNASKED_VALUES.contains(it))
            || UNASKED_PARTS.iter().any(|part| word.contains(part))
    };
    words.find(is_such).map(str::to_owned)
}

impl Agent {
    /// Returns the first argument that lets the agent act without asking, if the description has one.
    pub fn acts_unasked(&self) -> Option<String> {
        let templates = self.fresh.iter().chain(self.resume.iter().flatten()).flat_map(Argument::words);
        let words = templates.filter_map(Template::literal).chain(self.extra.iter().map(String::as_str));
        acts_unasked(&self.command, words)
    }

    /// Returns true if the arguments of a new session have a place for the model.
    pub fn takes_model(&self) -> bool {
        self.fresh.iter().flat_map(Argument::words).any(|word| word.holds(Place::Model))
    }

    /// Returns the silence limit of a turn with this time limit; `None` means no limit.
    pub fn no_output(&self, begins: Begins, timeout: Option<Duration>) -> Option<Duration> {
        self.limits.silence.limit(begins, timeout)
    }
}

impl Silence {
    /// Returns the silence limit of a turn with this time limit; `None` means no limit.
    pub fn limit(self, begins: Begins, timeout: Option<Duration>) -> Option<Duration> {
        match self {
            Silence::Default => Some(no_output_limit(begins, timeout, None)),
            Silence::After(limit) => Some(no_output_limit(begins, timeout, Some(limit))),
            Silence::Unlimited => None,
        }
    }
}

/// Way in which an agent gets its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptChannel {
    /// On standard input, which is closed after it.
    Stdin,
    /// In an argument, at `{prompt}` in the templates.
    Argument,
}

/// Kind of an agent's standard streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    /// Three pipes.
    Pipes,
    /// A pseudoterminal.
    Pty,
}

/// Silence limit of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// Default of `core::watchdog`, a share of the turn's time limit.
    Default,
    /// This duration, within the bounds of `core::watchdog`.
    After(Duration),
    /// No limit.
    Unlimited,
}

/// Format of an agent's standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Plain text: the answer itself.
    Text,
    /// A JSON object per line.
    JsonLines(Box<Read>),
}

/// Rules that find values in JSON lines. Of several rules for a value, the first that finds it counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Read {
    /// Session id of the agent.
    pub session: Vec<Rule>,
    /// Part of a message.
    pub delta: Vec<Rule>,
    /// Complete message, even if its parts came before.
    pub message: Vec<Rule>,
    /// Final text. A rule without a path marks the last message as the final text.
    pub last: Vec<Rule>,
    /// Error message.
    pub error: Vec<Rule>,
    /// Number of input tokens.
    pub usage_input: Vec<Rule>,
    /// Number of output tokens.
    pub usage_output: Vec<Rule>,
    /// Period that the token counts cover.
    pub usage_of: Span,
}

/// Period that a token count covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Span {
    /// A step of a turn. A turn's count is the sum of its steps.
    Step,
    /// A turn.
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
