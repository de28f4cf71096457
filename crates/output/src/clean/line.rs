//! The line that text is added to. The meaning of a carriage return depends on the character that follows.

use serde::{Deserialize, Serialize};

/// The state of the line, see the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Line {
    /// True if the line has text.
    begun: bool,
    /// True after a carriage return, until the next character.
    returned: bool,
}

impl Line {
    /// Returns true if the line has text.
    pub(crate) fn is_begun(self) -> bool {
        self.begun
    }

    /// Ends the line.
    pub(crate) fn end(&mut self, out: &mut String) {
        out.push('\n');
        *self = Self::default();
    }

    /// Takes a carriage return.
    pub(super) fn turn_back(&mut self) {
        self.returned = self.begun;
    }

    /// Prepares for a visible character: the text that a carriage return left behind becomes a line of its own.
    pub(super) fn before_visible(&mut self, out: &mut String) {
        if std::mem::take(&mut self.returned) {
            out.push('\n');
        }
        self.begun = true;
    }

    /// Appends characters that are all visible or line ends.
    pub(super) fn add(&mut self, plain: &str, out: &mut String) {
        if !plain.starts_with('\n') {
            self.before_visible(out);
        }
        out.push_str(plain);
        *self = Self { begun: !plain.ends_with('\n'), returned: false };
    }
}
