//! What standard output is: how wide, and whether it shows colours.

use std::env;
use std::io::{IsTerminal, stdout};
use tenure_os::terminal;

/// How much of a long text is shown where nobody says how wide a line may be.
const WIDTH: u16 = 200;

/// What standard output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Face {
    /// How many columns a line has.
    pub(crate) width: u16,
    /// Whether it shows colours.
    pub(crate) colour: bool,
}

/// What a colour says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing special.
    Plain,
    /// A heading.
    Title,
    /// It goes well.
    Good,
    /// Look at this.
    Odd,
    /// It went wrong.
    Bad,
    /// It is over, or matters less.
    Quiet,
}

impl Tone {
    /// The parameter of the sequence that begins it.
    pub(crate) fn code(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Title => Some("1"),
            Tone::Good => Some("32"),
            Tone::Odd => Some("33"),
            Tone::Bad => Some("31"),
            Tone::Quiet => Some("2"),
        }
    }
}

impl Face {
    /// This process's standard output.
    pub(crate) fn of_stdout() -> Self {
        let is_terminal = stdout().is_terminal();
        let width = terminal::stdout().size().filter(|_| is_terminal).map_or(WIDTH, |size| size.cols);
        Self { width, colour: colours(&|name| env::var(name).ok(), is_terminal) }
    }

    /// A text in a colour.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        match tone.code().filter(|_| self.colour) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text.to_owned(),
        }
    }
}

/// Whether colours are wanted: `TENURE_COLOR` says so, or `NO_COLOR` does not, or it is a terminal that has them.
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
    fn colours_are_for_terminals_whose_owner_wants_them() {
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
    fn paint_is_only_where_there_are_colours() {
        let face = |colour| Face { width: 80, colour };
        assert_eq!(face(false).paint(Tone::Bad, "x"), "x");
        assert_eq!(face(true).paint(Tone::Bad, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(face(true).paint(Tone::Plain, "x"), "x");
    }
}
