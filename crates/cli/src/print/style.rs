//! Width and colours of standard output.

use std::env;
use std::io::{IsTerminal, stdout};
use tenure_os::terminal;

/// Line width when standard output is no terminal, or does not tell its size.
const WIDTH: u16 = 200;

/// Width and colours of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Columns of a line.
    pub(crate) width: u16,
    /// True if colours are printed.
    pub(crate) colour: bool,
}

/// The meaning of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Normal text.
    Plain,
    /// A heading.
    Title,
    /// Success, or work in progress.
    Good,
    /// Needs attention.
    Warning,
    /// Failure.
    Bad,
    /// Finished, or less important.
    Dim,
}

impl Tone {
    /// Returns the parameter of the ANSI sequence that starts it.
    pub(crate) fn code(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Title => Some("1"),
            Tone::Good => Some("32"),
            Tone::Warning => Some("33"),
            Tone::Bad => Some("31"),
            Tone::Dim => Some("2"),
        }
    }
}

impl Style {
    /// The style of this process's standard output.
    pub(crate) fn of_stdout() -> Self {
        let is_terminal = stdout().is_terminal();
        let width = terminal::stdout().size().filter(|_| is_terminal).map_or(WIDTH, |size| size.cols);
        Self { width, colour: colours(&|name| env::var(name).ok(), is_terminal) }
    }

    /// Colours a text.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        match tone.code().filter(|_| self.colour) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text.to_owned(),
        }
    }
}

/// Returns true if colours are to be printed. `TENURE_COLOR` decides; without it, a terminal gets colours unless
/// `NO_COLOR` is set or `TERM` is `dumb`.
fn colours(variable: &dyn Fn(&str) -> Option<String>, is_terminal: bool) -> bool {
    match variable("TENURE_COLOR").as_deref() {
        Some("always" | "1" | "on") => true,
        Some("never" | "0" | "off") => false,
        _ => {
            let unwanted = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
            let dumb = variable("TERM").is_some_and(|term| term == "dumb");
            is_terminal && !unwanted && !dumb
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_get_colours_unless_switched_off() {
        let with = |set: &[(&str, &str)], is_terminal| {
            let find =
                |name: &str| set.iter().find(|(its, _)| *its == name).map(|(_, value)| (*value).to_owned());
            colours(&find, is_terminal)
        };
        assert!(with(&[], true));
        assert!(!with(&[], false));
        assert!(!with(&[("NO_COLOR", "1")], true));
        assert!(with(&[("NO_COLOR", "")], true), "an empty NO_COLOR is none");
        assert!(!with(&[("TERM", "dumb")], true));
        assert!(with(&[("TENURE_COLOR", "always"), ("NO_COLOR", "1")], false));
        assert!(!with(&[("TENURE_COLOR", "never")], true));
        assert!(!with(&[("TENURE_COLOR", "auto")], false));
    }

    #[test]
    fn text_is_painted_only_with_colours() {
        let style = |colour| Style { width: 80, colour };
        assert_eq!(style(false).paint(Tone::Bad, "x"), "x");
        assert_eq!(style(true).paint(Tone::Bad, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(style(true).paint(Tone::Plain, "x"), "x");
    }
}
