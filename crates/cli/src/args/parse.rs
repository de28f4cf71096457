//! Parses this process's command line. An error is printed as one line.

use super::{Cli, Command, NurseryArgs, definition};
use clap::FromArgMatches;
use clap::error::ErrorKind;
use std::ffi::OsString;
use tenure_os::stderr::complain;

/// Result of parsing.
pub(crate) enum ParseResult {
    /// A command to execute.
    Command(Box<Command>),
    /// Help or an error was printed; the exit code.
    Done(u8),
}

/// Parses this process's command line.
pub(crate) fn parse() -> ParseResult {
    if let Some(nursery) = NurseryArgs::read_without_parser() {
        return ParseResult::Command(Box::new(Command::Nursery(nursery)));
    }
    let error = match from_words(std::env::args_os()) {
        Ok(command) => return ParseResult::Command(Box::new(command)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A pager that has exited needs no more help.
            let _ = error.print();
            ParseResult::Done(0)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ParseResult::Done(2)
        }
        _ => {
            complain(one_line(&error.to_string()));
            let mut words = std::env::args_os().skip(1);
            let (verb, next) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let ends_with_turn = verb == "acp" && (next == "prompt" || next == "attach");
            let ends_with_run = verb == "run" || verb == "wait";
            // Low exit codes of these verbs are the command's or the turn's.
            ParseResult::Done(if ends_with_run || ends_with_turn { 125 } else { 2 })
        }
    }
}

/// Shortens an error to one line: the message, and the word that was probably meant. The usage is left to `--help`.
fn one_line(text: &str) -> String {
    let body = text.strip_prefix("error: ").unwrap_or(text);
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let (tips, message): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("tip:"));
    let similar = tips.iter().find(|tip| tip.contains("similar")).and_then(|tip| tip.rsplit_once(": "));
    let similar = similar.map_or(String::new(), |(_, word)| format!("; did you mean {word}?"));
    format!("{}{similar} (see --help)", plain(&message.join(" ")))
}

/// Rewrites the parser's message in plain words.
fn plain(message: &str) -> String {
    for (theirs, ours) in [
        ("unrecognized subcommand ", "unknown verb "),
        ("the following required arguments were not provided: ", "missing "),
    ] {
        if let Some(rest) = message.strip_prefix(theirs) {
            return format!("{ours}{rest}");
        }
    }
    let values = message.strip_suffix(']').and_then(|text| text.rsplit_once(" [possible values: "));
    values.map_or(message.to_owned(), |(what, values)| format!("{what}: use one of {values}"))
}

/// Parses the words of a command line.
fn from_words<W: Into<OsString> + Clone>(words: impl IntoIterator<Item = W>) -> Result<Command, clap::Error> {
    let mut definition = definition();
    let mut matches = definition.try_get_matches_from_mut(words)?;
    let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut definition))?;
    Ok(cli.command)
}

/// Parses the words of a command line, for tests.
#[cfg(test)]
pub(crate) fn words(words: &[&str]) -> Result<Command, clap::Error> {
    from_words(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_one_line_in_plain_words() {
        for (line, said) in [
            (&["cance"][..], "unknown verb 'cance'; did you mean 'cancel'? (see --help)"),
            (&["wait"], "missing <ID>... (see --help)"),
            (
                &["run", "--on-escape", "x", "true"],
                "invalid value 'x' for '--on-escape <WHAT>': use one of fail, reap, allow (see --help)",
            ),
            (&["ps", "--stat"], "unexpected argument '--stat' found; did you mean '--state'? (see --help)"),
        ] {
            let error = words(&[&["tenure"], line].concat()).unwrap_err();
            assert_eq!(one_line(&error.to_string()), said);
        }
    }
}
