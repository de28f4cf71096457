//! From the words of this process's command line to a command, or to one line that says what is wrong with them.

use super::{Cli, Command, NurseryArgs};
use clap::Parser;
use clap::error::ErrorKind;
use tenure_os::complaint::complain;

/// What parsing came to.
pub(crate) enum Parsed {
    /// A command to carry out.
    Command(Box<Command>),
    /// Help or an error was printed.
    Done(u8),
}

/// Parses this process's command line. An error is one line.
pub(crate) fn parse() -> Parsed {
    if let Some(nursery) = NurseryArgs::as_tenure_writes_them() {
        return Parsed::Command(Box::new(Command::Nursery(nursery)));
    }
    let error = match Cli::try_parse() {
        Ok(cli) => return Parsed::Command(Box::new(cli.command)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader of the help that is gone has read enough.
            let _ = error.print();
            Parsed::Done(0)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Parsed::Done(2)
        }
        _ => {
            complain(one_line(&error.to_string()));
            let mut words = std::env::args_os().skip(1);
            let (verb, next) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let of_turn = verb == "acp" && (next == "prompt" || next == "attach");
            let of_run = verb == "run" || verb == "wait";
            Parsed::Done(if of_run || of_turn { 125 } else { 2 })
        }
    }
}

/// The message and what was probably meant, without the usage, which `--help` gives better.
fn one_line(text: &str) -> String {
    let body = text.strip_prefix("error: ").unwrap_or(text);
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let (tips, message): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("tip:"));
    let meant = tips.iter().find(|tip| tip.contains("similar")).map(|tip| tip.replace("tip: ", "; "));
    format!("{}{} (see --help)", message.join(" "), meant.unwrap_or_default())
}

/// What these words come to, for tests.
#[cfg(test)]
pub(crate) fn words(words: &[&str]) -> Result<Command, clap::Error> {
    Cli::try_parse_from(words).map(|cli| cli.command)
}
