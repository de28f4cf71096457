//! The reasons why a line cannot be analysed. Each text has a remedy.

/// A line that is not understood well enough to be matched against an allowlist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the command cannot be analysed at byte {at}: {why}")]
pub struct Unanalysable {
    /// The position of the problem, in bytes.
    pub at: usize,
    /// The reason.
    pub why: Why,
}

/// The reasons.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The line is too long.
    #[error("it is longer than 64 KiB; write a script and run that")]
    TooLong,
    /// The line has too many commands.
    #[error("it has more than 64 commands; split it, or write a script and run that")]
    TooManyCommands,
    /// The line has no command.
    #[error("there is no command; write one")]
    Empty,
    /// An operator lacks the command before or after it.
    #[error("a command is missing next to {0:?}; write one there, or leave it out")]
    MissingCommand(&'static str),
    /// A quote is not closed.
    #[error("the {0} quote is not closed; close it")]
    OpenQuote(&'static str),
    /// A backslash is the last character.
    #[error("nothing follows the backslash; leave it out")]
    LastBackslash,
    /// A character controls a terminal, or is invisible.
    #[error("it holds the control character U+{0:04X}; leave it out")]
    Control(u32),
    /// A character hides or reverses parts of the shown line.
    #[error("it holds the invisible character U+{0:04X}; leave it out")]
    Invisible(u32),
    /// A character only looks like a blank or a quote.
    #[error(
        "{0:?} means nothing to a shell, it only looks so; write the plain character, or put it in single quotes"
    )]
    LookAlike(char),
    /// `<`, `>` and operators that begin with them.
    #[error(
        "redirections are not analysed; leave it out (both streams are recorded), or write a script and run that"
    )]
    Redirection,
    /// `$(…)`, backquotes.
    #[error(
        "command substitutions are not analysed; run that command first and write its result, or put it in single quotes"
    )]
    Substitution,
    /// `$name`, `${…}`, `$((…))`, `$'…'`, a lone `$`.
    #[error("expansions with $ are not analysed; write the value itself, or put the $ in single quotes")]
    Expansion,
    /// `*`, `?`, `[`.
    #[error("{0:?} would be a pattern of file names; write the names, or put it in single quotes")]
    Pattern(char),
    /// `{`.
    #[error("braces are not analysed; write the words out, or put them in single quotes")]
    Brace,
    /// `~` where it would become a directory.
    #[error("~ is not analysed; write the directory itself, or put it in single quotes")]
    Tilde,
    /// `!` where an interactive shell would search its history.
    #[error("! is not analysed; leave it out, or put it in single quotes")]
    Bang,
    /// `(` or `)`.
    #[error("parentheses are not analysed; write plain commands, or put them in single quotes")]
    Parenthesis,
    /// `&`.
    #[error(
        "background commands are not analysed; leave the & out and run the command in the background by the tool"
    )]
    Background,
    /// `|&`.
    #[error("|& is not analysed; write |")]
    PipeBoth,
    /// `;;` and the like.
    #[error("{0} is not analysed; write one ;")]
    DoubleSemicolon(&'static str),
    /// `NAME=value` before a command.
    #[error("assignments are not analysed; pass {0} in the environment of the call")]
    Assignment(String),
    /// `if`, `for`, `{`, `time`…
    #[error(
        "{0:?} is a word of the shell's own language; write plain commands, or write a script and run that"
    )]
    Reserved(String),
    /// `cd`, `export`, `eval`…
    #[error("{name:?} is done by the shell itself and has no program; {instead}")]
    Builtin {
        /// The builtin's name.
        name: String,
        /// The remedy.
        instead: &'static str,
    },
    /// The first word begins with a character that shells with jobs or with `=` expansion treat specially.
    #[error("a command that begins with {0:?} is not analysed; write the name of a program")]
    OddCommand(char),
    /// The lexer accepts the line, but the parser of bash reads other words.
    #[error(
        "a parser of bash reads it otherwise, or not at all; put each word in one pair of quotes, break lines between words, or write a script and run that"
    )]
    TwoReadings,
    /// The first word is empty.
    #[error("the name of the command is empty; write the name of a program")]
    EmptyCommand,
}
